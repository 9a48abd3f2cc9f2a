# frozen_string_literal: true

$LOAD_PATH.unshift(File.expand_path("../lib", __dir__))
require "minitest/autorun"
require "turnout"
require "turnout/testing"
require "turnout/wire/worker_session"

# The message vectors that all SDKs share.
module Vectors
  FILE = File.expand_path("../../../src/turnout/wire/vectors/messages.json", __dir__)

  def self.all = @all ||= JSON.parse(File.read(FILE))
  def self.messages = spoken(all.fetch("messages"))
  # Those that a worker may meet.
  def self.unreadable = spoken(all.fetch("unreadable")).reject { |vector| vector["reader"] == "hub" }
  # Without the gem for MessagePack no hub agrees on it.
  def self.spoken(vectors) = vectors.select { |vector| Turnout::Wire::Codec::NAMES.include?(vector["codec"]) }

  def self.frames(vector)
    vector["frames"] ? vector["frames"].map(&:b) : vector["frames_hex"].map { |hex| [hex].pack("H*") }
  end
end

# Documents that several tests need.
module Support
  # A step as a hub sends it.
  def step(token, handler: "echo", **metadata)
    {
      "step_id" => token.split(".").first, "task_id" => "run", "step_name" => "step", "handler_class" => handler,
      "handler_config" => {}, "task_context" => {}, "previous_results" => {},
      "metadata" => { "token" => token, "attempt" => 0, **metadata.transform_keys(&:name) }
    }
  end

  def batch(*steps, id: "b1") = { "batch_id" => id, "protocol_version" => "1.0", "steps" => steps }

  def welcome(seq, **changes)
    {
      "protocol_version" => "1.0", "session" => "s#{seq}", "seq" => seq, "hub_id" => "hub", "codec" => "json",
      "heartbeat_ms" => 5000, "lease_ms" => 15_000, "resend_ms" => 2000, "max_message_bytes" => 16 * 1024 * 1024,
      "hubs" => [], "release" => [], **changes.transform_keys(&:name)
    }
  end
end

# A session whose hub is the test; the test moves its clock.
class SessionUnderTest
  attr_reader :session, :held_steps
  attr_accessor :now, :session_id

  def initialize(credits: 4, orphan: ->(_held_step) { false })
    @held_steps = Turnout::Wire::HeldSteps.new
    @now = 100.0
    @codec = "json"
    @session_id = ""
    seq = 0
    hello = { "versions" => ["1.0"], "worker_id" => "w", "codecs" => %w[msgpack json], "handlers" => ["*"] }
    @session = Turnout::Wire::WorkerSession.new(
      hello, @held_steps, credits: credits, next_hello_seq: -> { seq += 1 }, orphan: orphan
    )
  end

  # The messages that the session has sent since the last call, as [kind, body].
  def sent
    messages = @session.outbox.map { |frames| Turnout::Wire::Frames.unpack(frames, @codec) }
    @session.outbox.clear
    messages.map { |message| [message.kind, message.body] }
  end

  def sent_kinds = sent.map(&:first)

  def actions
    actions = @session.actions.dup
    @session.actions.clear
    actions
  end

  def receive(kind, body, session: @session_id)
    @session.receive(Turnout::Wire::Frames.pack(kind, body, session, @codec), @now)
  end

  def pass(seconds)
    @now += seconds
    @session.report(@held_steps.take_changed, @now)
    @session.tick(@now)
  end

  # Opens the session.
  def welcome_worker(**changes)
    @session.open(@now)
    seq = sent.last[1]["seq"]
    body = { "protocol_version" => "1.0", "session" => "s#{seq}", "seq" => seq, "hub_id" => "hub", "codec" => "json",
             "heartbeat_ms" => 5000, "lease_ms" => 15_000, "resend_ms" => 2000, "max_message_bytes" => 10_000,
             **changes.transform_keys(&:name) }
    receive("welcome", body, session: body["session"])
    @session_id = body["session"]
    @codec = body["codec"]
    self
  end

  def cleared
    sent
    actions
    self
  end
end
