# frozen_string_literal: true

require "turnout/worker/native"

module Turnout
  class Worker
    # Receives the messages of one ZeroMQ socket. Only the thread that made it may use it; no method blocks.
    class Port
      # Readable when messages may have arrived: then call +receive+ until it returns nil.
      attr_reader :io

      # +socket+ is one of ffi-rzmq's.
      def initialize(socket)
        @socket = socket
        @message = FFI::MemoryPointer.new(LibZMQ.size_of_zmq_msg_t)
        @number = FFI::MemoryPointer.new(:int)
        @size = FFI::MemoryPointer.new(:size_t)
        @size.put(:size_t, 0, @number.size)
        @io = IO.for_fd(option(ZMQ::FD), autoclose: false)
      end

      # Returns the frames of the next message, nil if there is none.
      def receive
        frame, more = receive_frame
        return if frame.nil?

        frames = [frame]
        while more
          frame, more = receive_frame
          frames << frame
        end
        frames
      end

      # The descriptor is edge-triggered, so this is checked before waiting on it.
      def readable? = option(ZMQ::EVENTS).anybits?(ZMQ::POLLIN)

      private

      def receive_frame
        Native.zmq_msg_init(@message)
        size = Native.zmq_msg_recv(@message, @socket.socket, ZMQ::DONTWAIT)
        return if size.negative?

        frame = Native.zmq_msg_data(@message).read_bytes(size)
        [frame, Native.zmq_msg_more(@message) == 1]
      ensure
        Native.zmq_msg_close(@message)
      end

      def option(name)
        return @number.read_int unless Native.zmq_getsockopt(@socket.socket, name, @number, @size).negative?

        raise ConfigurationError, "option #{name}: #{ZMQ::Util.error_string}"
      end
    end
  end
end
