# frozen_string_literal: true

require "turnout"
require "turnout/job"

module Turnout
  # Runs handlers without a hub and without sockets.
  module Testing
    module_function

    # Runs one step document against a handler (a registered name, a class, or anything with +call+) and returns the
    # result document. Fields that the document lacks are filled in. Lines and progress are added to the arrays.
    #
    #   result = Turnout::Testing.run_step(ShipOrder, "task_context" => {"order_id" => 7})
    #   result["status"]   # => "completed"
    def run_step(handler, document = {}, lines: [], progress: [], registry: Turnout.registry)
      registry, name = named(handler, registry)
      job = Job.new(
        complete(document, name), registry,
        on_line: ->(stream, text) { lines << [stream, text] },
        on_progress: ->(done, total, message) { progress << [done, total, message] }
      )
      within(job) { job.perform }
    end

    def named(handler, registry)
      return [registry, handler] if handler.is_a?(String)

      own = Registry.new
      own.register("handler", handler)
      [own, "handler"]
    end

    def complete(document, name)
      document = Plain.of(document)
      metadata = { "token" => "1.1", "attempt" => 0, "retry_limit" => 0 }.merge(document["metadata"] || {})
      defaults = { "step_id" => "1", "task_id" => "1", "step_name" => "step", "handler_class" => name,
                   "handler_config" => {}, "task_context" => {}, "previous_results" => {} }
      { **defaults, **document, "metadata" => metadata }
    end

    # Enforces the step's timeout.
    def within(job)
      milliseconds = job.document["metadata"]["timeout_ms"] or return yield
      watch = Thread.new do
        sleep(milliseconds / 1000.0)
        job.interrupt(TimedOut.new("not done after #{milliseconds} ms"))
      end
      yield
    ensure
      watch&.kill&.join
    end

    private_class_method :named, :complete, :within
  end
end
