# frozen_string_literal: true

module Turnout
  module Wire
    # Raised for a message with a list over its limit.
    class OverLimit < StandardError; end

    # Bounds of what one message may hold, the same in every language (docs/reference/protocol.md): more is over the limit, whatever
    # its size in bytes.
    module Limits
      # Objects and lists inside one another.
      MAX_DEPTH = 200
      MAX_ENTRIES = 5_000
      MAX_TOKENS = 200_000
      MAX_NAMES = 1_000

      # By the name of a field, in every message that has it.
      LISTS = {
        "results" => MAX_ENTRIES, "steps" => MAX_ENTRIES, "lines" => MAX_ENTRIES,
        "tokens" => MAX_TOKENS, "in_flight" => MAX_TOKENS, "keep" => MAX_TOKENS, "release" => MAX_TOKENS,
        "granted" => MAX_TOKENS, "denied" => MAX_TOKENS,
        "versions" => MAX_NAMES, "codecs" => MAX_NAMES, "hubs" => MAX_NAMES
      }.freeze

      module_function

      # Raises OverLimit if a list of the body is too long; its members are not read before.
      def check(kind, body)
        return unless body.is_a?(Hash)

        LISTS.each do |field, most|
          size = body[field].is_a?(Array) ? body[field].size : 0
          raise OverLimit, "#{kind} has #{size} #{field}; the limit is #{most}" if size > most
        end
      end
    end
  end
end
