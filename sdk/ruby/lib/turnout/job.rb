# frozen_string_literal: true

require "turnout/branch"
require "turnout/errors"
require "turnout/plain"
require "turnout/registry"
require "turnout/step"
require "turnout/wire/results"

module Turnout
  # One step and its handler: runs once, in whatever thread calls +perform+, and may be interrupted from another.
  #
  # An interruption can only arrive between the handler's first and last line; whatever it meets there, the thread
  # that ran the handler is clean afterwards and can run another.
  class Job
    BACKTRACE = 20

    attr_reader :document, :step

    # +fit+ tells, right before the handler is called, whether it is still right to begin.
    def initialize(document, registry, said:, progressed:, fit: -> { true })
      @document = document
      @fit = fit
      @registry = registry
      @lock = Mutex.new
      @step = Step.new(document, said: said, progressed: progressed, stopped: -> { !@interruption.nil? })
    end

    def token = @document["metadata"]["token"]
    def interrupted? = !@interruption.nil?
    def fit? = interrupted? || @fit.call

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
        write_down(status, value, took)
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

    # An interruption that came when the handler had just ended must not meet the next one.
    def absorb
      Thread.handle_interrupt(Interruption => :immediate) { Thread.pass } while Thread.pending_interrupt?(Interruption)
    rescue Interruption
      retry
    end

    def write_down(status, value, took)
      facts = { execution_time_ms: took, handler_version: @version }
      return Wire::Results.unable(@document, "handler_missing", value.message) if status == :missing
      return interrupted(facts) if @interruption
      return Wire::Results.completed(@document, value, chosen: @chosen, **facts) if status == :returned

      raised(value, facts)
    end

    # It counts also if the handler returned all the same: nobody waits for what it says.
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
    rescue StandardError => unsayable
      fail_with(unsayable, retryable: false, **facts)
    end

    def fail_with(error, **facts)
      said = {
        "type" => error.class.name || error.class.to_s,
        "message" => message_of(error),
        # A task's retry_on and never_on are compared with all of them.
        "mro" => error.class.ancestors.grep(Class).take_while { |each| each != Object }.map(&:to_s),
        "backtrace" => (error.backtrace || []).first(BACKTRACE).map { |line| Plain.readable(line) }
      }
      Wire::Results.failed(@document, said, **facts)
    end

    # Some errors do not like to be looked at.
    def message_of(error)
      Plain.readable(error.message)
    rescue StandardError
      "the handler raised an error that cannot be written down"
    end
  end
end
