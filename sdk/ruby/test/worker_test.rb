# frozen_string_literal: true

require "fake_hub"

# A worker in a thread and a hub in the test, with real sockets between them.
class WorkerTest < Minitest::Test
  include Support

  def setup
    @context = ZMQ::Context.new
    @hub = FakeHub.new(@context)
    @others = []
    @registry = Turnout::Registry.new
    @registry.register("echo") { |step| step.args }
    @gate = Queue.new
    @begun = Queue.new
    @registry.register("wait") do |step|
      @begun << step.token
      @gate.pop
    end
  end

  def teardown
    @gate.close
    if @thread&.alive?
      2.times { @worker.stop }
      @thread.join(FakeHub::PATIENCE) or flunk("the worker does not end")
    end
    [@hub, *@others].each(&:close)
    @context.terminate
  end

  def work(connect: @hub.address, **options)
    quiet = Logger.new(File::NULL)
    options = { logger: quiet, concurrency: 2, **options }
    @worker = Turnout::Worker.new(registry: @registry, connect: connect, **options)
    @thread = Thread.new { @worker.run(signals: false) }
    @thread.report_on_exception = false
  end

  def another_hub = FakeHub.new(@context).tap { |hub| @others << hub }

  def outcome(result) = [result["status"], result["metadata"]["outcome"]]

  # -- work -----------------------------------------------------------------------------------------------------------
  def test_steps_are_run_in_every_codec
    work
    Turnout::Wire::Codec::NAMES.each_with_index do |codec, number|
      hello = @hub.let_in(codec: codec)
      assert_equal [["echo", "wait"], "ruby", 4], hello.values_at("handlers", "language", "credits")
      @hub.say("steps", batch(step("#{number}.1", args: { "n" => number })))
      assert_equal({ "n" => number }, @hub.results(1).values[0]["output"])
      @hub.say("bye", { "reason" => "another codec" })
    end
  end

  def test_no_more_handlers_run_than_there_are_places
    work
    @hub.let_in
    @hub.say("steps", batch(*(1..4).map { |number| step("#{number}.1", handler: "wait") }))
    2.times { @begun.pop }
    @hub.expect("received")
    @hub.say("steps", batch(step("5.1", handler: "missing"), id: "mark"))
    @hub.expect("received")
    assert_empty @begun
    5.times { @gate << nil }
    assert_equal 5, @hub.results(5).size
  end

  def test_what_handlers_print_log_and_report_is_told
    @registry.register("talk") do |step|
      print "one, "
      puts "two", "three"
      warn "careful"
      step.progress(1, 2, "half")
    end
    work
    @hub.let_in
    @hub.say("steps", batch(step("1.1", handler: "talk")))
    assert_equal({ "token" => "1.1", "done" => 1, "total" => 2, "message" => "half" }, @hub.expect("progress"))
    log = @hub.expect("log") { |body| body["offset"] + body["lines"].size == 3 }
    assert_includes log["lines"], { "stream" => "stderr", "text" => "careful" }
    assert_equal "completed", @hub.results(1)["1.1"]["status"]
  end

  def test_output_in_any_encoding_becomes_lines_of_text
    @registry.register("talk") do |step|
      $stdout.write("é", "\xff\n".b, "\xC3".b)
      $stdout.write("\xA9\n".b)
      puts "ü".encode("UTF-16LE"), "ü".encode("ISO-8859-1")
      step.log("\xff".b)
    end
    work
    Turnout::Wire::Codec::NAMES.each_with_index do |codec, number|
      @hub.let_in(codec: codec)
      @hub.say("steps", batch(step("#{number}.1", handler: "talk")))
      log = @hub.expect("log") { |body| body["offset"].zero? && body["lines"].size == 5 }
      assert_equal ["é\uFFFD", "é", "ü", "ü", "\uFFFD"], (log["lines"].map { |line| line["text"] })
      @hub.results(1)
      @hub.say("bye", { "reason" => "another codec" })
    end
  end

  def test_a_line_without_an_end_is_told_in_pieces
    longest = Turnout::Wire::Holdings::LONGEST_LINE
    @registry.register("mumble") { print "x" * (longest + 1); @gate.pop }
    work
    @hub.let_in
    @hub.say("steps", batch(step("1.1", handler: "mumble")))
    assert_equal longest, @hub.expect("log")["lines"][0]["text"].size
  end

  def test_a_handler_that_computes_does_not_keep_the_worker_from_answering
    @registry.register("compute") { nil while @gate.empty? }
    work
    @hub.let_in(heartbeat_ms: 100)
    @hub.say("steps", batch(step("1.1", handler: "compute"), step("2.1", handler: "compute")))
    3.times { @hub.expect("heartbeat") { |body| body["in_flight"].size == 2 } }
    @gate << nil
    assert_equal 2, @hub.results(2).size
  end

  def test_a_step_that_had_its_turn_while_another_kept_the_interpreter_begins_only_in_contact
    ended = Queue.new
    pool = Turnout::Worker::Pool.new(1, 1) { |*said| ended << said }
    begun = 0
    @registry.register("count") { begun += 1 }
    [false, true].each do |fit|
      job = Turnout::Job.new(step("1.1", handler: "count"), @registry, said: proc {}, progressed: proc {}, fit: -> { fit })
      pool.start(job, 0)
      assert_equal ["1.1", fit && "completed"], ended.pop.then { |token, result| [token, !result.nil? && result["status"]] }
      pool.release("1.1")
    end
    assert_equal 1, begun
    pool.close
  end

  # -- ends -----------------------------------------------------------------------------------------------------------
  def test_a_handler_ends_at_its_timeout_and_its_place_is_used_again
    work(concurrency: 1)
    @hub.let_in
    @hub.say("steps", batch(step("1.1", handler: "wait", timeout_ms: 50), step("2.1", args: { "n" => 1 })))
    results = @hub.results(2)
    assert_equal %w[failed timed_out], outcome(results["1.1"])
    assert_equal "completed", results["2.1"]["status"]
  end

  def test_cancel_ends_what_runs_and_returns_what_waits
    work(concurrency: 1)
    @hub.let_in
    @hub.say("steps", batch(step("1.1", handler: "wait"), step("2.1", handler: "wait")))
    @begun.pop
    @hub.say("cancel", { "tokens" => ["1.1", "2.1"], "reason" => "not needed" })
    results = @hub.results(2)
    assert_equal %w[failed cancelled], outcome(results["1.1"])
    assert_equal "not needed", results["1.1"]["error"]["message"]
    assert_equal %w[error returned], outcome(results["2.1"])
  end

  def test_a_handler_that_cannot_be_stopped_is_reported_and_keeps_its_place
    @registry.register("stubborn") { |step| step.uninterrupted { @gate.pop } }
    work(kill_grace: 0.05)
    @hub.let_in
    @hub.say("steps", batch(step("1.1", handler: "stubborn", timeout_ms: 50)))
    result = @hub.results(1)["1.1"]
    assert_equal %w[failed timed_out], outcome(result)
    assert_match(/could not be stopped/, result["error"]["message"])
    @hub.expect_credits(2)
    @gate << nil
    @hub.expect_credits(4)
  end

  def test_a_handler_that_ends_its_thread_is_reported_and_its_place_used_again
    @registry.register("leave") { Thread.exit }
    work(concurrency: 1)
    @hub.let_in
    @hub.say("steps", batch(step("1.1", handler: "leave"), step("2.1")))
    results = @hub.results(2)
    assert_equal %w[error crashed], outcome(results["1.1"])
    assert_equal "completed", results["2.1"]["status"]
  end

  def test_a_handler_that_says_very_much_is_slowed_and_not_lost
    @registry.register("chatter") { |step| (3 * Turnout::Worker::MOST_SAID).times { |number| step.log(number) } }
    work
    @hub.let_in
    @hub.say("steps", batch(step("1.1", handler: "chatter")))
    assert_equal "completed", @hub.results(1)["1.1"]["status"]
  end

  def test_what_is_too_late_to_begin_is_given_back
    work(concurrency: 1)
    @hub.let_in
    @hub.say("steps", batch(step("1.1", handler: "wait"), step("2.1", handler: "wait", deadline_ms: 50)))
    assert_equal %w[error returned], outcome(@hub.results(1).fetch("2.1"))
    @gate << nil
    assert_equal "completed", @hub.results(1).fetch("1.1")["status"]
  end

  # -- leaving --------------------------------------------------------------------------------------------------------
  def test_a_worker_that_is_told_to_stop_drains
    work(concurrency: 1)
    @hub.let_in
    @hub.say("steps", batch(step("1.1", handler: "wait"), step("2.1", handler: "wait")))
    @begun.pop
    @worker.stop
    assert_equal 0, @hub.expect("credit")["credits"]
    assert_equal %w[error returned], outcome(@hub.results(1).fetch("2.1"))
    @gate << nil
    assert_equal "completed", @hub.results(1).fetch("1.1")["status"]
    @hub.expect("bye")
    @hub.say("bye", {})
    assert_equal :drained, @thread.value
  end

  def test_a_hub_may_ask_for_the_same
    work
    @hub.let_in
    @hub.say("drain", { "reason" => "deploy" })
    assert_equal "drained", @hub.expect("bye")["reason"]
    assert_equal :drained, @thread.value
  end

  def test_the_second_stop_does_not_wait
    work
    @hub.let_in
    @hub.say("steps", batch(step("1.1", handler: "wait")))
    @begun.pop
    2.times { @worker.stop }
    assert_equal %w[error lost], outcome(@hub.results(1).fetch("1.1"))
    assert_equal :stopped, @thread.value
  end

  def test_a_drain_takes_no_longer_than_its_grace
    work(grace: 0.1)
    @hub.let_in
    @hub.say("steps", batch(step("1.1", handler: "wait")))
    @begun.pop
    @hub.say("drain", {})
    assert_equal %w[error lost], outcome(@hub.results(1).fetch("1.1"))
    assert_equal :stopped, @thread.value
  end

  def test_what_waits_is_given_back_when_all_places_are_held_by_handlers_that_do_not_end
    @registry.register("stubborn") { |step| step.uninterrupted { @gate.pop } }
    work(kill_grace: 0.05, concurrency: 1)
    @hub.let_in
    @hub.say("steps", batch(step("1.1", handler: "stubborn", timeout_ms: 50), step("2.1")))
    assert_equal %w[error returned], outcome(@hub.results(2).fetch("2.1"))
  end

  def test_a_worker_that_nobody_wants_says_why
    work
    @hub.expect("hello")
    @hub.say("error", { "code" => "labels_refused", "message" => "gpu", "retry" => false })
    assert_match(/labels_refused: gpu/, assert_raises(Turnout::Refused) { @thread.value }.message)
  end

  # -- hubs come and go -----------------------------------------------------------------------------------------------
  def test_a_silent_hub_is_greeted_again_and_gets_what_was_done_meanwhile
    work
    @hub.answers_heartbeats = false
    @hub.let_in(lease_ms: 1_000)
    @hub.say("steps", batch(step("1.1", handler: "wait")))
    @begun.pop
    hello = @hub.expect("hello") { |body| body["seq"] == 2 }
    assert_equal [{ "token" => "1.1", "state" => "running" }], hello["in_flight"]
    @hub.answers_heartbeats = true
    @hub.answers_hello = {}
    @gate << nil
    assert_equal "completed", @hub.results(1).fetch("1.1")["status"]
  end

  def test_garbage_ends_the_session_and_not_the_worker
    work
    @hub.let_in
    @hub.send_frames(%w[no message])
    @hub.let_in
    @hub.say("steps", batch(step("1.1")))
    assert_equal "completed", @hub.results(1).fetch("1.1")["status"]
  end

  def test_places_are_divided_among_hubs_and_results_of_a_hub_that_is_gone_go_to_another
    other = another_hub
    work(connect: [@hub.address, other.address])
    offered = [@hub.let_in, other.let_in(hub_id: "other", session: "o1")].map { |hello| hello["credits"] }
    assert_equal [2, 2], offered, "nobody is offered more than its share before it could be told"
    @hub.expect_credits(2)
    @hub.say("steps", batch(step("1.1", handler: "wait")))
    @begun.pop
    @hub.say("bye", { "reason" => "going" })
    other.expect_credits(4)
    @gate << nil
    assert_equal "completed", other.results(1).fetch("1.1")["status"]
  end

  def test_a_step_that_waits_for_a_hub_that_was_replaced_is_given_back
    work(concurrency: 1)
    @hub.let_in
    @hub.say("steps", batch(step("1.1", handler: "wait"), step("2.1", handler: "wait")))
    @begun.pop
    @hub.say("bye", { "reason" => "restart" })
    @hub.let_in(hub_id: "its successor")
    assert_equal %w[error returned], outcome(@hub.results(1).fetch("2.1"))
    @gate << nil
    assert_equal "completed", @hub.results(1).fetch("1.1")["status"]
  end

  def test_other_hubs_are_found_through_the_first
    other = another_hub
    work
    @hub.let_in(hubs: [@hub.address, other.address])
    other.let_in(hub_id: "other", session: "o1")
    other.say("steps", batch(step("1.1")))
    assert_equal "completed", other.results(1).fetch("1.1")["status"]
  end

  def test_other_hubs_are_found_through_a_hub_that_calls_itself_by_another_address
    other = another_hub
    work(connect: @hub.address.sub("127.0.0.1", "localhost"))
    hubs = [@hub.address, other.address]
    @hub.let_in(hubs: hubs)
    other.let_in(hub_id: "other", session: "o1", hubs: hubs)
    @hub.let_in(hubs: hubs)
    other.expect_credits(2)
    [@hub, other].each_with_index do |hub, index|
      hub.say("steps", batch(step("#{index}.1")))
      assert_equal "completed", hub.results(1).fetch("#{index}.1")["status"]
    end
  end

  def test_a_hub_lists_addresses_that_lead_nowhere_and_is_kept
    work
    @hub.let_in(hubs: ["tcp://127.0.0.1:9"])
    @hub.say("steps", batch(step("1.1")))
    assert_equal "completed", @hub.results(1).fetch("1.1")["status"]
    @hub.expect_credits(4)
  end

  def test_one_hub_with_two_names_has_one_session
    work(connect: [@hub.address, @hub.address.sub("127.0.0.1", "localhost")])
    2.times { @hub.let_in }
    @hub.say("steps", batch(step("1.1")))
    assert_equal "completed", @hub.results(1).fetch("1.1")["status"]
  end

  def test_a_connection_that_is_gone_is_made_anew_at_once
    work
    @hub.let_in(heartbeat_ms: 60_000, lease_ms: 180_000)
    @hub.restart
    assert_equal 2, @hub.expect("hello")["seq"]
  end

  def test_a_server_key_that_is_not_the_hubs_is_said
    _server, server_secret = ZMQ::Util.curve_keypair
    public_key, secret = ZMQ::Util.curve_keypair
    @others << (hub = FakeHub.new(@context, curve: server_secret))
    said, log = IO.pipe
    work(connect: hub.address, curve: { server_key: public_key, public_key: public_key, secret_key: secret },
         logger: Logger.new(log))
    assert said.each_line.find { |line| line.include?("the encrypted connection fails; is the server key the hub's?") }
  end

  def test_connections_are_encrypted_where_there_are_keys
    server, server_secret = ZMQ::Util.curve_keypair
    public_key, secret = ZMQ::Util.curve_keypair
    @others << (hub = FakeHub.new(@context, curve: server_secret))
    work(connect: hub.address, curve: { server_key: server, public_key: public_key, secret_key: secret })
    hub.let_in
    hub.say("steps", batch(step("1.1")))
    assert_equal "completed", hub.results(1).fetch("1.1")["status"]
  end
end
