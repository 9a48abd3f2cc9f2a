# frozen_string_literal: true

require "support"
require "turnout/worker/connection"

# The limits that every language has.
class LimitsTest < Minitest::Test
  include Turnout::Wire
  FILE = File.expand_path("../../../src/turnout/wire/vectors/limits.json", __dir__)
  VECTORS = JSON.parse(File.read(FILE))
  # How a codec writes a list of one member without that member, and what is innermost.
  NESTED = { "json" => ["[", "1", "]"], "msgpack" => ["\x91".b, "\x01".b, "".b] }.freeze

  def test_a_list_that_is_longer_than_the_vectors_allow_is_over_the_limit_in_every_codec
    VECTORS.fetch("lists").each do |vector|
      kind, field, most, member = vector.values_at("kind", "field", "most", "member")
      assert_equal most, Limits::LISTS[field]
      Codec::NAMES.each do |codec|
        body = vector["body"].merge(field => [member] * most)
        assert_equal most, Frames.unpack(Frames.pack(kind, body, "s1", codec), codec).body[field].size
        body[field] << member
        error = assert_raises(OverLimit) { Frames.unpack(Frames.pack(kind, body, "s1", codec), codec) }
        assert_equal "#{kind} has #{most + 1} #{field}; the limit is #{most}", error.message
      end
    end
  end

  def test_nesting_is_bounded_in_every_codec
    read, unreadable = VECTORS.fetch("nesting").values_at("read", "unreadable")
    Codec::NAMES.each do |codec|
      assert_equal "ack", Frames.unpack(nested(read, codec), codec).kind
      assert_raises(Malformed) { Frames.unpack(nested(unreadable, codec), codec) }
    end
  end

  def test_a_message_over_the_limit_ends_the_connection_with_its_reason
    hub = SessionUnderTest.new.welcome_worker(max_message_bytes: 1 << 24).cleared
    hub.receive("ack", { "tokens" => ["1.1"] * (Limits::MAX_TOKENS + 1) })
    action = hub.actions.last
    assert_kind_of Reconnect, action
    assert_equal "over_limit: ack has 200001 tokens; the limit is 200000", action.reason
    assert hub.session.over_limit?
  end

  def test_the_backoff_before_a_hub_that_was_over_the_limit_only_grow
    hub = SessionUnderTest.new.welcome_worker(max_message_bytes: 1 << 24)
    connection = Turnout::Worker::Connection.new("tcp://127.0.0.1:1", hub.session, logger: nil)
    assert_equal [0, 0, 0], failures_at_each_welcome(connection)
    hub.receive("ack", { "tokens" => ["1.1"] * (Limits::MAX_TOKENS + 1) })
    grown = failures_at_each_welcome(connection)
    assert_equal grown.uniq.sort, grown
  end

  private

  def failures_at_each_welcome(connection)
    Array.new(3) do
      connection.schedule_reconnect(0.0)
      connection.welcomed
      connection.failures
    end
  end

  # A body whose field +more+ is lists inside one another.
  def nested(depth, codec)
    opening, innermost, closing = NESTED[codec]
    lists = (opening * (depth - 1)) + innermost + (closing * (depth - 1))
    body = codec == "json" ? %({"tokens":[],"more":#{lists}}) : "\x82\xA6tokens\x90\xA4more".b + lists
    ["ack", "s1", body, Frames.check_of("ack", "s1", body)]
  end
end
