# frozen_string_literal: true

require "turnout/errors"
require "turnout/worker/port"

module Turnout
  class Worker
    # A DEALER socket to one hub, and the monitor of its connection. Only the thread that made it may use it; no method
    # blocks.
    class HubSocket
      # The monitor events of libzmq. ffi-rzmq does not define the newer ones.
      EVENTS = { 0x0200 => :gone, 0x0800 => :broken, 0x2000 => :broken, 0x4000 => :refused }.freeze

      @monitors = 0
      # Returns the address of the next monitor.
      def self.next_monitor = "inproc://turnout-monitor-#{Process.pid}-#{@monitors += 1}"

      def initialize(context, address, options)
        @context = context
        @socket = socket(ZMQ::DEALER)
        configure(options.curve, options.max_message_bytes)
        set(ZMQ::IPV6, 1) if address.include?("[")
        monitor(self.class.next_monitor)
        check(@socket.connect(address), "cannot connect to #{address}")
        @port = Port.new(@socket)
      end

      def ios = [@port.io, @monitor_port.io]
      def readable? = @port.readable? || @monitor_port.readable?
      def receive = @port.receive

      # Returns the next event of the connection: +:gone+, +:refused+ (the hub does not accept this worker's key) or
      # +:broken+ (it could not be made); nil if there is none.
      def event
        frames = @monitor_port.receive and EVENTS.fetch(frames[0].unpack1("S"), :broken)
      end

      # Returns whether the message was queued. A full queue drops it: the session repeats what matters.
      def deliver(frames)
        last = frames.size - 1
        frames.each_with_index.all? do |frame, index|
          flags = index == last ? ZMQ::DONTWAIT : ZMQ::DONTWAIT | ZMQ::SNDMORE
          Native.zmq_send(@socket.socket, frame, frame.bytesize, flags) >= 0
        end
      end

      def close(linger = 0)
        LibZMQ.zmq_socket_monitor(@socket.socket, nil, 0)
        @monitor&.close
        @socket.setsockopt(ZMQ::LINGER, linger * 1000)
        @socket.close
      end

      private

      def socket(type)
        @context.socket(type) or raise ConfigurationError, "no ZeroMQ socket: #{ZMQ::Util.error_string}"
      end

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

      def monitor(address)
        check(LibZMQ.zmq_socket_monitor(@socket.socket, address, EVENTS.keys.sum), "cannot be monitored")
        @monitor = socket(ZMQ::PAIR)
        @monitor.setsockopt(ZMQ::LINGER, 0)
        check(@monitor.connect(address), "cannot be monitored")
        @monitor_port = Port.new(@monitor)
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
