# frozen_string_literal: true

require "json"
require "turnout/wire/limits"

begin
  require "msgpack"
rescue LoadError
  # JSON is enough for everything; MessagePack is only agreed on where both sides have it.
end

module Turnout
  module Wire
    # How does a body become bytes, and bytes a body?
    module Codec
      JSON = "json"
      MSGPACK = "msgpack"
      # In order of liking: JSON says whole numbers of any size.
      NAMES = (defined?(::MessagePack) ? [JSON, MSGPACK] : [JSON]).freeze

      module_function

      def encode(codec, value)
        codec == MSGPACK ? ::MessagePack.pack(value) : ::JSON.generate(value, max_nesting: Limits::MAX_DEPTH).b
      end

      # Raises Malformed, never anything else.
      def decode(codec, bytes)
        codec == MSGPACK ? ::MessagePack.unpack(bytes) : decode_json(bytes)
      rescue ::JSON::JSONError, EncodingError, ArgumentError, RangeError, EOFError, NoMemoryError => error
        # NoMemoryError: MessagePack believes the length of a list before it has seen its members.
        raise Malformed, error.message.scrub[0, 200]
      rescue StandardError => error
        raise unless error.class.name.start_with?("MessagePack::")

        raise Malformed, "#{error.class.name}: #{error.message}".scrub[0, 200]
      end

      def decode_json(bytes)
        text = bytes.dup.force_encoding(Encoding::UTF_8)
        raise Malformed, "the body is not UTF-8" unless text.valid_encoding?

        ::JSON.parse(text, max_nesting: Limits::MAX_DEPTH)
      end
    end
  end
end
