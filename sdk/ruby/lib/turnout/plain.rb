# frozen_string_literal: true

require "date"
require "time"
require "turnout/errors"

module Turnout
  # Converts a handler's return value to JSON values; a value without an obvious form is refused.
  module Plain
    BYTES = [Encoding::UTF_8, Encoding::BINARY, Encoding::US_ASCII].freeze
    MAX_DEPTH = 100

    module_function

    #   Plain.of({at: Date.new(2026, 1, 31), tags: Set[:new]})   # => {"at" => "2026-01-31", "tags" => ["new"]}
    def of(value, depth = 0)
      raise NotJson, "the handler returned values nested more than #{MAX_DEPTH} deep" if depth > MAX_DEPTH

      case value
      when nil, true, false, Integer then value
      when String then text(value)
      when Symbol then text(value.name)
      when Float then value.finite? ? value : refuse(value, "a number that JSON does not have")
      when Hash then value.to_h { |key, each| [text(key.to_s), of(each, depth + 1)] }
      when Array then value.map { |each| of(each, depth + 1) }
      else converted(value, depth)
      end
    end

    def converted(value, depth)
      case value
      when Time, Date then value.iso8601
      when Struct then of(value.to_h, depth)
      when ->(each) { defined?(::BigDecimal) && each.is_a?(::BigDecimal) } then value.to_s("F")
      when ->(each) { each.respond_to?(:as_json) } then of(value.as_json, depth + 1)
      when Enumerable then of(value.to_a, depth)
      else refuse(value, "a #{value.class}")
      end
    end

    def text(value)
      utf8 = value.encode(Encoding::UTF_8)
      utf8.valid_encoding? ? utf8 : refuse(value, "text that is not UTF-8")
    rescue EncodingError
      refuse(value, "text that is not UTF-8")
    end

    # Returns valid UTF-8 text; other bytes are replaced.
    def readable(text)
      text = text.to_s
      return text.dup.force_encoding(Encoding::UTF_8).scrub if BYTES.include?(text.encoding)

      text.encode(Encoding::UTF_8, invalid: :replace, undef: :replace)
    end

    def refuse(value, what)
      raise NotJson, "the handler returned #{what} (#{value.inspect.scrub[0, 80]}), which is not a JSON value"
    end
  end
end
