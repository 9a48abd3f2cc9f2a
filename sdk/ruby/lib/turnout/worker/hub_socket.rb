# frozen_string_literal: true

require "turnout/errors"
require "turnout/worker/port"

module Turnout
  class Worker
    # A DEALER to one hub, and what becomes of its connection. Only the thread that made it may use it; nothing here
    # waits.
    class HubSocket
      # What libzmq tells of a connection. ffi-rzmq does not know the younger ones.
      EVENTS = { 0x0200 => :gone, 0x0800 => :broken, 0x2000 => :broken, 0x4000 => :refused }.freeze

      @watched = 0
      # The address at which the next socket is watched.
      def self.next_watch = "inproc://turnout-watch-#{Process.pid}-#{@watched += 1}"

      def initialize(context, address, options)
        @context = context
        @socket = socket(ZMQ::DEALER)
        configure(options.curve, options.max_message_bytes)
        set(ZMQ::IPV6, 1) if address.include?("[")
        watch(self.class.next_watch)
        check(@socket.connect(address), "cannot connect to #{address}")
        @port = Port.new(@socket)
      end

      def ios = [@port.io, @news.io]
      def readable? = @port.readable? || @news.readable?
      def receive = @port.receive

      # What has become of the connection, one at a time: +:gone+, +:refused+ (the hub does not know this worker's key)
      # or +:broken+ (it could not be made); nil if there is no more.
      def event
        frames = @news.receive and EVENTS.fetch(frames[0].unpack1("S"), :broken)
      end

      # Whether it was taken; a full queue takes nothing, and everything that matters is said again.
      def deliver(frames)
        last = frames.size - 1
        frames.each_with_index.all? do |frame, index|
          flags = index == last ? ZMQ::DONTWAIT : ZMQ::DONTWAIT | ZMQ::SNDMORE
          Native.zmq_send(@socket.socket, frame, frame.bytesize, flags) >= 0
        end
      end

      def close(last = 0)
        LibZMQ.zmq_socket_monitor(@socket.socket, nil, 0)
        @watcher&.close
        @socket.setsockopt(ZMQ::LINGER, last * 1000)
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

      def watch(address)
        check(LibZMQ.zmq_socket_monitor(@socket.socket, address, EVENTS.keys.sum), "cannot be watched")
        @watcher = socket(ZMQ::PAIR)
        @watcher.setsockopt(ZMQ::LINGER, 0)
        check(@watcher.connect(address), "cannot be watched")
        @news = Port.new(@watcher)
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
