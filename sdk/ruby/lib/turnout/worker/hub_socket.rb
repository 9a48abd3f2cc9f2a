# frozen_string_literal: true

require "turnout/worker/native"
require "turnout/errors"

module Turnout
  class Worker
    # A DEALER to one hub. Only the thread that made it may use it; nothing here waits.
    class HubSocket
      # Readable when something may have happened: then ask for messages until there are none.
      attr_reader :io

      def initialize(context, address, options)
        @socket = context.socket(ZMQ::DEALER) or raise ConfigurationError, "no ZeroMQ socket: #{ZMQ::Util.error_string}"
        @message = FFI::MemoryPointer.new(LibZMQ.size_of_zmq_msg_t)
        @number = FFI::MemoryPointer.new(:int)
        @size = FFI::MemoryPointer.new(:size_t)
        @size.put(:size_t, 0, @number.size)
        configure(options.curve, options.max_message_bytes)
        check(@socket.connect(address), "cannot connect to #{address}")
        @io = IO.for_fd(option(ZMQ::FD), autoclose: false)
      end

      # Whether it was taken; a full queue takes nothing, and everything that matters is said again.
      def deliver(frames)
        last = frames.size - 1
        frames.each_with_index.all? do |frame, index|
          flags = index == last ? ZMQ::DONTWAIT : ZMQ::DONTWAIT | ZMQ::SNDMORE
          Native.zmq_send(@socket.socket, frame, frame.bytesize, flags) >= 0
        end
      end

      # The frames of the next message, nil if there is none.
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

      # The descriptor tells of changes only, so this is asked before waiting on it.
      def readable? = option(ZMQ::EVENTS).anybits?(ZMQ::POLLIN)

      def close(last = 0)
        @socket.setsockopt(ZMQ::LINGER, last * 1000)
        @socket.close
      end

      private

      def configure(curve, max_message_bytes)
        set(ZMQ::LINGER, 0)
        set(ZMQ::MAXMSGSIZE, max_message_bytes)
        set(ZMQ::RECONNECT_IVL, 100)
        set(ZMQ::RECONNECT_IVL_MAX, 5_000)
        return unless curve

        set(ZMQ::CURVE_SERVERKEY, curve.server_key)
        set(ZMQ::CURVE_PUBLICKEY, curve.public_key)
        set(ZMQ::CURVE_SECRETKEY, curve.secret_key)
      end

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
        check(Native.zmq_getsockopt(@socket.socket, name, @number, @size), "option #{name}")
        @number.read_int
      end

      def set(name, value) = check(@socket.setsockopt(name, value), "option #{name} = #{value}")

      def check(code, what)
        return unless code.negative?

        reason = ZMQ::Util.error_string
        close
        raise ConfigurationError, "#{what}: #{reason}"
      end
    end
  end
end
