# frozen_string_literal: true

require "turnout/wire/link"
require "turnout/worker/hub_socket"

module Turnout
  class Worker
    # One address: its socket while there is one, its link, and when to try again.
    class Connection
      FIRST_PAUSE = 0.1
      LONGEST_PAUSE = 5.0
      # So many messages at a time: other connections, and handlers, have their turn.
      MOST_AT_ONCE = 256
      # The next message of a turn is taken only before so many seconds are over.
      TURN_SECONDS = 0.1

      attr_reader :address, :link, :failures

      # +discovered+: a hub told of it; nobody asked for it by name.
      def initialize(address, link, logger:, discovered: false, &make_socket)
        @address = address
        @link = link
        @logger = logger
        @discovered = discovered
        @make_socket = make_socket
        @failures = 0
        @retry_at = Wire::NEVER
        # That the connection fails was said.
        @said = false
      end

      def discovered? = @discovered
      def ios = @socket ? @socket.ios : []
      def open? = @link.open?
      def readable? = @socket ? @socket.readable? : false

      # Takes what has come and says what is due.
      def turn(now)
        connect(now) if @socket.nil? && now >= @retry_at && !@link.refused?
        return if @socket.nil?

        watch
        ends = clock + TURN_SECONDS
        MOST_AT_ONCE.times do
          frames = @socket.receive or break
          @link.receive(frames, now)
          break if clock >= ends
        end
      end

      def flush(now)
        @link.tick(now)
        return @link.outbox.clear if @socket.nil?

        @link.outbox.each { |frames| @socket.deliver(frames) }
        @link.outbox.clear
      end

      def next_due
        return @link.next_due if @socket

        @link.refused? ? Float::INFINITY : @retry_at
      end

      # The next pause is a short one, unless the hub has sent a message over the limit.
      def welcomed
        @failures = 0 unless @link.over_limit?
        @said = false
      end

      # Another socket, after a pause that grows; not all workers at the same moment.
      def try_again(now)
        close
        pause = [FIRST_PAUSE * 2**@failures, LONGEST_PAUSE].min * rand(0.5..1.0)
        @failures = [@failures + 1, 16].min
        @retry_at = now + pause
        pause
      end

      # What was said last may still go out, for so many seconds.
      def close(last = 0)
        @socket&.close(last)
        @socket = nil
      end

      # It is of no use any more, whoever still has it.
      def retire
        close
        @retry_at = Float::INFINITY
      end

      private

      def clock = Process.clock_gettime(Process::CLOCK_MONOTONIC)

      # Hears what has become of the connection itself.
      def watch
        while (event = @socket.event)
          case event
          # The hub knows a connection, not a socket: over the next one it would not know the session.
          when :gone then @link.cut("the connection is gone")
          when :refused then @link.refuse("key_refused: the hub does not know this worker's key")
          else broken
          end
        end
      end

      # It is tried again and again; once is enough to say it.
      def broken
        @logger.warn("hub #{@address}: the encrypted connection fails; is the server key the hub's?") unless @said
        @said = true
      end

      def connect(now)
        @socket = @make_socket.call(@address)
        @link.open(now)
      rescue ConfigurationError
        raise unless discovered?

        # A hub told of an address that cannot be used here.
        @retry_at = Float::INFINITY
      end
    end
  end
end
