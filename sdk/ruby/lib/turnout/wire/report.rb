# frozen_string_literal: true

require "turnout/wire/messages"
require "turnout/wire/results"

module Turnout
  module Wire
    # What does a hub have to hear about the steps in hand, and when again? Questions, lines and results are repeated
    # until they are answered.
    class Report
      # New lines do not wait longer for the answer to those before.
      FLUSH = 0.5
      MOST_LINES_AT_ONCE = 1_000
      # Of text, so much of what a message may hold: the rest is for what escaping adds.
      SHARE_OF_TEXT = 0.125
      AROUND_A_LINE = 40

      def initialize(resend, most_bytes)
        @resend = resend
        @most_bytes = most_bytes
      end

      # Calls +say+ with kind and body of each message that is due; it answers whether the hub takes so much at once.
      def due(holdings, now, &say)
        ask(holdings, now, &say)
        holdings.each { |each| tell_lines(each, now, &say) unless each.lines.empty? }
        ended = holdings.select { |each| each.result && now - each.sent >= @resend }
        return if ended.empty?

        ended.each { |each| each.sent = now }
        ended.group_by(&:batch_id).each { |batch_id, some| answer(batch_id, some, &say) }
      end

      def next_due(holdings)
        holdings.map { |each| next_due_of(each) }.min || Float::INFINITY
      end

      private

      def next_due_of(each)
        due = Float::INFINITY
        due = each.asked + @resend if each.asking?
        due = [due, each.sent + @resend].min if each.result
        due = [due, lines_due(each)].min unless each.lines.empty?
        due
      end

      def lines_due(each)
        return NEVER if each.lines_out.zero?

        each.lines_sent + (each.lines.size > each.lines_out ? [FLUSH, @resend].min : @resend)
      end

      def ask(holdings, now)
        asking = holdings.select { |each| each.asking? && now - each.asked >= @resend }
        return if asking.empty?

        asking.each { |each| each.asked = now }
        yield "start", { "tokens" => asking.map(&:token) }
      end

      # Lines that are still here when the result goes are sent before it, all of them.
      def tell_lines(holding, now)
        last_word = holding.result && holding.lines.size > holding.lines_out && holding.sent == NEVER
        return unless last_word || now >= lines_due(holding)

        from = 0
        loop do
          some = portion(holding.lines, from)
          yield "log", { "token" => holding.token, "offset" => holding.offset + from, "lines" => some }
          from += some.size
          break unless holding.result && from < holding.lines.size
        end
        holding.lines_sent = now
        holding.lines_out = from
      end

      def portion(lines, from)
        bytes = 0
        some = lines[from, MOST_LINES_AT_ONCE].take_while do |line|
          bytes += line["text"].bytesize + AROUND_A_LINE
          bytes <= SHARE_OF_TEXT * @most_bytes
        end
        some.empty? ? lines[from, 1] : some
      end

      # A message that the hub would not take is divided; a single result that cannot be sent becomes a failure.
      def answer(batch_id, ended, &say)
        return if say.call("results", results(batch_id, ended))
        return ended.each { |each| answer(batch_id, [each], &say) } if ended.size > 1

        ended[0].result = unsendable(ended[0])
        say.call("results", results(batch_id, ended))
      end

      def results(batch_id, ended)
        { "batch_id" => batch_id, "protocol_version" => PROTOCOL, "results" => ended.map(&:result) }
      end

      def unsendable(holding)
        size = JSON.generate(holding.result).bytesize
        facts = holding.result["metadata"].slice("execution_time_ms", "handler_version").transform_keys(&:to_sym)
        Results.failed(holding.step, why(size), retryable: false, **facts)
      end

      def why(size)
        if size < @most_bytes / 2
          return { "type" => "NotJson", "message" => "its output cannot be said in the codec that was agreed" }
        end

        message = "its result is #{size} bytes; a message may have #{@most_bytes}: return a path or an address"
        { "type" => "TooLarge", "message" => message }
      end
    end
  end
end
