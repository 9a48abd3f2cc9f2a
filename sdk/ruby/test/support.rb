# frozen_string_literal: true

$LOAD_PATH.unshift(File.expand_path("../lib", __dir__))
require "minitest/autorun"
require "turnout"
require "turnout/testing"
require "turnout/wire/link"

# The messages that every language tests itself with.
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

# Documents and small machines that several tests need.
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

# A link whose hub is the test, and whose clock is moved by it.
class LinkUnderTest
  attr_reader :link, :holdings, :actions
  attr_accessor :now, :session

  def initialize(credits: 4, orphan: ->(_holding) { false })
    @holdings = Turnout::Wire::Holdings.new
    @now = 100.0
    @codec = "json"
    @session = ""
    seq = 0
    hello = { "versions" => ["1.0"], "worker_id" => "w", "codecs" => %w[msgpack json], "handlers" => ["*"] }
    @link = Turnout::Wire::Link.new(hello, @holdings, credits: credits, next_seq: -> { seq += 1 }, orphan: orphan)
  end

  # What the link has said since it was asked last, as [kind, body].
  def said
    messages = @link.outbox.map { |frames| Turnout::Wire::Frames.unpack(frames, @codec) }
    @link.outbox.clear
    messages.map { |message| [message.kind, message.body] }
  end

  def said_kinds = said.map(&:first)

  def did
    actions = @link.actions.dup
    @link.actions.clear
    actions
  end

  def hear(kind, body, session: @session)
    @link.receive(Turnout::Wire::Frames.pack(kind, body, session, @codec), @now)
  end

  def pass(seconds)
    @now += seconds
    @link.tick(@now)
  end

  # In session, with everything said so far forgotten.
  def let_in(**changes)
    @link.open(@now)
    seq = said.last[1]["seq"]
    body = { "protocol_version" => "1.0", "session" => "s#{seq}", "seq" => seq, "hub_id" => "hub", "codec" => "json",
             "heartbeat_ms" => 5000, "lease_ms" => 15_000, "resend_ms" => 2000, "max_message_bytes" => 10_000,
             **changes.transform_keys(&:name) }
    hear("welcome", body, session: body["session"])
    @session = body["session"]
    @codec = body["codec"]
    self
  end

  def settled
    said
    did
    self
  end
end
