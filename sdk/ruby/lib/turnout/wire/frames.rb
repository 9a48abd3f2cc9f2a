# frozen_string_literal: true

require "zlib"
require "turnout/wire/codec"
require "turnout/wire/limits"
require "turnout/wire/messages"

module Turnout
  module Wire
    # These frames are no message: whoever sent them is not to be trusted with a session.
    class Malformed < StandardError; end

    # A sound message of a kind that does not exist here.
    class UnknownKind < StandardError
      attr_reader :session

      def initialize(kind, session)
        super("there is no message #{kind.inspect}")
        @session = session
      end
    end

    # A message as it came.
    Unpacked = Struct.new(:kind, :session, :body)

    # How does a message become frames, and frames a message? Four of them: kind, session, body, check.
    module Frames
      ALWAYS_JSON = %w[hello welcome error].freeze
      LONGEST_KIND = 32
      LONGEST_SESSION = 64

      module_function

      #   Frames.pack("drain", {"reason" => "deploy"}, "s1")
      #   # => ["drain", "s1", "{\"reason\":\"deploy\"}", "17b87713"]
      def pack(kind, body, session, codec = Codec::JSON)
        encoded = Codec.encode(ALWAYS_JSON.include?(kind) ? Codec::JSON : codec, body)
        [kind, session, encoded, check_of(kind, session, encoded)]
      end

      # The message of these frames; raises Malformed, OverLimit or UnknownKind, never anything else.
      def unpack(frames, codec = Codec::JSON)
        kind, session = envelope(frames)
        shape = Messages::SHAPES[kind] or raise UnknownKind.new(kind, session)
        body = Codec.decode(ALWAYS_JSON.include?(kind) ? Codec::JSON : codec, frames[2])
        Limits.check(kind, body)
        shape.check(body, kind)
        Unpacked.new(kind, session, body)
      end

      # Kind and session, once the check has been found right.
      def envelope(frames)
        raise Malformed, "#{frames.size} frames instead of 4" unless frames.size == 4

        kind, session, body, check = frames
        raise Malformed, "the check does not fit" unless check.b == check_of(kind, session, body)
        unless kind.bytesize.between?(1, LONGEST_KIND) && session.bytesize <= LONGEST_SESSION
          raise Malformed, "kind or session is empty or too long"
        end

        [ascii(kind), ascii(session)]
      end

      # Bytes that were changed on their way are not taken for a message.
      def check_of(kind, session, body)
        format("%08x", Zlib.crc32(body, Zlib.crc32(session, Zlib.crc32(kind)))).b
      end

      def ascii(bytes)
        text = bytes.dup.force_encoding(Encoding::UTF_8)
        text.ascii_only? ? text : raise(Malformed, "kind and session are ASCII")
      end
    end
  end
end
