# frozen_string_literal: true

require "json"
require "turnout/wire/limits"

begin
  require "msgpack"
rescue LoadError
  # MessagePack is optional: a hub chooses it only if the worker offers it.
end

module Turnout
  module Wire
    # Encodes and decodes the bodies of messages.
    module Codec
      JSON = "json"
      MSGPACK = "msgpack"
      # In order of preference: JSON has integers of any size.
      NAMES = (defined?(::MessagePack) ? [JSON, MSGPACK] : [JSON]).freeze

      module_function

      def encode(codec, value)
        codec == MSGPACK ? ::MessagePack.pack(value) : ::JSON.generate(value, max_nesting: Limits::MAX_DEPTH).b
      end

      # Raises Malformed, never anything else.
      def decode(codec, bytes)
        codec == MSGPACK ? ::MessagePack.unpack(bytes) : decode_json(bytes)
      rescue ::JSON::JSONError, EncodingError, ArgumentError, RangeError, EOFError, NoMemoryError => error
        # NoMemoryError: MessagePack allocates the stated length of a list before it reads its members.
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
