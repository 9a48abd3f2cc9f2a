# frozen_string_literal: true

require "turnout/wire/results"

module Turnout
  module Wire
    NEVER = -Float::INFINITY

    # One step that a worker has in hand.
    class Holding
      # The document as it came; the batch that it came in; the hub that gave it; when.
      attr_reader :step, :token, :arrived, :lines
      attr_accessor :batch_id, :hub, :state, :granted, :asks, :asked, :result, :sent, :offset, :lines_sent, :lines_out, :full

      def initialize(step, batch_id, hub, arrived)
        @step = step
        @token = step["metadata"]["token"]
        @batch_id = batch_id
        @hub = hub
        @arrived = arrived
        @state = "waiting"
        # It needs no leave to begin, or has it.
        @granted = !step["metadata"]["confirm_start"]
        # There is a place for it: leave may be asked for.
        @asks = false
        @asked = @sent = @lines_sent = NEVER
        @lines = []
        # How many lines came before these, and how many of these are under way.
        @offset = @lines_out = 0
        @full = false
      end

      # Whether it needs leave to begin, and could begin now.
      def asking? = waiting? && @asks && !@granted
      def waiting? = @state == "waiting"
      def running? = @state == "running"
      def done? = @state == "done"
      def listed = { "token" => @token, "state" => @state }

      # When nobody would want its result any more, so that it need not begin; nil: always wanted.
      def deadline
        milliseconds = @step["metadata"]["deadline_ms"]
        milliseconds && @arrived + milliseconds / 1000.0
      end
    end

    # What does a worker have in hand, over all its hubs? A token begins once; its result stays until somebody has it.
    class Holdings
      include Enumerable

      # Tokens that are finished and known to be.
      REMEMBERED = 20_000
      # Lines of one attempt that wait for their acknowledgement; what comes then is dropped, and the last line says so.
      MOST_LINES = 10_000
      LONGEST_LINE = 64 * 1024

      def initialize
        @table = {}
        @finished = {}
      end

      def [](token) = @table[token]
      def size = @table.size
      def empty? = @table.empty?
      def each(&block) = @table.each_value(&block)

      # The holding if it is new, nil if not: a token that is here, or was, does not begin again.
      def take(step, batch_id, hub, now)
        token = step["metadata"]["token"]
        return if @table.key?(token) || @finished.key?(token)

        @table[token] = Holding.new(step, batch_id, hub, now)
      end

      # Its result is there; the first one counts.
      def finish(token, result)
        holding = @table[token]
        return if holding.nil? || holding.result

        holding.result = result
        holding.state = "done"
        holding.sent = NEVER
      end

      # It will not begin here.
      def give_back(token, reason)
        finish(token, Results.unable(@table.fetch(token).step, "returned", reason))
      end

      # Nobody asks for these any more; returns those that were running.
      def forget(tokens)
        running = tokens.select do |token|
          @finished[token] = true
          @table.delete(token)&.running?
        end
        @finished.shift while @finished.size > REMEMBERED
        running
      end

      # A line that the step's handler wrote.
      def say(token, stream, text)
        holding = @table[token]
        return if holding.nil? || holding.full

        holding.full = holding.lines.size >= MOST_LINES
        line = holding.full ? ["log", "… lines are missing here …"] : [stream, shortened(text)]
        holding.lines << { "stream" => line[0], "text" => line[1] }
      end

      # The hub has all lines before this one.
      def logged(token, next_line)
        holding = @table[token]
        return if holding.nil?

        count = [next_line - holding.offset, holding.lines.size].min
        return unless count.positive?

        holding.lines.shift(count)
        holding.offset += count
        holding.lines_out = 0
        holding.full = false
        holding.lines_sent = NEVER
      end

      private

      def shortened(text) = text.bytesize > LONGEST_LINE ? "#{text.byteslice(0, LONGEST_LINE).scrub('')}…" : text
    end
  end
end
