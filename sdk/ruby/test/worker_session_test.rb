# frozen_string_literal: true

require "support"

class WorkerSessionTest < Minitest::Test
  include Support
  include Turnout::Wire

  def setup
    @hub = SessionUnderTest.new
    @session = @hub.session
    @held_steps = @hub.held_steps
  end

  def finish(token)
    @held_steps.begin(token)
    @held_steps.finish(token, Results.completed(@held_steps[token].step, "output"))
  end

  # -- coming in ------------------------------------------------------------------------------------------------------
  def test_hello_is_repeated_until_it_is_answered
    @session.open(@hub.now)
    first = @hub.sent
    @hub.pass(1.9)
    assert_empty @hub.sent
    @hub.pass(0.2)
    assert_equal first, @hub.sent
  end

  def test_a_welcome_for_another_hello_is_ignored
    @session.open(@hub.now)
    @hub.receive("welcome", welcome(7), session: "s7")
    refute @session.open?
  end

  def test_a_heartbeat_follows_welcome_at_once
    @hub.welcome_worker
    assert_equal [["heartbeat", { "seq" => 1, "credits" => 4, "in_flight" => [] }]], @hub.sent
  end

  def test_a_codec_that_was_not_offered_is_malformed
    @hub.welcome_worker(codec: "xml")
    assert_equal 1, @session.malformed
    assert_kind_of Reconnect, @hub.actions.last
  end

  def test_a_final_error_ends_the_session_and_another_does_not
    @session.open(@hub.now)
    @hub.receive("error", { "code" => "worker_in_use", "message" => "no", "retry" => false }, session: "")
    assert @session.refused?
    assert_equal [HubClosed.new("worker_in_use: no")], @hub.actions
  end

  def test_every_connection_has_a_higher_seq_and_lists_the_held_steps
    @hub.welcome_worker.receive("steps", batch(step("1.1"), step("2.1")))
    finish("1.1")
    @hub.cleared
    @session.open(@hub.now)
    hello = @hub.sent.last[1]
    assert_equal 2, hello["seq"]
    assert_equal [%w[1.1 done], %w[2.1 waiting]], hello["in_flight"].map(&:values)
  end

  # -- steps ----------------------------------------------------------------------------------------------------------
  def test_steps_are_received_each_time_and_held_once
    @hub.welcome_worker.cleared
    2.times { @hub.receive("steps", batch(step("1.1"))) }
    assert_equal [["received", { "tokens" => ["1.1"] }]] * 2, @hub.sent
    assert_equal 1, @held_steps.size
  end

  def test_a_finished_token_is_received_and_not_held_again
    @hub.welcome_worker.receive("steps", batch(step("1.1")))
    finish("1.1")
    @hub.receive("ack", { "tokens" => ["1.1"] })
    @hub.cleared.receive("steps", batch(step("1.1")))
    assert_equal ["received"], @hub.sent_kinds
    assert_empty @held_steps
  end

  def test_a_result_is_repeated_until_it_is_acknowledged_over_sessions
    @hub.welcome_worker.receive("steps", batch(step("1.1"), step("2.1")))
    %w[1.1 2.1].each { |token| finish(token) }
    @hub.cleared.pass(0)
    assert_equal [2], (@hub.sent.map { |_kind, body| body["results"].size })
    @hub.pass(2)
    assert_equal ["results"], @hub.sent_kinds
    @hub.receive("ack", { "tokens" => ["1.1"] })
    @hub.welcome_worker.cleared.pass(0)
    assert_equal ["2.1"], (@hub.sent.last[1]["results"].map { |result| result["metadata"]["token"] })
    @hub.receive("ack", { "tokens" => ["2.1"] })
    @hub.pass(2)
    refute_includes @hub.sent_kinds, "results"
  end

  def test_results_of_different_batches_do_not_share_a_message
    @hub.welcome_worker
    @hub.receive("steps", batch(step("1.1"), id: "a"))
    @hub.receive("steps", batch(step("2.1"), id: "b"))
    %w[1.1 2.1].each { |token| finish(token) }
    @hub.cleared.pass(0)
    assert_equal %w[a b], (@hub.sent.map { |_kind, body| body["batch_id"] })
  end

  def test_a_result_that_is_too_large_becomes_a_failure_and_the_others_go
    @hub.welcome_worker.receive("steps", batch(step("1.1"), step("2.1")))
    finish("1.1")
    @held_steps.finish("2.1", Results.completed(@held_steps["2.1"].step, "x" * 20_000))
    @hub.cleared.pass(0)
    statuses = @hub.sent.flat_map { |_kind, body| body["results"] }.to_h { |each| [each["step_id"], each["status"]] }
    assert_equal({ "1" => "completed", "2" => "failed" }, statuses)
  end

  if Codec::NAMES.include?("msgpack")
    def test_a_result_that_its_codec_does_not_know_becomes_a_failure
      hub = SessionUnderTest.new.welcome_worker(codec: "msgpack")
      hub.receive("steps", batch(step("1.1")))
      hub.held_steps.finish("1.1", Turnout::Wire::Results.completed(step("1.1"), 2**70))
      hub.cleared.pass(0)
      result = hub.sent.to_h.fetch("results")["results"][0]
      assert_equal ["failed", "NotJson", false], [result["status"], result["error"]["type"], result["metadata"]["retryable"]]
    end
  end

  def test_a_step_that_must_be_confirmed_asks_again_and_begins_when_granted
    @hub.welcome_worker.receive("steps", batch(step("1.1", confirm_start: true), step("2.1", confirm_start: true)))
    @hub.cleared.pass(0)
    assert_empty @hub.sent, "leave is not requested before a slot is free"
    @held_steps.each { |each| @held_steps.request_start(each.token) }
    @hub.pass(0)
    @hub.pass(2)
    assert_equal [["start", { "tokens" => ["1.1", "2.1"] }]] * 2, @hub.sent
    refute @held_steps["1.1"].granted
    @hub.receive("started", { "granted" => ["1.1"], "denied" => ["2.1"] })
    assert @held_steps["1.1"].granted
    assert_nil @held_steps["2.1"]
  end

  def test_cancel_returns_what_waits_and_stops_what_runs
    @hub.welcome_worker.receive("steps", batch(step("1.1"), step("2.1")))
    @held_steps.begin("2.1")
    @hub.cleared.receive("cancel", { "tokens" => ["1.1", "2.1", "9.9"], "reason" => "changed my mind" })
    assert_equal "returned", @held_steps["1.1"].result["metadata"]["outcome"]
    assert_equal [Stop.new("2.1", "changed my mind", false)], @hub.actions
  end

  def test_what_a_welcome_releases_is_stopped_and_forgotten
    @hub.welcome_worker.receive("steps", batch(step("1.1"), step("2.1")))
    @held_steps.begin("2.1")
    @hub.cleared.welcome_worker(release: ["1.1", "2.1"])
    assert_empty @held_steps
    assert_includes @hub.actions, Stop.new("2.1", "its result is not needed any more", true)
  end

  # -- contact --------------------------------------------------------------------------------------------------------
  def test_a_worker_without_answers_is_out_of_contact_before_its_lease_is_over
    @hub.welcome_worker.cleared
    assert @session.in_contact?(@hub.now + 11.9)
    refute @session.in_contact?(@hub.now + 12)
    @hub.pass(12)
    assert_equal ["no answer for 12.0 s"], @hub.actions.map(&:reason)
  end

  def test_contact_counts_from_when_the_answered_heartbeat_was_sent
    @hub.welcome_worker.cleared
    @hub.pass(5)
    seq = @hub.sent.last[1]["seq"]
    sent = @hub.now
    @hub.now += 4
    @hub.receive("heartbeat", { "seq" => seq })
    assert_equal sent, @session.contact
  end

  def test_time_is_up_exactly_when_next_due_says
    @hub.welcome_worker.receive("steps", batch(step("1.1")))
    finish("1.1")
    @hub.cleared.pass(0)
    @hub.cleared
    @hub.pass(@session.next_due - @hub.now)
    assert_equal ["results"], @hub.sent_kinds
  end

  def test_a_malformed_message_ends_the_session_and_is_counted
    @hub.welcome_worker.cleared
    @session.receive(%w[ack s1 {} 00000000], @hub.now)
    assert_equal 1, @session.malformed
    assert_kind_of Reconnect, @hub.actions.last
  end

  def test_an_unknown_message_is_answered_and_the_session_goes_on
    @hub.welcome_worker.cleared
    body = "{}"
    @session.receive(["tomorrow", @hub.session_id, body, Frames.check_of("tomorrow", @hub.session_id, body)], @hub.now)
    assert_equal "unknown_message", @hub.sent.last[1]["code"]
    assert @session.open?
  end

  def test_what_the_vectors_call_unreadable_is_met_as_they_say
    Vectors.unreadable.each do |vector|
      hub = SessionUnderTest.new.welcome_worker(session: "s1", codec: vector["codec"]).cleared
      hub.session.receive(Vectors.frames(vector), hub.now)
      codes = hub.sent.map { |_kind, body| body["code"] }
      met = { sent: codes, actions: hub.actions.map(&:class), malformed: hub.session.malformed }
      expected = { sent: [], actions: [], malformed: 0, **EXPECTED.fetch(vector["answer"]) }
      assert_equal expected, met, vector["name"]
    end
  end

  EXPECTED = {
    "malformed" => { actions: [Reconnect], malformed: 1 },
    "unknown_message" => { sent: ["unknown_message"] },
    "ignored" => {}
  }.freeze

  def test_messages_of_an_old_session_are_ignored
    @hub.welcome_worker
    old = @hub.session_id
    @hub.welcome_worker.cleared.receive("steps", batch(step("1.1")), session: old)
    assert_empty @held_steps
    assert_empty @hub.sent
  end

  def test_what_was_reported_is_not_new_again
    @hub.welcome_worker.receive("steps", batch(step("1.1"), step("2.1")))
    finish("1.1")
    @held_steps.add_line("2.1", "log", "one")
    assert_equal %w[1.1 2.1], @held_steps.take_changed.map(&:token)
    assert_empty @held_steps.take_changed
    finish("2.1")
    @hub.receive("ack", { "tokens" => ["2.1"] })
    assert_empty @held_steps.take_changed
    assert_equal 1, @held_steps.unacknowledged
  end

  def test_a_step_that_may_not_begin_now_waits_again_in_its_place
    @hub.welcome_worker.receive("steps", batch(step("1.1"), step("2.1")))
    @held_steps.begin("1.1")
    assert_equal ["2.1"], @held_steps.waiting.map(&:token)
    @held_steps.wait_again("1.1")
    assert_equal ["1.1", "2.1"], @held_steps.waiting.map(&:token)
  end

  # -- lines ----------------------------------------------------------------------------------------------------------
  def test_lines_carry_their_offset_and_are_repeated_until_the_hub_has_them
    @hub.welcome_worker.receive("steps", batch(step("1.1")))
    %w[one two].each { |text| @held_steps.add_line("1.1", "stdout", text) }
    @hub.cleared.pass(0)
    @hub.pass(2)
    assert_equal [0, 0], (@hub.sent.map { |_kind, body| body["offset"] })
    @hub.receive("logged", { "token" => "1.1", "next" => 1 })
    @hub.pass(0)
    assert_equal [["log", { "token" => "1.1", "offset" => 1, "lines" => [{ "stream" => "stdout", "text" => "two" }] }]],
                 @hub.sent
  end

  def test_new_lines_wait_half_a_second_at_most_for_the_answer_to_those_before
    @hub.welcome_worker.receive("steps", batch(step("1.1")))
    @held_steps.add_line("1.1", "log", "one")
    @hub.cleared.pass(0)
    @held_steps.add_line("1.1", "log", "two")
    @hub.cleared.pass(0.4)
    assert_empty @hub.sent
    @hub.pass(0.1)
    assert_equal 2, @hub.sent.last[1]["lines"].size
  end

  def test_the_last_lines_go_before_the_result
    @hub.welcome_worker(max_message_bytes: 1_000_000).receive("steps", batch(step("1.1")))
    2_500.times { |number| @held_steps.add_line("1.1", "stdout", number.to_s) }
    finish("1.1")
    @hub.cleared.pass(0)
    assert_equal %w[log log log results], @hub.sent_kinds
  end

  def test_too_many_lines_are_cut_and_the_last_one_says_so
    @hub.welcome_worker.receive("steps", batch(step("1.1")))
    (HeldSteps::MAX_LINES + 10).times { @held_steps.add_line("1.1", "stdout", "x") }
    lines = @held_steps["1.1"].lines
    assert_equal HeldSteps::MAX_LINES + 1, lines.size
    assert_equal "log", lines.last["stream"]
  end

  # -- other hubs -----------------------------------------------------------------------------------------------------
  def test_what_a_hub_gave_that_is_gone_is_reported_to_this_one
    hub = SessionUnderTest.new(orphan: ->(held_step) { held_step.hub == "gone" })
    hub.held_steps.add(step("9.1"), "b9", "gone", hub.now)
    hub.held_steps.add(step("8.1"), "b8", "alive", hub.now)
    hub.welcome_worker
    assert_equal [{ "token" => "9.1", "state" => "waiting" }], hub.sent.last[1]["in_flight"]
    hub.receive("steps", batch(step("9.1")))
    assert_equal "hub", hub.held_steps["9.1"].hub
  end

  def test_the_result_of_a_hub_that_goes_later_is_sent_when_all_steps_are_checked
    gone = []
    hub = SessionUnderTest.new(orphan: ->(held_step) { gone.include?(held_step.hub) })
    hub.held_steps.add(step("9.1"), "b9", "other", hub.now)
    hub.welcome_worker.cleared
    hub.held_steps.finish("9.1", Results.completed(step("9.1"), "output"))
    hub.pass(0)
    assert_empty hub.sent
    gone << "other"
    hub.session.check_all
    hub.pass(0)
    assert_equal ["results"], hub.sent_kinds
  end

  def test_a_heartbeat_takes_over_what_a_hub_gave_that_is_gone_and_says_which_hubs_there_are
    hub = SessionUnderTest.new(orphan: ->(held_step) { held_step.hub == "gone" })
    %w[gone alive].each { |each| hub.held_steps.add(step("#{each}.1"), "b", each, hub.now) }
    hub.welcome_worker
    hub.receive("heartbeat", { "seq" => 1, "keep" => %w[gone.1 alive.1 never.1], "hubs" => %w[tcp://a tcp://b] })
    assert_equal %w[hub alive], %w[gone.1 alive.1].map { |token| hub.held_steps[token].hub }
    assert_equal %w[tcp://a tcp://b], hub.session.hubs
    hub.receive("heartbeat", { "seq" => 2 })
    assert_equal %w[tcp://a tcp://b], hub.session.hubs
  end
end
