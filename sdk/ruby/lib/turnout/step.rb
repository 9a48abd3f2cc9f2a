# frozen_string_literal: true

require "logger"
require "turnout/errors"
require "turnout/plain"
require "turnout/values"

module Turnout
  # What a handler is given: the step's document, and ways to be heard while it runs.
  class Step
    # The document as it came, with text keys.
    attr_reader :document

    # +said+ takes (stream, text), +progressed+ takes (done, total, message); both may be called from any thread.
    def initialize(document, said:, progressed:, stopped: -> { false })
      @document = document
      @metadata = document["metadata"]
      @said = said
      @progressed = progressed
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

    # Everything else that the hub says about this attempt.
    def metadata = @values ||= Values.of(@metadata)

    # Known by this, in all the world, is this attempt: a fencing token.
    def token = @metadata["token"]
    # 0 is the first.
    def attempt = @metadata["attempt"] || 0
    def retry_limit = @metadata["retry_limit"] || 0
    # The same for all attempts of this step: give it to services that know such keys.
    def idempotency_key = @metadata["idempotency_key"]
    # What an earlier attempt put aside with Turnout::Defer.
    def saved = Values.of(@metadata["saved"])
    # A copy whose result is only compared: leave the world alone.
    def shadow? = @metadata["shadow"] == true

    # Whether the result is not wanted any more: the step was cancelled, or its time is over.
    def cancelled? = @stopped.call

    # Runs the block to its end: a cancellation or a timeout waits for it. Ask +cancelled?+ inside if it is long.
    def uninterrupted(&block) = Thread.handle_interrupt(Interruption => :never, &block)

    # How far it is. Shown to people, not kept.
    def progress(done, total = nil, message = "")
      done = number(done)
      total &&= number(total)
      uninterrupted { @progressed.call(done, total, Plain.readable(message)) }
      nil
    end

    # A line, or several, for the run's log.
    def log(text)
      Plain.readable(text).each_line(chomp: true) { |line| say("log", line) }
      nil
    end

    # One line of a stream: stdout, stderr or log.
    def say(stream, line) = uninterrupted { @said.call(stream, line) }

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
      number.finite? ? number : raise(ArgumentError, "progress(#{value}): that is no number")
    end
  end
end
