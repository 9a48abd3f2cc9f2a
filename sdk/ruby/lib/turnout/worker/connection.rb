# frozen_string_literal: true

require "turnout/wire/worker_session"
require "turnout/worker/hub_socket"

module Turnout
  class Worker
    # One address: its socket while there is one, its session, and the time of the next connection.
    class Connection
      INITIAL_BACKOFF = 0.1
      MAX_BACKOFF = 5.0
      # Messages that are processed at a time, so that other connections and handlers are not delayed.
      MAX_MESSAGES_AT_ONCE = 256
      # Seconds after which no further message is processed at a time.
      RECEIVE_TIMEOUT = 0.1

      attr_reader :address, :session, :failures

      # +discovered+: a hub has named the address; it is not configured.
      def initialize(address, session, logger:, discovered: false, &make_socket)
        @address = address
        @session = session
        @logger = logger
        @discovered = discovered
        @make_socket = make_socket
        @failures = 0
        @retry_at = Wire::NEVER
        # True if the failure of the connection was logged.
        @failure_logged = false
      end

      def discovered? = @discovered
      def ios = @socket ? @socket.ios : []
      def open? = @session.open?
      def readable? = @socket ? @socket.readable? : false

      # Processes what has arrived.
      def receive(now)
        connect(now) if @socket.nil? && now >= @retry_at && !@session.refused?
        return if @socket.nil?

        watch
        ends = clock + RECEIVE_TIMEOUT
        MAX_MESSAGES_AT_ONCE.times do
          frames = @socket.receive or break
          @session.receive(frames, now)
          break if clock >= ends
        end
      end

      # Sends what is new about changed steps, and what is due.
      def flush(changed, now)
        @session.report(changed, now)
        @session.tick(now)
        return @session.outbox.clear if @socket.nil?

        @session.outbox.each { |frames| @socket.deliver(frames) }
        @session.outbox.clear
      end

      def next_due
        return @session.next_due if @socket

        @session.refused? ? Float::INFINITY : @retry_at
      end

      # Resets the backoff, unless the hub has sent a message over the limit.
      def welcomed
        @failures = 0 unless @session.over_limit?
        @failure_logged = false
      end

      # Schedules another socket after a backoff that grows, with jitter. Returns the backoff in seconds.
      def schedule_reconnect(now)
        close
        backoff = [INITIAL_BACKOFF * 2**@failures, MAX_BACKOFF].min * rand(0.5..1.0)
        @failures = [@failures + 1, 16].min
        @retry_at = now + backoff
        backoff
      end

      # Closes the socket; messages in its queue have +linger+ seconds to go out.
      def close(linger = 0)
        @socket&.close(linger)
        @socket = nil
      end

      # Closes the connection for good.
      def retire
        close
        @retry_at = Float::INFINITY
      end

      private

      def clock = Process.clock_gettime(Process::CLOCK_MONOTONIC)

      # Processes the events of the socket monitor.
      def watch
        while (event = @socket.event)
          case event
          # The hub identifies a session by its connection, which libzmq would replace.
          when :gone then @session.connection_lost("the connection is gone")
          when :refused then @session.refuse("key_refused: the hub does not know this worker's key")
          else broken
          end
        end
      end

      # Logs the failure once; libzmq keeps reconnecting.
      def broken
        return if @failure_logged

        @failure_logged = true
        @logger.warn("hub #{@address}: the encrypted connection fails; is the server key the hub's?")
      end

      def connect(now)
        @socket = @make_socket.call(@address)
        @session.open(now)
      rescue ConfigurationError
        raise unless discovered?

        # A hub has named an address that cannot be used here.
        @retry_at = Float::INFINITY
      end
    end
  end
end
