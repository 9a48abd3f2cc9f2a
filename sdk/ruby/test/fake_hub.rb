# frozen_string_literal: true

require "support"
require "turnout/worker"

# A hub on a real socket that does only what the test says, save that it answers heartbeats while it waits.
class FakeHub
  include Support

  # What should have come is given up after so long, also on a machine that is very busy.
  PATIENCE = 60

  attr_reader :address, :codec
  attr_accessor :answers_heartbeats

  def initialize(context, curve: nil)
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
    @codec = "json"
    @answers_heartbeats = true
    @sessions = {}
    @read = []
  end

  # Waits for a hello that is not the repetition of one that was answered, and lets the worker in.
  def let_in(**changes)
    hello = expect("hello") { |body| body["seq"] != @greeted }
    @greeted = hello["seq"]
    body = welcome(@greeted, **changes)
    @session = body["session"]
    @codec = "json"
    say("welcome", body)
    @codec = body["codec"]
    hello
  end

  def say(kind, body)
    @socket.send_strings([@route, *Turnout::Wire::Frames.pack(kind, body, @session, @codec)])
  end

  def send_frames(frames) = @socket.send_strings([@route, *frames])

  # The body of the next message of this kind (that the block accepts); others in between are passed over.
  def expect(kind)
    limit = now + PATIENCE
    while now < limit
      found = read(limit) or break
      return found.body if found.kind == kind && (!block_given? || yield(found.body))
    end
    raise "no #{kind} came; there were: #{@read.join(' ')}"
  end

  # The results of so many steps, by token; they are acknowledged.
  def results(count)
    found = {}
    until found.size >= count
      expect("results")["results"].each { |result| found[result["metadata"]["token"]] = result }
      say("ack", { "tokens" => found.keys })
    end
    found
  end

  def close = @socket.close

  private

  def read(limit)
    return if @poller.poll(((limit - now) * 1000).ceil) < 1

    frames = []
    @socket.recv_strings(frames)
    message = Turnout::Wire::Frames.unpack(frames.drop(1), @codec)
    @route = frames[0] if message.kind == "hello"
    @read << message.kind
    say("heartbeat", { "seq" => message.body["seq"] }) if message.kind == "heartbeat" && @answers_heartbeats
    message
  end

  def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
end
