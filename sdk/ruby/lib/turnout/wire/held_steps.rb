# frozen_string_literal: true

require "turnout/wire/results"

module Turnout
  module Wire
    NEVER = -Float::INFINITY

    # One step that a worker holds.
    class HeldStep
      # The step document, its batch, the hub that gave it, and the time at which it was received.
      attr_reader :step, :token, :received_at, :lines
      attr_accessor :batch_id, :hub, :state, :granted, :start_wanted, :start_sent_at, :result,
                    :result_sent_at, :offset, :lines_sent_at, :unacknowledged_lines, :full

      def initialize(step, batch_id, hub, received_at)
        @step = step
        @token = step["metadata"]["token"]
        @batch_id = batch_id
        @hub = hub
        @received_at = received_at
        @state = "waiting"
        # True if the step needs no leave to begin, or has it.
        @granted = !step["metadata"]["confirm_start"]
        # True if a slot is free for it: leave to begin may be requested.
        @start_wanted = false
        @start_sent_at = @result_sent_at = @lines_sent_at = NEVER
        @lines = []
        # The number of lines that the hub has acknowledged, and of those that were sent and are not acknowledged.
        @offset = @unacknowledged_lines = 0
        @full = false
      end

      # True if the step needs leave to begin and could begin now.
      def needs_start? = waiting? && @start_wanted && !@granted
      def waiting? = @state == "waiting"
      def running? = @state == "running"
      def done? = @state == "done"
      def listed = { "token" => @token, "state" => @state }

      # True if its deadline has passed: its result is not needed, so it need not begin.
      def late?(now)
        milliseconds = @step["metadata"]["deadline_ms"]
        !milliseconds.nil? && now - @received_at >= milliseconds / 1000.0
      end
    end

    # Holds the steps of a worker over all its hubs. A token begins once; its result stays until it is acknowledged.
    class HeldSteps
      include Enumerable

      # Finished tokens that are remembered.
      MAX_REMEMBERED = 20_000
      # Lines of one attempt that wait for their acknowledgement; further lines are dropped, and the last line says so.
      MAX_LINES = 10_000
      MAX_LINE_BYTES = 64 * 1024

      def initialize
        @table = {}
        # Those that have not begun, in the order of their arrival.
        @waiting = {}
        # Those with a result, lines or a wish to begin which their hub may not have been sent.
        @changed = {}
        @finished = {}
        @done = 0
      end

      def [](token) = @table[token]
      def size = @table.size
      def empty? = @table.empty?
      def each(&block) = @table.each_value(&block)

      # The number of steps with a result.
      def unacknowledged = @done
      def waiting = @waiting.values

      # Returns the steps with news for their hub that were not returned before.
      def take_changed
        changed, @changed = @changed.values, {}
        changed
      end

      # Adds a step. Returns nil for a token that is held, or was: it does not begin again.
      def add(step, batch_id, hub, now)
        token = step["metadata"]["token"]
        return if @table.key?(token) || @finished.key?(token)

        @table[token] = @waiting[token] = HeldStep.new(step, batch_id, hub, now)
      end

      # Called when a slot is free for a step that needs leave to begin. A granted step counts as begun, even if this
      # worker dies.
      def request_start(token)
        held_step = @table.fetch(token)
        return if held_step.start_wanted

        held_step.start_wanted = true
        @changed[token] = held_step
      end

      # Called when the handler of a step is started.
      def begin(token)
        @waiting.delete(token).state = "running"
      end

      # Called when a step that was to begin may not begin any more now.
      def wait_again(token)
        held_step = @table[token]
        return unless held_step&.running?

        held_step.state = "waiting"
        @waiting = @table.select { |_token, each| each.waiting? }
      end

      # Records the result; the first one counts.
      def finish(token, result)
        held_step = @table[token]
        return if held_step.nil? || held_step.result

        held_step.result = result
        held_step.state = "done"
        held_step.result_sent_at = NEVER
        @done += 1
        @waiting.delete(token)
        @changed[token] = held_step
      end

      # Finishes a step that will not begin here.
      def return_step(token, reason)
        finish(token, Results.unable(@table.fetch(token).step, "returned", reason))
      end

      # Removes steps that no hub asks for any more. Returns the tokens that were running.
      def forget(tokens)
        running = tokens.select do |token|
          @finished[token] = true
          held_step = @table.delete(token) or next
          @done -= 1 if held_step.done?
          @waiting.delete(token)
          @changed.delete(token)
          held_step.running?
        end
        @finished.shift while @finished.size > MAX_REMEMBERED
        running
      end

      # Adds a line that the step's handler wrote.
      def add_line(token, stream, text)
        held_step = @table[token]
        return if held_step.nil? || held_step.full

        held_step.full = held_step.lines.size >= MAX_LINES
        line = held_step.full ? ["log", "… lines are missing here …"] : [stream, shortened(text)]
        held_step.lines << { "stream" => line[0], "text" => line[1] }
        @changed[token] = held_step
      end

      # Drops the lines before +next_line+, which the hub has.
      def acknowledge_lines(token, next_line)
        held_step = @table[token]
        return if held_step.nil?

        count = [next_line - held_step.offset, held_step.lines.size].min
        return unless count.positive?

        held_step.lines.shift(count)
        held_step.offset += count
        held_step.unacknowledged_lines = 0
        held_step.full = false
        held_step.lines_sent_at = NEVER
        @changed[token] = held_step
      end

      private

      def shortened(text) = text.bytesize > MAX_LINE_BYTES ? "#{text.byteslice(0, MAX_LINE_BYTES).scrub('')}…" : text
    end
  end
end
