# frozen_string_literal: true

require "turnout/worker/connection"

module Turnout
  class Worker
    # Which hubs does a worker talk to, how does it divide its places among them, and which of them are gone?
    class Connections
      include Enumerable

      # A discovered hub that did not answer so many times in a row is let go, if there is another.
      MOST_FAILURES = 8
      # Seconds that what was said last has to go out, to a hub that is there.
      LAST_WORDS = 1

      def initialize(options, context, &make_link)
        @context = context
        @options = options
        @make_link = make_link
        @discovering = options.discover
        @list = []
        @aliases = {}
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
          discover(each)
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

      # A hub has let us in. Of two connections to one hub only the one that was made last has a session.
      def welcomed(connection, before)
        connection.welcomed
        @kept.delete(before) if before && link_of(before).nil?
        same = @list.select { |each| each.open? && each.link.hub == connection.link.hub }
        *older, last = same.sort_by { |each| each.link.greeting }
        older.each { |each| retire(each, last) }
      end

      # A connection is of no use: another socket, and the other names of its hub. Returns the seconds until then.
      def failed(connection, now)
        pause = connection.try_again(now)
        # Whoever takes over what that hub gave hears at once that it goes on here.
        @list.each { |each| each.link.beat(now) }
        @aliases.delete(connection)&.each { |address| add(address) }
        @list.delete(connection) if connection.discovered? && connection.failures > MOST_FAILURES && any_open?
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
        older.close
        @list.delete(older)
        (@aliases[newer] ||= []).push(older.address, *@aliases.delete(older))
      end

      # A hub may be known by several names, and a second session would end the first. So its list is only followed when
      # it names the address that we used, and when no other connection is still finding out who it talks to.
      def discover(connection)
        hubs = connection.link.hubs
        return unless @discovering && hubs.include?(connection.address)
        return unless @list.all? { |each| each.open? || each.failures.positive? }

        known = @aliases.values.flatten
        (hubs - known).each { |address| add(address, discovered: true) }
      end
    end
  end
end
