# frozen_string_literal: true

module Turnout
  class Worker
    # Wakes the thread that waits for its sockets, from other threads and from signal traps, through a pipe.
    class Wakeup
      attr_reader :io

      def initialize
        @io, @writer = IO.pipe
        @pending = false
      end

      # Takes no lock: a signal trap may call it. The caller queues its message before.
      def signal
        return if @pending

        @pending = true
        @writer.write_nonblock(".", exception: false)
      rescue IOError
        nil # the worker has ended
      end

      # Called before the queue is read. The pipe is emptied first: a signal in between finds +pending+ set, and its
      # message is queued already.
      def clear
        return unless @pending

        @io.read_nonblock(4096, exception: false)
        @pending = false
      end

      def close
        @writer.close
        @io.close
      end
    end
  end
end
