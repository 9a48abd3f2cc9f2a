# frozen_string_literal: true

require "turnout/wire/messages"
require "turnout/wire/results"

module Turnout
  module Wire
    # Sends what is due about held steps: requests to start, lines and results, each repeated until it is
    # acknowledged.
    class Report
      # Seconds that new lines wait at most for the acknowledgement of those before.
      FLUSH_INTERVAL = 0.5
      MAX_LINES_AT_ONCE = 1_000
      # The share of a message that text may fill: escaping adds to it.
      TEXT_SHARE = 0.125
      LINE_OVERHEAD = 40

      def initialize(resend, max_bytes)
        @resend = resend
        @max_bytes = max_bytes
      end

      # Calls +send+ with kind and body of each message that is due; +send+ returns false for one over the size limit.
      def due(held_steps, now, &send)
        send_start(held_steps, now, &send)
        held_steps.each { |each| send_lines(each, now, &send) unless each.lines.empty? }
        ended = held_steps.select { |each| each.result && now - each.result_sent_at >= @resend }
        return if ended.empty?

        ended.each { |each| each.result_sent_at = now }
        ended.group_by(&:batch_id).each { |batch_id, some| send_results(batch_id, some, &send) }
      end

      def next_due(held_steps)
        held_steps.map { |each| next_due_of(each) }.min || Float::INFINITY
      end

      private

      def next_due_of(each)
        due = Float::INFINITY
        due = each.start_sent_at + @resend if each.needs_start?
        due = [due, each.result_sent_at + @resend].min if each.result
        due = [due, lines_due(each)].min unless each.lines.empty?
        due
      end

      def lines_due(each)
        return NEVER if each.unacknowledged_lines.zero?

        each.lines_sent_at + (each.lines.size > each.unacknowledged_lines ? [FLUSH_INTERVAL, @resend].min : @resend)
      end

      def send_start(held_steps, now)
        waiting = held_steps.select { |each| each.needs_start? && now - each.start_sent_at >= @resend }
        return if waiting.empty?

        waiting.each { |each| each.start_sent_at = now }
        yield "start", { "tokens" => waiting.map(&:token) }
      end

      # Sends the lines that are due; before a result is first sent, all of them.
      def send_lines(held_step, now)
        unsent = held_step.lines.size > held_step.unacknowledged_lines
        before_result = held_step.result && unsent && held_step.result_sent_at == NEVER
        return unless before_result || now >= lines_due(held_step)

        from = 0
        loop do
          some = lines_from(held_step.lines, from)
          yield "log", { "token" => held_step.token, "offset" => held_step.offset + from, "lines" => some }
          from += some.size
          break unless held_step.result && from < held_step.lines.size
        end
        held_step.lines_sent_at = now
        held_step.unacknowledged_lines = from
      end

      def lines_from(lines, from)
        bytes = 0
        some = lines[from, MAX_LINES_AT_ONCE].take_while do |line|
          bytes += line["text"].bytesize + LINE_OVERHEAD
          bytes <= TEXT_SHARE * @max_bytes
        end
        some.empty? ? lines[from, 1] : some
      end

      # Divides a message over the size limit. A single result that cannot be sent becomes a failure.
      def send_results(batch_id, ended, &send)
        return if send.call("results", results(batch_id, ended))
        return ended.each { |each| send_results(batch_id, [each], &send) } if ended.size > 1

        ended[0].result = unsendable(ended[0])
        send.call("results", results(batch_id, ended))
      end

      def results(batch_id, ended)
        { "batch_id" => batch_id, "protocol_version" => PROTOCOL, "results" => ended.map(&:result) }
      end

      def unsendable(held_step)
        size = JSON.generate(held_step.result).bytesize
        facts = held_step.result["metadata"].slice("execution_time_ms", "handler_version").transform_keys(&:to_sym)
        Results.failed(held_step.step, size_error(size), retryable: false, **facts)
      end

      def size_error(size)
        if size < @max_bytes / 2
          return { "type" => "NotJson", "message" => "its output cannot be encoded in the codec of the session" }
        end

        message = "its result is #{size} bytes; a message may have #{@max_bytes}: return a path or an address"
        { "type" => "TooLarge", "message" => message }
      end
    end
  end
end
