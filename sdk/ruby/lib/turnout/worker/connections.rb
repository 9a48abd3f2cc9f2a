# frozen_string_literal: true

require "turnout/worker/connection"

module Turnout
  class Worker
    # Holds the connections of a worker to its hubs, divides its credits among them, and knows which hubs are gone.
    class Connections
      include Enumerable

      # A discovered hub that did not answer so many times in a row is dropped, if there is another.
      MAX_FAILURES = 8
      # Seconds for which such an address is not connected to.
      IGNORE_TIMEOUT = 60
      # Seconds that the last messages have to go out to a connected hub.
      CLOSE_TIMEOUT = 1

      def initialize(options, context, &make_session)
        @context = context
        @options = options
        @make_session = make_session
        @discovering = options.discover
        @list = []
        # Connections that were retired, by the one that has the session with their hub.
        @aliases = {}
        # The times until which addresses that gave no answer are not connected to.
        @ignored_until = {}
        # The times until which the steps of each hub remain its own; a hub that was replaced is not in here.
        @kept = {}
        # The hubs with an open session at the last refresh.
        @open_hubs = []
        options.connect.each { |address| add(address) }
      end

      def each(&block) = @list.each(&block)
      def ios = @list.flat_map(&:ios)
      def any_open? = @list.any?(&:open?)
      def all_refused? = @list.all? { |each| each.session.refused? }

      # Returns the open session with this hub, or nil.
      def session_of(hub) = @list.find { |each| each.open? && each.session.hub == hub }&.session

      # True if this hub does not own its steps any more: another hub has answered at its address, or it has been silent
      # for longer than its lease, so that it has given them to other workers.
      def gone?(hub, now) = now > @kept.fetch(hub, Wire::NEVER)

      # Extends the leases of connected hubs, and connects to the hubs that they name. What a hub gave that has no session
      # any more is reported to all others.
      def refresh(now)
        open = @list.select(&:open?)
        hubs = open.map { |each| each.session.hub }
        open.each { |each| each.session.check_all } if hubs != @open_hubs
        @open_hubs = hubs
        open.each do |each|
          @kept[each.session.hub] = now + each.session.lease
          discover(each, now)
        end
      end

      # Divides +total+ credits among the open sessions. A hello offers the share that is left if all hubs answer.
      def divide(total)
        open, others = @list.partition(&:open?)
        open.each_with_index do |each, index|
          each.session.credits = share(total, open.size, index)
        end
        others.each { |each| each.session.credits = share(total, @list.size, @list.size - 1) }
      end

      # Called when a session is open. Of two connections to one hub only the newer one has a session; the other may
      # be closed already.
      def welcomed(connection, before)
        connection.welcomed
        @kept.delete(before) if before && session_of(before).nil?
        same = @list.select { |each| each.session.hub == connection.session.hub && !each.session.refused? }
        last = same.select(&:open?).max_by { |each| each.session.hello_seq } or return
        same.each { |each| retire(each, last) if each.session.hello_seq < last.session.hello_seq }
      end

      # Schedules another socket for a lost connection, and connects to the other addresses of its hub. Returns the
      # backoff in seconds.
      def failed(connection, now)
        backoff = connection.schedule_reconnect(now)
        # A hub that takes over the steps of that hub learns at once that they still run here.
        @list.each { |each| each.session.send_heartbeat(now) }
        @aliases.delete(connection)&.each { |each| add(each.address, discovered: each.discovered?) }
        ignore(connection, now) if connection.discovered? && connection.failures > MAX_FAILURES && any_open?
        backoff
      end

      def close = @list.each { |each| each.close(each.open? ? CLOSE_TIMEOUT : 0) }

      private

      def share(total, count, index)
        return 0 if total.zero?

        [total / count + (index < total % count ? 1 : 0), 1].max
      end

      def add(address, discovered: false)
        return if @list.any? { |each| each.address == address }

        @list << Connection.new(address, @make_session.call, logger: @options.logger, discovered: discovered) do |to|
          HubSocket.new(@context, to, @options)
        end
      end

      def retire(older, newer)
        older.retire
        @list.delete(older)
        (@aliases[newer] ||= []).push(older, *@aliases.delete(older))
      end

      def ignore(connection, now)
        @ignored_until[connection.address] = now + IGNORE_TIMEOUT
        connection.retire
        @list.delete(connection)
      end

      # Connects to the hubs that a hub names, once every other connection has an answer or has failed. An address may
      # lead to a hub that is known by another: then one of the two connections is retired.
      def discover(connection, now)
        return unless @discovering && @list.all? { |each| each.open? || each.failures.positive? }

        known = @aliases.values.flatten.map(&:address)
        (connection.session.hubs - known).each do |address|
          add(address, discovered: true) unless now < @ignored_until.fetch(address, Wire::NEVER)
        end
      end
    end
  end
end
