# frozen_string_literal: true

require "logger"
require "turnout/errors"
require "turnout/plain"
require "turnout/values"

module Turnout
  # The argument of a handler: the step's document, with methods for progress and log lines.
  class Step
    # The document as received, with text keys.
    attr_reader :document

    # +on_line+ takes (stream, text), +on_progress+ takes (done, total, message); both may be called from any thread.
    def initialize(document, on_line:, on_progress:, stopped: -> { false })
      @document = document
      @metadata = document["metadata"]
      @on_line = on_line
      @on_progress = on_progress
      @stopped = stopped
    end

    def id = @document["step_id"]
    def name = @document["step_name"]
    def task_id = @document["task_id"]
    def handler_class = @document["handler_class"]

    # The handler's own settings, as the workflow gives them.
    def config = @config ||= Values.of(@document["handler_config"] || {})

    # The input of the run.
    def context = @context ||= Values.of(@document["task_context"])

    # The outputs of the steps that this one depends on, by name.
    def previous = @previous ||= Values.of(@document["previous_results"] || {})

    # The arguments of this step, by name; those without names are in +positional+.
    def args = @args ||= Values.of(@metadata["args"] || {})
    def positional = @positional ||= Values.of(@metadata["positional"] || [])

    # All metadata of this attempt.
    def metadata = @values ||= Values.of(@metadata)

    # The unique id of this attempt: a fencing token.
    def token = @metadata["token"]
    # 0 is the first.
    def attempt = @metadata["attempt"] || 0
    def retry_limit = @metadata["retry_limit"] || 0
    # The same for all attempts of this step: pass it to services that support such keys.
    def idempotency_key = @metadata["idempotency_key"]
    # The header of W3C Trace Context for requests of the handler; nil unless telemetry is on.
    def traceparent = @metadata["traceparent"]
    # The value that an earlier attempt saved with Turnout::Defer.
    def saved = Values.of(@metadata["saved"])
    # True for a copy whose result is only compared: it must have no side effects.
    def shadow? = @metadata["shadow"] == true

    # True once the result is no longer needed: the step was cancelled, or has timed out.
    def cancelled? = @stopped.call

    # Runs the block to its end: a cancellation or a timeout waits for it. Check +cancelled?+ inside if it is long.
    def uninterrupted(&block) = Thread.handle_interrupt(Interruption => :never, &block)

    # Reports progress, which is shown to people and not stored.
    def progress(done, total = nil, message = "")
      done = number(done)
      total &&= number(total)
      uninterrupted { @on_progress.call(done, total, Plain.readable(message)) }
      nil
    end

    # Writes one or more lines to the run's log.
    def log(text)
      Plain.readable(text).each_line(chomp: true) { |line| write_line("log", line) }
      nil
    end

    # Writes one line of a stream: stdout, stderr or log.
    def write_line(stream, line) = uninterrupted { @on_line.call(stream, line) }

    # A Logger whose lines go to the run's log.
    def logger
      @logger ||= Logger.new(Device.new(self), formatter: lambda do |severity, _time, _program, message|
        "#{severity}: #{message}"
      end)
    end

    # Where a Logger writes.
    Device = Struct.new(:step) do
      def write(text) = step.log(text)
      def close; end
    end

    private

    def number(value)
      number = value.is_a?(Integer) && value.bit_length < 64 ? value : Float(value)
      number.finite? ? number : raise(ArgumentError, "progress(#{value}): not a number")
    end
  end
end
