# frozen_string_literal: true

require "support"

class LinkTest < Minitest::Test
  include Support
  include Turnout::Wire

  def setup
    @hub = LinkUnderTest.new
    @link = @hub.link
    @holdings = @hub.holdings
  end

  def finish(token)
    holding = @holdings[token]
    holding.state = "running"
    @holdings.finish(token, Results.completed(holding.step, "output"))
  end

  # -- coming in ------------------------------------------------------------------------------------------------------
  def test_hello_is_said_again_until_it_is_answered
    @link.open(@hub.now)
    first = @hub.said
    @hub.pass(1.9)
    assert_empty @hub.said
    @hub.pass(0.2)
    assert_equal first, @hub.said
  end

  def test_a_welcome_for_another_hello_is_ignored
    @link.open(@hub.now)
    @hub.hear("welcome", welcome(7), session: "s7")
    refute @link.open?
  end

  def test_a_heartbeat_follows_welcome_at_once
    @hub.let_in
    assert_equal [["heartbeat", { "seq" => 1, "credits" => 4, "in_flight" => [] }]], @hub.said
  end

  def test_a_codec_that_was_not_offered_is_malformed
    @hub.let_in(codec: "xml")
    assert_equal 1, @link.malformed
    assert_kind_of Reconnect, @hub.did.last
  end

  def test_a_final_error_ends_the_link_and_another_does_not
    @link.open(@hub.now)
    @hub.hear("error", { "code" => "worker_in_use", "message" => "no", "retry" => false }, session: "")
    assert @link.refused?
    assert_equal [Parted.new("worker_in_use: no")], @hub.did
  end

  def test_every_connection_has_a_higher_seq_and_tells_what_is_in_hand
    @hub.let_in.hear("steps", batch(step("1.1"), step("2.1")))
    finish("1.1")
    @hub.settled
    @link.open(@hub.now)
    hello = @hub.said.last[1]
    assert_equal 2, hello["seq"]
    assert_equal [%w[1.1 done], %w[2.1 waiting]], hello["in_flight"].map(&:values)
  end

  # -- steps ----------------------------------------------------------------------------------------------------------
  def test_steps_are_received_each_time_and_held_once
    @hub.let_in.settled
    2.times { @hub.hear("steps", batch(step("1.1"))) }
    assert_equal [["received", { "tokens" => ["1.1"] }]] * 2, @hub.said
    assert_equal 1, @holdings.size
  end

  def test_a_finished_token_is_received_and_not_held_again
    @hub.let_in.hear("steps", batch(step("1.1")))
    finish("1.1")
    @hub.hear("ack", { "tokens" => ["1.1"] })
    @hub.settled.hear("steps", batch(step("1.1")))
    assert_equal ["received"], @hub.said_kinds
    assert_empty @holdings
  end

  def test_a_result_is_repeated_until_it_is_acknowledged_over_sessions
    @hub.let_in.hear("steps", batch(step("1.1"), step("2.1")))
    %w[1.1 2.1].each { |token| finish(token) }
    @hub.settled.pass(0)
    assert_equal [2], (@hub.said.map { |_kind, body| body["results"].size })
    @hub.pass(2)
    assert_equal ["results"], @hub.said_kinds
    @hub.hear("ack", { "tokens" => ["1.1"] })
    @hub.let_in.settled.pass(0)
    assert_equal ["2.1"], (@hub.said.last[1]["results"].map { |result| result["metadata"]["token"] })
    @hub.hear("ack", { "tokens" => ["2.1"] })
    @hub.pass(2)
    refute_includes @hub.said_kinds, "results"
  end

  def test_results_of_different_batches_do_not_share_a_message
    @hub.let_in
    @hub.hear("steps", batch(step("1.1"), id: "a"))
    @hub.hear("steps", batch(step("2.1"), id: "b"))
    %w[1.1 2.1].each { |token| finish(token) }
    @hub.settled.pass(0)
    assert_equal %w[a b], (@hub.said.map { |_kind, body| body["batch_id"] })
  end

  def test_a_result_that_is_too_large_becomes_a_failure_and_the_others_go
    @hub.let_in.hear("steps", batch(step("1.1"), step("2.1")))
    finish("1.1")
    @holdings.finish("2.1", Results.completed(@holdings["2.1"].step, "x" * 20_000))
    @hub.settled.pass(0)
    statuses = @hub.said.flat_map { |_kind, body| body["results"] }.to_h { |each| [each["step_id"], each["status"]] }
    assert_equal({ "1" => "completed", "2" => "failed" }, statuses)
  end

  if Codec::NAMES.include?("msgpack")
    def test_a_result_that_its_codec_does_not_know_becomes_a_failure
      hub = LinkUnderTest.new.let_in(codec: "msgpack")
      hub.hear("steps", batch(step("1.1")))
      hub.holdings.finish("1.1", Turnout::Wire::Results.completed(step("1.1"), 2**70))
      hub.settled.pass(0)
      result = hub.said.to_h.fetch("results")["results"][0]
      assert_equal ["failed", "NotJson", false], [result["status"], result["error"]["type"], result["metadata"]["retryable"]]
    end
  end

  def test_a_step_that_must_be_confirmed_asks_again_and_begins_when_granted
    @hub.let_in.hear("steps", batch(step("1.1", confirm_start: true), step("2.1", confirm_start: true)))
    @hub.settled.pass(0)
    assert_empty @hub.said, "nobody asks before there is a place"
    @holdings.each { |each| each.asks = true }
    @hub.pass(0)
    @hub.pass(2)
    assert_equal [["start", { "tokens" => ["1.1", "2.1"] }]] * 2, @hub.said
    refute @holdings["1.1"].granted
    @hub.hear("started", { "granted" => ["1.1"], "denied" => ["2.1"] })
    assert @holdings["1.1"].granted
    assert_nil @holdings["2.1"]
  end

  def test_cancel_returns_what_waits_and_stops_what_runs
    @hub.let_in.hear("steps", batch(step("1.1"), step("2.1")))
    @holdings["2.1"].state = "running"
    @hub.settled.hear("cancel", { "tokens" => ["1.1", "2.1", "9.9"], "reason" => "changed my mind" })
    assert_equal "returned", @holdings["1.1"].result["metadata"]["outcome"]
    assert_equal [Stop.new("2.1", "changed my mind", false)], @hub.did
  end

  def test_what_a_welcome_releases_is_stopped_and_forgotten
    @hub.let_in.hear("steps", batch(step("1.1"), step("2.1")))
    @holdings["2.1"].state = "running"
    @hub.settled.let_in(release: ["1.1", "2.1"])
    assert_empty @holdings
    assert_includes @hub.did, Stop.new("2.1", "nobody waits for it any more", true)
  end

  # -- contact --------------------------------------------------------------------------------------------------------
  def test_a_worker_without_answers_is_out_of_contact_before_its_lease_is_over
    @hub.let_in.settled
    assert @link.in_contact?(@hub.now + 11.9)
    refute @link.in_contact?(@hub.now + 12)
    @hub.pass(12)
    assert_equal ["no answer for 12.0 s"], @hub.did.map(&:reason)
  end

  def test_contact_counts_from_when_the_answered_heartbeat_was_sent
    @hub.let_in.settled
    @hub.pass(5)
    seq = @hub.said.last[1]["seq"]
    sent = @hub.now
    @hub.now += 4
    @hub.hear("heartbeat", { "seq" => seq })
    assert_equal sent, @link.contact
  end

  def test_time_is_up_exactly_when_next_due_says
    @hub.let_in.hear("steps", batch(step("1.1")))
    finish("1.1")
    @hub.settled.pass(0)
    @hub.settled
    @hub.pass(@link.next_due - @hub.now)
    assert_equal ["results"], @hub.said_kinds
  end

  def test_a_malformed_message_ends_the_session_and_is_counted
    @hub.let_in.settled
    @link.receive(%w[ack s1 {} 00000000], @hub.now)
    assert_equal 1, @link.malformed
    assert_kind_of Reconnect, @hub.did.last
  end

  def test_an_unknown_message_is_answered_and_the_session_goes_on
    @hub.let_in.settled
    body = "{}"
    @link.receive(["tomorrow", @hub.session, body, Frames.check_of("tomorrow", @hub.session, body)], @hub.now)
    assert_equal "unknown_message", @hub.said.last[1]["code"]
    assert @link.open?
  end

  def test_what_the_vectors_call_unreadable_is_met_as_they_say
    Vectors.unreadable.each do |vector|
      hub = LinkUnderTest.new.let_in(session: "s1", codec: vector["codec"]).settled
      hub.link.receive(Vectors.frames(vector), hub.now)
      codes = hub.said.map { |_kind, body| body["code"] }
      met = { said: codes, did: hub.did.map(&:class), malformed: hub.link.malformed }
      expected = { said: [], did: [], malformed: 0, **EXPECTED.fetch(vector["answer"]) }
      assert_equal expected, met, vector["name"]
    end
  end

  EXPECTED = {
    "malformed" => { did: [Reconnect], malformed: 1 },
    "unknown_message" => { said: ["unknown_message"] },
    "ignored" => {}
  }.freeze

  def test_messages_of_an_old_session_are_ignored
    @hub.let_in
    old = @hub.session
    @hub.let_in.settled.hear("steps", batch(step("1.1")), session: old)
    assert_empty @holdings
    assert_empty @hub.said
  end

  # -- lines ----------------------------------------------------------------------------------------------------------
  def test_lines_carry_their_offset_and_are_repeated_until_the_hub_has_them
    @hub.let_in.hear("steps", batch(step("1.1")))
    %w[one two].each { |text| @holdings.say("1.1", "stdout", text) }
    @hub.settled.pass(0)
    @hub.pass(2)
    assert_equal [0, 0], (@hub.said.map { |_kind, body| body["offset"] })
    @hub.hear("logged", { "token" => "1.1", "next" => 1 })
    @hub.pass(0)
    assert_equal [["log", { "token" => "1.1", "offset" => 1, "lines" => [{ "stream" => "stdout", "text" => "two" }] }]],
                 @hub.said
  end

  def test_new_lines_wait_half_a_second_at_most_for_the_answer_to_those_before
    @hub.let_in.hear("steps", batch(step("1.1")))
    @holdings.say("1.1", "log", "one")
    @hub.settled.pass(0)
    @holdings.say("1.1", "log", "two")
    @hub.settled.pass(0.4)
    assert_empty @hub.said
    @hub.pass(0.1)
    assert_equal 2, @hub.said.last[1]["lines"].size
  end

  def test_the_last_lines_go_before_the_result
    @hub.let_in(max_message_bytes: 1_000_000).hear("steps", batch(step("1.1")))
    2_500.times { |number| @holdings.say("1.1", "stdout", number.to_s) }
    finish("1.1")
    @hub.settled.pass(0)
    assert_equal %w[log log log results], @hub.said_kinds
  end

  def test_too_many_lines_are_cut_and_the_last_one_says_so
    @hub.let_in.hear("steps", batch(step("1.1")))
    (Holdings::MOST_LINES + 10).times { @holdings.say("1.1", "stdout", "x") }
    lines = @holdings["1.1"].lines
    assert_equal Holdings::MOST_LINES + 1, lines.size
    assert_equal "log", lines.last["stream"]
  end

  # -- other hubs -----------------------------------------------------------------------------------------------------
  def test_what_a_hub_gave_that_is_gone_is_told_to_this_one
    hub = LinkUnderTest.new(orphan: ->(holding) { holding.hub == "gone" })
    hub.holdings.take(step("9.1"), "b9", "gone", hub.now)
    hub.holdings.take(step("8.1"), "b8", "alive", hub.now)
    hub.let_in
    assert_equal [{ "token" => "9.1", "state" => "waiting" }], hub.said.last[1]["in_flight"]
    hub.hear("steps", batch(step("9.1")))
    assert_equal "hub", hub.holdings["9.1"].hub
  end

  def test_a_heartbeat_takes_over_what_a_hub_gave_that_is_gone_and_says_which_hubs_there_are
    hub = LinkUnderTest.new(orphan: ->(holding) { holding.hub == "gone" })
    %w[gone alive].each { |each| hub.holdings.take(step("#{each}.1"), "b", each, hub.now) }
    hub.let_in.hear("heartbeat", { "seq" => 1, "keep" => %w[gone.1 alive.1 never.1], "hubs" => %w[tcp://a tcp://b] })
    assert_equal %w[hub alive], %w[gone.1 alive.1].map { |token| hub.holdings[token].hub }
    assert_equal %w[tcp://a tcp://b], hub.link.hubs
    hub.hear("heartbeat", { "seq" => 2 })
    assert_equal %w[tcp://a tcp://b], hub.link.hubs
  end
end
