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
      @thread.join(FakeHub::WAIT_TIMEOUT) or flunk("the worker does not end")
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
      hello = @hub.welcome_worker(codec: codec)
      assert_equal [["echo", "wait"], "ruby", 4], hello.values_at("handlers", "language", "credits")
      @hub.send_message("steps", batch(step("#{number}.1", args: { "n" => number })))
      assert_equal({ "n" => number }, @hub.results(1).values[0]["output"])
      @hub.send_message("bye", { "reason" => "another codec" })
    end
  end

  def test_no_more_handlers_run_than_there_are_slots
    work
    @hub.welcome_worker
    @hub.send_message("steps", batch(*(1..4).map { |number| step("#{number}.1", handler: "wait") }))
    2.times { @begun.pop }
    @hub.expect("received")
    @hub.send_message("steps", batch(step("5.1", handler: "missing"), id: "mark"))
    @hub.expect("received")
    assert_empty @begun
    5.times { @gate << nil }
    assert_equal 5, @hub.results(5).size
  end

  def test_what_handlers_print_log_and_report_is_sent
    @registry.register("talk") do |step|
      print "one, "
      puts "two", "three"
      warn "careful"
      step.progress(1, 2, "half")
    end
    work
    @hub.welcome_worker
    @hub.send_message("steps", batch(step("1.1", handler: "talk")))
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
      @hub.welcome_worker(codec: codec)
      @hub.send_message("steps", batch(step("#{number}.1", handler: "talk")))
      log = @hub.expect("log") { |body| body["offset"].zero? && body["lines"].size == 5 }
      assert_equal ["é\uFFFD", "é", "ü", "ü", "\uFFFD"], (log["lines"].map { |line| line["text"] })
      @hub.results(1)
      @hub.send_message("bye", { "reason" => "another codec" })
    end
  end

  def test_a_line_without_an_end_is_sent_in_pieces
    longest = Turnout::Wire::HeldSteps::MAX_LINE_BYTES
    @registry.register("mumble") { print "x" * (longest + 1); @gate.pop }
    work
    @hub.welcome_worker
    @hub.send_message("steps", batch(step("1.1", handler: "mumble")))
    assert_equal longest, @hub.expect("log")["lines"][0]["text"].size
  end

  def test_a_handler_that_computes_does_not_keep_the_worker_from_answering
    @registry.register("compute") { nil while @gate.empty? }
    work
    @hub.welcome_worker(heartbeat_ms: 100)
    @hub.send_message("steps", batch(step("1.1", handler: "compute"), step("2.1", handler: "compute")))
    3.times { @hub.expect("heartbeat") { |body| body["in_flight"].size == 2 } }
    @gate << nil
    assert_equal 2, @hub.results(2).size
  end

  def test_a_step_that_had_its_turn_while_another_kept_the_interpreter_begins_only_in_contact
    ended = Queue.new
    pool = Turnout::Worker::Pool.new(1, 1) { |*arguments| ended << arguments }
    begun = 0
    @registry.register("count") { begun += 1 }
    [false, true].each do |fit|
      count = step("1.1", handler: "count")
      job = Turnout::Job.new(count, @registry, on_line: proc {}, on_progress: proc {}, may_begin: -> { fit })
      pool.start(job, 0)
      assert_equal ["1.1", fit && "completed"], ended.pop.then { |token, result| [token, !result.nil? && result["status"]] }
      pool.release("1.1")
    end
    assert_equal 1, begun
    pool.close
  end

  # -- ends -----------------------------------------------------------------------------------------------------------
  def test_a_handler_ends_at_its_timeout_and_its_slot_is_used_again
    work(concurrency: 1)
    @hub.welcome_worker
    @hub.send_message("steps", batch(step("1.1", handler: "wait", timeout_ms: 50), step("2.1", args: { "n" => 1 })))
    results = @hub.results(2)
    assert_equal %w[failed timed_out], outcome(results["1.1"])
    assert_equal "completed", results["2.1"]["status"]
  end

  def test_cancel_ends_what_runs_and_returns_what_waits
    work(concurrency: 1)
    @hub.welcome_worker
    @hub.send_message("steps", batch(step("1.1", handler: "wait"), step("2.1", handler: "wait")))
    @begun.pop
    @hub.send_message("cancel", { "tokens" => ["1.1", "2.1"], "reason" => "not needed" })
    results = @hub.results(2)
    assert_equal %w[failed cancelled], outcome(results["1.1"])
    assert_equal "not needed", results["1.1"]["error"]["message"]
    assert_equal %w[error returned], outcome(results["2.1"])
  end

  def test_a_handler_that_cannot_be_stopped_is_reported_and_keeps_its_slot
    @registry.register("stubborn") { |step| step.uninterrupted { @gate.pop } }
    work(kill_grace: 0.05)
    @hub.welcome_worker
    @hub.send_message("steps", batch(step("1.1", handler: "stubborn", timeout_ms: 50)))
    result = @hub.results(1)["1.1"]
    assert_equal %w[failed timed_out], outcome(result)
    assert_match(/could not be stopped/, result["error"]["message"])
    @hub.expect_credits(2)
    @gate << nil
    @hub.expect_credits(4)
  end

  def test_a_handler_that_ends_its_thread_is_reported_and_its_slot_used_again
    @registry.register("leave") { Thread.exit }
    work(concurrency: 1)
    @hub.welcome_worker
    @hub.send_message("steps", batch(step("1.1", handler: "leave"), step("2.1")))
    results = @hub.results(2)
    assert_equal %w[error crashed], outcome(results["1.1"])
    assert_equal "completed", results["2.1"]["status"]
  end

  def test_a_handler_that_writes_very_much_is_slowed_and_not_lost
    @registry.register("chatter") { |step| (3 * Turnout::Worker::MAX_INBOX).times { |number| step.log(number) } }
    work
    @hub.welcome_worker
    @hub.send_message("steps", batch(step("1.1", handler: "chatter")))
    assert_equal "completed", @hub.results(1)["1.1"]["status"]
  end

  def test_what_is_too_late_to_begin_is_returned
    work(concurrency: 1)
    @hub.welcome_worker
    @hub.send_message("steps", batch(step("1.1", handler: "wait"), step("2.1", handler: "wait", deadline_ms: 50)))
    assert_equal %w[error returned], outcome(@hub.results(1).fetch("2.1"))
    @gate << nil
    assert_equal "completed", @hub.results(1).fetch("1.1")["status"]
  end

  def test_prefetched_steps_behind_a_long_handler_are_returned
    work(concurrency: 1)
    @hub.welcome_worker
    @hub.send_message("steps", batch(*(1..3).map { |number| step("#{number}.1", handler: "wait") }))
    assert_equal %w[error returned], outcome(@hub.results(1).fetch("3.1"))
    2.times { @gate << nil }
    assert_equal %w[1.1 2.1], @hub.results(2).keys.sort
  end

  # -- leaving --------------------------------------------------------------------------------------------------------
  def test_a_worker_that_is_stopped_drains
    work(concurrency: 1)
    @hub.welcome_worker
    @hub.send_message("steps", batch(step("1.1", handler: "wait"), step("2.1", handler: "wait")))
    @begun.pop
    @worker.stop
    assert_equal 0, @hub.expect("credit")["credits"]
    assert_equal %w[error returned], outcome(@hub.results(1).fetch("2.1"))
    @gate << nil
    assert_equal "completed", @hub.results(1).fetch("1.1")["status"]
    @hub.expect("bye")
    @hub.send_message("bye", {})
    assert_equal :drained, @thread.value
  end

  def test_a_hub_may_ask_for_the_same
    work
    @hub.welcome_worker
    @hub.send_message("drain", { "reason" => "deploy" })
    assert_equal "drained", @hub.expect("bye")["reason"]
    assert_equal :drained, @thread.value
  end

  def test_the_second_stop_does_not_wait
    work
    @hub.welcome_worker
    @hub.send_message("steps", batch(step("1.1", handler: "wait")))
    @begun.pop
    2.times { @worker.stop }
    assert_equal %w[error lost], outcome(@hub.results(1).fetch("1.1"))
    assert_equal :stopped, @thread.value
  end

  def test_a_drain_takes_no_longer_than_its_grace
    work(grace: 0.1)
    @hub.welcome_worker
    @hub.send_message("steps", batch(step("1.1", handler: "wait")))
    @begun.pop
    @hub.send_message("drain", {})
    assert_equal %w[error lost], outcome(@hub.results(1).fetch("1.1"))
    assert_equal :stopped, @thread.value
  end

  def test_what_waits_is_returned_when_all_slots_are_held_by_handlers_that_do_not_end
    @registry.register("stubborn") { |step| step.uninterrupted { @gate.pop } }
    work(kill_grace: 0.05, concurrency: 1)
    @hub.welcome_worker
    @hub.send_message("steps", batch(step("1.1", handler: "stubborn", timeout_ms: 50), step("2.1")))
    assert_equal %w[error returned], outcome(@hub.results(2).fetch("2.1"))
  end

  def test_a_worker_that_every_hub_refuses_raises_the_reason
    work
    @hub.expect("hello")
    @hub.send_message("error", { "code" => "labels_refused", "message" => "gpu", "retry" => false })
    assert_match(/labels_refused: gpu/, assert_raises(Turnout::Refused) { @thread.value }.message)
  end

  # -- hubs come and go -----------------------------------------------------------------------------------------------
  def test_a_silent_hub_gets_hello_again_and_gets_what_was_done_meanwhile
    work
    @hub.answers_heartbeats = false
    @hub.welcome_worker(lease_ms: 1_000)
    @hub.send_message("steps", batch(step("1.1", handler: "wait")))
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
    @hub.welcome_worker
    @hub.send_frames(%w[no message])
    @hub.welcome_worker
    @hub.send_message("steps", batch(step("1.1")))
    assert_equal "completed", @hub.results(1).fetch("1.1")["status"]
  end

  def test_credits_are_divided_among_hubs_and_results_of_a_hub_that_is_gone_go_to_another
    other = another_hub
    work(connect: [@hub.address, other.address])
    hellos = [@hub.welcome_worker, other.welcome_worker(hub_id: "other", session: "o1")]
    offered = hellos.map { |hello| hello["credits"] }
    assert_equal [2, 2], offered, "no hub is offered more than its share"
    @hub.expect_credits(2)
    @hub.send_message("steps", batch(step("1.1", handler: "wait")))
    @begun.pop
    @hub.send_message("bye", { "reason" => "going" })
    other.expect_credits(4)
    @gate << nil
    assert_equal "completed", other.results(1).fetch("1.1")["status"]
  end

  def test_a_step_that_waits_for_a_hub_that_was_replaced_is_returned
    work(concurrency: 1)
    @hub.welcome_worker
    @hub.send_message("steps", batch(step("1.1", handler: "wait"), step("2.1", handler: "wait")))
    @begun.pop
    @hub.send_message("bye", { "reason" => "restart" })
    @hub.welcome_worker(hub_id: "its successor")
    assert_equal %w[error returned], outcome(@hub.results(1).fetch("2.1"))
    @gate << nil
    assert_equal "completed", @hub.results(1).fetch("1.1")["status"]
  end

  def test_other_hubs_are_found_through_the_first
    other = another_hub
    work
    @hub.welcome_worker(hubs: [@hub.address, other.address])
    other.welcome_worker(hub_id: "other", session: "o1")
    other.send_message("steps", batch(step("1.1")))
    assert_equal "completed", other.results(1).fetch("1.1")["status"]
  end

  def test_other_hubs_are_found_through_a_hub_that_calls_itself_by_another_address
    other = another_hub
    work(connect: @hub.address.sub("127.0.0.1", "localhost"))
    hubs = [@hub.address, other.address]
    @hub.welcome_worker(hubs: hubs)
    other.welcome_worker(hub_id: "other", session: "o1", hubs: hubs)
    @hub.welcome_worker(hubs: hubs)
    other.expect_credits(2)
    [@hub, other].each_with_index do |hub, index|
      hub.send_message("steps", batch(step("#{index}.1")))
      assert_equal "completed", hub.results(1).fetch("#{index}.1")["status"]
    end
  end

  def test_a_hub_lists_addresses_that_lead_nowhere_and_is_kept
    work
    @hub.welcome_worker(hubs: ["tcp://127.0.0.1:9"])
    @hub.send_message("steps", batch(step("1.1")))
    assert_equal "completed", @hub.results(1).fetch("1.1")["status"]
    @hub.expect_credits(4)
  end

  def test_one_hub_with_two_names_has_one_session
    work(connect: [@hub.address, @hub.address.sub("127.0.0.1", "localhost")])
    2.times { @hub.welcome_worker }
    @hub.send_message("steps", batch(step("1.1")))
    assert_equal "completed", @hub.results(1).fetch("1.1")["status"]
  end

  def test_a_connection_that_is_gone_is_made_anew_at_once
    work
    @hub.welcome_worker(heartbeat_ms: 60_000, lease_ms: 180_000)
    @hub.restart
    assert_equal 2, @hub.expect("hello")["seq"]
  end

  def test_a_server_key_that_is_not_the_hubs_is_logged
    _server, server_secret = ZMQ::Util.curve_keypair
    public_key, secret = ZMQ::Util.curve_keypair
    @others << (hub = FakeHub.new(@context, curve: server_secret))
    reader, log = IO.pipe
    work(connect: hub.address, curve: { server_key: public_key, public_key: public_key, secret_key: secret },
         logger: Logger.new(log))
    assert reader.each_line.find { |line| line.include?("the encrypted connection fails; is the server key the hub's?") }
  end

  def test_connections_are_encrypted_where_there_are_keys
    server, server_secret = ZMQ::Util.curve_keypair
    public_key, secret = ZMQ::Util.curve_keypair
    @others << (hub = FakeHub.new(@context, curve: server_secret))
    work(connect: hub.address, curve: { server_key: server, public_key: public_key, secret_key: secret })
    hub.welcome_worker
    hub.send_message("steps", batch(step("1.1")))
    assert_equal "completed", hub.results(1).fetch("1.1")["status"]
  end
end
