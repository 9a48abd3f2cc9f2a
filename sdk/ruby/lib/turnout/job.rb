# frozen_string_literal: true

require "turnout/branch"
require "turnout/errors"
require "turnout/plain"
require "turnout/registry"
require "turnout/step"
require "turnout/wire/results"

module Turnout
  # One step and its handler: runs once, in the thread that calls +perform+, and may be interrupted from another.
  #
  # An interruption is raised only between the handler's first and last line. The thread has no pending interruption
  # afterwards and can run another handler.
  class Job
    MAX_BACKTRACE = 20

    attr_reader :document, :step

    # +may_begin+ is called right before the handler and returns whether it may still begin.
    def initialize(document, registry, on_line:, on_progress:, may_begin: -> { true })
      @document = document
      @may_begin = may_begin
      @registry = registry
      @lock = Mutex.new
      @step = Step.new(document, on_line: on_line, on_progress: on_progress, stopped: -> { !@interruption.nil? })
    end

    def token = @document["metadata"]["token"]
    def interrupted? = !@interruption.nil?
    def may_begin? = interrupted? || @may_begin.call

    # Ends the handler with this Interruption, now or as soon as it begins. The first one counts.
    def interrupt(error)
      @lock.synchronize do
        next if @interruption

        @interruption = error
        @thread&.raise(error)
      end
    end

    # Runs the handler and returns the result document; never raises.
    def perform
      Thread.handle_interrupt(Interruption => :never) do
        began = Process.clock_gettime(Process::CLOCK_MONOTONIC)
        status, value = entered { |entry| outcome_of(entry) }
        took = ((Process.clock_gettime(Process::CLOCK_MONOTONIC) - began) * 1000).round(3)
        result_document(status, value, took)
      end
    end

    private

    def entered
      entry = @registry.find(@document["handler_class"])
      @version = entry.version
      @lock.synchronize { @thread = Thread.current unless @interruption }
      @thread ? yield(entry) : [:raised, @interruption]
    rescue HandlerMissing => error
      [:missing, error]
    ensure
      @lock.synchronize { @thread = nil }
      absorb
    end

    def outcome_of(entry)
      returned = Thread.handle_interrupt(Interruption => :immediate) { @registry.call(entry, @step) }
      branch = returned.is_a?(Branch) ? returned : nil
      @chosen = branch&.chosen&.map { |name| Plain.readable(name) }
      [:returned, Plain.of(branch ? branch.output : returned)]
    rescue Exception => error
      [:raised, error]
    end

    # Discards an interruption that was raised when the handler had just ended.
    def absorb
      Thread.handle_interrupt(Interruption => :immediate) { Thread.pass } while Thread.pending_interrupt?(Interruption)
    rescue Interruption
      retry
    end

    def result_document(status, value, took)
      facts = { execution_time_ms: took, handler_version: @version }
      return Wire::Results.unable(@document, "handler_missing", value.message) if status == :missing
      return interrupted(facts) if @interruption
      return Wire::Results.completed(@document, value, chosen: @chosen, **facts) if status == :returned

      raised(value, facts)
    end

    # An interruption counts also if the handler has returned: its result is not needed.
    def interrupted(facts)
      Wire::Results.unable(@document, @interruption.outcome, @interruption.message, retryable: true, **facts)
    end

    def raised(error, facts)
      case error
      when RetryAfter
        fail_with(error, retry_after_ms: (error.seconds * 1000).ceil, **facts)
      when Defer
        deferral = { "seconds" => error.seconds, "saved" => Plain.of(error.saved) }
        Wire::Results.unable(@document, "deferred", error.message, deferral: deferral, **facts)
      when PermanentError, NotJson
        fail_with(error, retryable: false, **facts)
      else
        fail_with(error, **facts)
      end
    rescue StandardError => not_encodable
      fail_with(not_encodable, retryable: false, **facts)
    end

    def fail_with(error, **facts)
      details = {
        "type" => error.class.name || error.class.to_s,
        "message" => message_of(error),
        # A task's retry_on and never_on are compared with all of them.
        "mro" => error.class.ancestors.grep(Class).take_while { |each| each != Object }.map(&:to_s),
        "backtrace" => (error.backtrace || []).first(MAX_BACKTRACE).map { |line| Plain.readable(line) }
      }
      Wire::Results.failed(@document, details, **facts)
    end

    # The method +message+ of an error may raise.
    def message_of(error)
      Plain.readable(error.message)
    rescue StandardError
      "the handler raised an error whose message cannot be read"
    end
  end
end
