# frozen_string_literal: true

require "support"

# A handler to the letter of the older interface.
class ShipOrderHandler
  VERSION = "1.2.3"

  def process(task, sequence, step)
    validated = sequence.find_step_by_name("validate_order")
    {
      order: task.context[:order_id], task: task.task_id, approved: validated.results[:status],
      paid: sequence["process_payment"]["transaction_id"], step: [step.name, step.step_id, step.attempt],
      config: step.handler_config
    }
  end
end

class JobTest < Minitest::Test
  include Support

  def run_step(document = {}, **more, &handler) = Turnout::Testing.run_step(handler, document, **more)

  def test_what_a_handler_returns_is_the_output_as_json
    result = run_step { { at: Date.new(2026, 1, 31), names: %i[a b], n: 1.5, none: nil } }
    assert_equal "completed", result["status"]
    assert_equal({ "at" => "2026-01-31", "names" => %w[a b], "n" => 1.5, "none" => nil }, result["output"])
    assert_operator result["metadata"]["execution_time_ms"], :>=, 0
  end

  def test_a_handler_sees_its_document_with_text_or_symbols
    document = { task_context: { order: { id: 7 } }, previous_results: { a: 1 }, handler_config: { b: 2 },
                 metadata: { args: { c: 3 }, positional: [4], attempt: 2, saved: { d: 5 } } }
    result = run_step(document) do |step|
      [step.context[:order]["id"], step.previous.fetch(:a), step.config[:b], step.args.dig(:c),
       step.positional[0], step.attempt, step.saved[:d]]
    end
    assert_equal [7, 1, 2, 3, 4, 2, 5], result["output"]
    assert_equal 2, result["metadata"]["attempt"]
  end

  def test_the_older_interface_gets_task_sequence_and_step
    document = { task_context: { order_id: 12_345 }, step_id: "8127", task_id: "6591", step_name: "ship_order",
                 previous_results: { validate_order: { status: "approved" }, process_payment: { transaction_id: "t" } },
                 handler_config: { shipping_timeout: 60 } }
    result = Turnout::Testing.run_step(ShipOrderHandler, document)
    assert_equal({ "order" => 12_345, "task" => "6591", "approved" => "approved", "paid" => "t",
                   "step" => ["ship_order", "8127", 0], "config" => { "shipping_timeout" => 60 } }, result["output"])
    assert_equal "1.2.3", result["metadata"]["handler_version"]
  end

  def test_an_ordinary_error_is_a_failure_that_may_be_retried
    result = run_step { raise ArgumentError, "on purpose" }
    assert_equal ["failed", true], [result["status"], result["metadata"]["retryable"]]
    assert_equal ["ArgumentError", "on purpose"], result["error"].values_at("type", "message")
    assert_equal %w[ArgumentError StandardError Exception], result["error"]["mro"]
    assert_match(/job_test\.rb/, result["error"]["backtrace"][0])
  end

  def test_a_permanent_error_is_not_retried
    result = run_step { raise Turnout::PermanentError, "never" }
    assert_equal ["failed", false], [result["status"], result["metadata"]["retryable"]]
  end

  def test_a_handler_may_ask_for_a_pause_before_the_next_attempt
    assert_equal 1500, run_step { raise Turnout::RetryAfter, 1.5 }["metadata"]["retry_after_ms"]
  end

  def test_a_handler_may_defer_itself
    result = run_step { raise Turnout::Defer.new(30, saved: { page: 2 }) }
    assert_equal "deferred", result["metadata"]["outcome"]
    assert_equal({ "seconds" => 30, "saved" => { "page" => 2 } }, result["metadata"]["deferral"])
  end

  def test_a_handler_may_choose_its_dependents
    assert_equal %w[a b], run_step { Turnout::Branch.new(:a, "b") }["metadata"]["chosen"]
  end

  def test_what_is_no_json_value_is_a_failure_that_says_so
    [Object.new, Float::NAN, "\xff", { a: [Object] }].each do |value|
      result = run_step { value }
      assert_equal ["failed", "Turnout::NotJson", false],
                   [result["status"], result["error"]["type"], result["metadata"]["retryable"]]
    end
  end

  def test_no_result_holds_text_that_no_hub_could_read
    binary = "caf\xC3\xA9 \xff".b
    message = run_step { raise binary }["error"]["message"]
    assert_equal "café \uFFFD", message
    assert_equal ["\uFFFD"], run_step { Turnout::Branch.new("\xff".b) }["metadata"]["chosen"]
    assert_equal "Turnout::NotJson", run_step { ["\xff".b.to_sym] }["error"]["type"]
  end

  def test_an_error_that_cannot_be_described_is_a_failure_all_the_same
    silent = Class.new(StandardError) { def message = raise("no") }
    assert_equal "failed", run_step { raise silent }["status"]
    unsayable = Class.new { def as_json(*) = raise("no") }
    result = run_step { raise Turnout::Defer.new(1, saved: unsayable.new) }
    assert_equal ["failed", false], [result["status"], result["metadata"]["retryable"]]
  end

  def test_pauses_and_progress_are_numbers
    [Float::NAN, Float::INFINITY, -1, "soon"].each do |wrong|
      assert_equal "ArgumentError", run_step { raise Turnout::RetryAfter, wrong }["error"]["type"]
      assert_equal "ArgumentError", run_step { raise Turnout::Defer, wrong }["error"]["type"]
    end
    [Float::NAN, "half"].each do |wrong|
      assert_equal "ArgumentError", run_step { |step| step.progress(wrong) }["error"]["type"]
      assert_equal "ArgumentError", run_step { |step| step.progress(1, wrong) }["error"]["type"]
    end
    run_step(progress: progress = []) { |step| step.progress(1r / 4, 2**70, "\xff".b) }
    assert_equal [[0.25, 2.0**70, "\uFFFD"]], progress
  end

  def test_integers_of_any_size_travel
    assert_equal 2**70, run_step { 2**70 }["output"]
  end

  def test_a_missing_handler_is_an_error_of_the_worker
    result = Turnout::Testing.run_step("Nobody", registry: Turnout::Registry.new)
    assert_equal %w[error handler_missing], [result["status"], result["metadata"]["outcome"]]
  end

  def test_exceptions_outside_standard_error_are_failures_too
    assert_equal "NotImplementedError", run_step { raise NotImplementedError }["error"]["type"]
    assert_equal "SystemExit", run_step { exit }["error"]["type"]
  end

  def test_a_handler_is_ended_at_its_timeout_even_if_it_rescues_errors
    result = run_step({ metadata: { timeout_ms: 50 } }) do
      begin
        sleep
      rescue StandardError
        "swallowed"
      end
    end
    assert_equal %w[failed timed_out], [result["status"], result["metadata"]["outcome"]]
  end

  def test_an_uninterrupted_part_runs_to_its_end_and_can_see_that_time_is_over
    seen = nil
    result = run_step({ metadata: { timeout_ms: 50 } }) do |step|
      step.uninterrupted do
        Thread.pass until step.cancelled?
        seen = "to its end"
      end
    end
    assert_equal "to its end", seen
    assert_equal "timed_out", result["metadata"]["outcome"]
  end

  def test_a_thread_is_clean_after_any_interruption
    # Interrupted at every possible moment, also before it begins and after it has ended.
    500.times do |number|
      registry = Turnout::Registry.new
      registry.register("x") { number.times { nil } }
      job = Turnout::Job.new(step("1.1", handler: "x"), registry, on_line: proc {}, on_progress: proc {})
      interrupter = Thread.new { job.interrupt(Turnout::Cancelled.new("stop")) }
      result = job.perform
      interrupter.join
      refute Thread.pending_interrupt?
      assert_includes [nil, "cancelled"], result["metadata"]["outcome"]
    end
  end

  def test_lines_and_progress_are_reported
    lines = []
    progress = []
    run_step(lines: lines, progress: progress) do |step|
      step.log("a\nb")
      step.logger.warn("c")
      step.progress(1, 2, "half")
    end
    assert_equal [%w[log a], %w[log b], ["log", "WARN: c"]], lines
    assert_equal [[1, 2, "half"]], progress
  end
end
