# frozen_string_literal: true

require "support"
require "turnout/worker"

# A hub on a real socket that sends only what the test sends, and answers heartbeats while it waits.
class FakeHub
  include Support

  # Seconds after which an expected message counts as missing, also on a busy machine.
  WAIT_TIMEOUT = 60

  attr_reader :address
  # Whether heartbeats are answered; and with which changes of welcome a hello is, if at all.
  attr_accessor :answers_heartbeats, :answers_hello

  def initialize(context, curve: nil)
    @context = context
    @socket = context.socket(ZMQ::ROUTER)
    @socket.setsockopt(ZMQ::LINGER, 0)
    if curve
      @socket.setsockopt(ZMQ::CURVE_SERVER, 1)
      @socket.setsockopt(ZMQ::CURVE_SECRETKEY, curve)
    end
    raise ZMQ::Util.error_string unless @socket.bind("tcp://127.0.0.1:*").zero?

    @socket.getsockopt(ZMQ::LAST_ENDPOINT, endpoint = [])
    @address = endpoint[0].delete("\0")
    @poller = ZMQ::Poller.new
    @poller.register_readable(@socket)
    @codecs = Hash.new("json")
    @answers_heartbeats = true
    @session = ""
    @hello_seq = 0
    @read = []
  end

  # Waits for the hello of a new connection, and sends welcome.
  def welcome_worker(**changes)
    hello = expect("hello") { |body| body["seq"] > @hello_seq }
    send_welcome(hello, changes)
    hello
  end

  def send_message(kind, body)
    @socket.send_strings([@route, *Turnout::Wire::Frames.pack(kind, body, @session, @codecs[@route])])
  end

  def send_frames(frames) = @socket.send_strings([@route, *frames])

  # The body of the next message of these kinds (that the block accepts); others in between are skipped.
  def expect(*kinds)
    limit = now + WAIT_TIMEOUT
    while now < limit
      found = read(limit) or break
      return found.body if kinds.include?(found.kind) && (!block_given? || yield(found.body))
    end
    raise "no #{kinds.join(' or ')} came; there were: #{@read.join(' ')}"
  end

  # Waits until the worker offers so many credits.
  def expect_credits(count) = expect("credit", "heartbeat") { |body| body["credits"] == count }

  # The results of so many steps, by token; they are acknowledged.
  def results(count)
    found = {}
    until found.size >= count
      expect("results")["results"].each { |result| found[result["metadata"]["token"]] = result }
      send_message("ack", { "tokens" => found.keys })
    end
    found
  end

  def close = @socket.close

  # Closes the socket and binds another to the same address.
  def restart
    @socket.unbind(@address)
    @poller.deregister_readable(@socket)
    @socket.close
    @socket = @context.socket(ZMQ::ROUTER)
    @socket.setsockopt(ZMQ::LINGER, 0)
    sleep 0.01 until @socket.bind(@address).zero?
    @poller.register_readable(@socket)
  end

  private

  def read(limit)
    return if @poller.poll(((limit - now) * 1000).ceil) < 1

    frames = []
    @socket.recv_strings(frames)
    message = Turnout::Wire::Frames.unpack(frames.drop(1), @codecs[frames[0]])
    @read << message.kind
    answer(frames[0], message)
    message
  end

  def answer(route, message)
    case message.kind
    when "hello"
      @route = route if message.body["seq"] > @hello_seq
      send_welcome(message.body, @answers_hello) if @answers_hello && message.body["seq"] > @hello_seq
    when "heartbeat"
      send_message("heartbeat", { "seq" => message.body["seq"] }) if @answers_heartbeats && route == @route
    end
  end

  def send_welcome(hello, changes)
    body = welcome(hello["seq"], **changes)
    @hello_seq = hello["seq"]
    @session = body["session"]
    send_message("welcome", body)
    @codecs[@route] = body["codec"]
  end

  def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
end
