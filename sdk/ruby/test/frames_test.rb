# frozen_string_literal: true

require "support"

class FramesTest < Minitest::Test
  include Turnout::Wire

  def test_a_message_is_four_frames_with_a_check
    frames = Frames.pack("drain", { "reason" => "deploy" }, "s1")
    assert_equal ["drain", "s1", '{"reason":"deploy"}', "17b87713"], frames
  end

  def test_a_message_survives_both_codecs
    body = { "tokens" => ["1.1", "2.1"], "reason" => "größer" }
    Codec::NAMES.each do |codec|
      assert_equal Unpacked.new("cancel", "s1", body), Frames.unpack(Frames.pack("cancel", body, "s1", codec), codec)
    end
  end

  def test_hello_welcome_and_error_are_always_json
    frames = Frames.pack("error", { "code" => "x", "message" => "", "retry" => true }, "", "msgpack")
    assert_equal '{"code":"x","message":"","retry":true}', frames[2]
  end

  def test_random_bytes_are_malformed_and_nothing_else
    random = Random.new(4)
    2_000.times do
      body = random.bytes(random.rand(40))
      kind = Messages::SHAPES.keys.sample(random: random)
      frames = [kind, "s1", body, Frames.check_of(kind, "s1", body)]
      frames[random.rand(4)] = random.bytes(random.rand(10)) if random.rand < 0.3
      assert_raises(Malformed, UnknownKind) { Frames.unpack(frames, Codec::NAMES.sample(random: random)) }
    end
  end

  def test_what_is_wrong_is_named_with_its_path
    frames = Frames.pack("steps", { "batch_id" => "b", "protocol_version" => "1.0", "steps" => [{}] }, "s1")
    assert_equal "steps.steps[0].step_id is missing", assert_raises(Malformed) { Frames.unpack(frames) }.message
  end

  def test_every_message_of_the_vectors_is_read_and_written_alike
    Vectors.messages.each do |vector|
      codec = vector["codec"]
      message = Frames.unpack(Vectors.frames(vector), codec)
      written = Frames.unpack(Frames.pack(message.kind, message.body, message.session, codec), codec)
      assert_equal vector.values_at("kind", "session", "body"), message.to_a, vector["name"]
      assert_equal message, written, vector["name"]
    end
  end
end
