# frozen_string_literal: true

require "turnout/worker/connection"

module Turnout
  class Worker
    # Which hubs does a worker talk to, how does it divide its places among them, and which of them are gone?
    class Connections
      include Enumerable

      # A discovered hub that did not answer so many times in a row is let go, if there is another.
      MOST_FAILURES = 8
      # Seconds for which such an address is not tried again.
      SHUNNED = 60
      # Seconds that what was said last has to go out, to a hub that is there.
      LAST_WORDS = 1

      def initialize(options, context, &make_link)
        @context = context
        @options = options
        @make_link = make_link
        @discovering = options.discover
        @list = []
        # Connections that were retired, by the one that has the session with their hub.
        @aliases = {}
        # Until when addresses that gave no answer are not tried.
        @shunned = {}
        # Until when each hub keeps what it gave for this worker; a hub that was replaced is not in here.
        @kept = {}
        options.connect.each { |address| add(address) }
      end

      def each(&block) = @list.each(&block)
      def ios = @list.flat_map(&:ios)
      def any_open? = @list.any?(&:open?)
      def all_refused? = @list.all? { |each| each.link.refused? }

      # The link of this hub, if there is a session with it.
      def link_of(hub) = @list.find { |each| each.open? && each.link.hub == hub }&.link

      # Whether this hub will not come back for what it gave: another has answered in its place, or it has been away for
      # longer than its lease, so that it has given everything to others.
      def gone?(hub, now) = now > @kept.fetch(hub, Wire::NEVER)

      # Notes who is there, and follows their lists of hubs.
      def seen(now)
        @list.select(&:open?).each do |each|
          @kept[each.link.hub] = now + each.link.lease
          discover(each, now)
        end
      end

      # Divides +total+ places among the hubs that are there. A hub that is greeted is told what it gets if all come.
      def divide(total)
        open, others = @list.partition(&:open?)
        open.each_with_index do |each, index|
          each.link.credits = share(total, open.size, index)
        end
        others.each { |each| each.link.credits = share(total, @list.size, @list.size - 1) }
      end

      # A hub has let us in. Of two connections to one hub only the one that was made last has a session; the other may
      # have heard that already, and be closed.
      def welcomed(connection, before)
        connection.welcomed
        @kept.delete(before) if before && link_of(before).nil?
        same = @list.select { |each| each.link.hub == connection.link.hub && !each.link.refused? }
        last = same.select(&:open?).max_by { |each| each.link.greeting } or return
        same.each { |each| retire(each, last) if each.link.greeting < last.link.greeting }
      end

      # A connection is of no use: another socket, and the other names of its hub. Returns the seconds until then.
      def failed(connection, now)
        pause = connection.try_again(now)
        # Whoever takes over what that hub gave hears at once that it goes on here.
        @list.each { |each| each.link.beat(now) }
        @aliases.delete(connection)&.each { |each| add(each.address, discovered: each.discovered?) }
        shun(connection, now) if connection.discovered? && connection.failures > MOST_FAILURES && any_open?
        pause
      end

      def close = @list.each { |each| each.close(each.open? ? LAST_WORDS : 0) }

      private

      def share(total, count, index)
        return 0 if total.zero?

        [total / count + (index < total % count ? 1 : 0), 1].max
      end

      def add(address, discovered: false)
        return if @list.any? { |each| each.address == address }

        @list << Connection.new(address, @make_link.call, logger: @options.logger, discovered: discovered) do |to|
          HubSocket.new(@context, to, @options)
        end
      end

      def retire(older, newer)
        older.retire
        @list.delete(older)
        (@aliases[newer] ||= []).push(older, *@aliases.delete(older))
      end

      def shun(connection, now)
        @shunned[connection.address] = now + SHUNNED
        connection.retire
        @list.delete(connection)
      end

      # Follows a hub's list of hubs, once no other connection is still finding out who it talks to. An address in it may
      # lead to a hub that we know by another: then one of the two connections is retired.
      def discover(connection, now)
        return unless @discovering && @list.all? { |each| each.open? || each.failures.positive? }

        known = @aliases.values.flatten.map(&:address)
        (connection.link.hubs - known).each do |address|
          add(address, discovered: true) unless now < @shunned.fetch(address, Wire::NEVER)
        end
      end
    end
  end
end
