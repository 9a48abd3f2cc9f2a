# frozen_string_literal: true

module Turnout
  class Worker
    # How do other threads, and signals, reach the thread that waits for its sockets? Through a pipe.
    class Wakeup
      attr_reader :io

      def initialize
        @io, @writer = IO.pipe
        @pending = false
      end

      # Takes no lock: a signal's trap may call it. What is to be found must be there before.
      def signal
        return if @pending

        @pending = true
        @writer.write_nonblock(".", exception: false)
      rescue IOError
        nil # the worker has ended
      end

      # Called before looking at what is there. The pipe is emptied first: a signal in between finds +pending+ set, and
      # what it tells of is there already.
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
