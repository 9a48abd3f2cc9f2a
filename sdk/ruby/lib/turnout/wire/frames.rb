# frozen_string_literal: true

require "zlib"
require "turnout/wire/codec"
require "turnout/wire/limits"
require "turnout/wire/messages"

module Turnout
  module Wire
    # Raised for frames that are not a message. The session with their sender ends.
    class Malformed < StandardError; end

    # Raised for a well-formed message of an unknown kind.
    class UnknownKind < StandardError
      attr_reader :session

      def initialize(kind, session)
        super("there is no message #{kind.inspect}")
        @session = session
      end
    end

    # A received message.
    Unpacked = Struct.new(:kind, :session, :body)

    # Packs a message into four frames (kind, session, body, check) and unpacks it.
    module Frames
      ALWAYS_JSON = %w[hello welcome error].freeze
      MAX_KIND_LENGTH = 32
      MAX_SESSION_LENGTH = 64

      module_function

      #   Frames.pack("drain", {"reason" => "deploy"}, "s1")
      #   # => ["drain", "s1", "{\"reason\":\"deploy\"}", "17b87713"]
      def pack(kind, body, session, codec = Codec::JSON)
        encoded = Codec.encode(ALWAYS_JSON.include?(kind) ? Codec::JSON : codec, body)
        [kind, session, encoded, check_of(kind, session, encoded)]
      end

      # Returns the message of these frames. Raises Malformed, OverLimit or UnknownKind, never anything else.
      def unpack(frames, codec = Codec::JSON)
        kind, session = envelope(frames)
        shape = Messages::SHAPES[kind] or raise UnknownKind.new(kind, session)
        body = Codec.decode(ALWAYS_JSON.include?(kind) ? Codec::JSON : codec, frames[2])
        Limits.check(kind, body)
        shape.check(body, kind)
        Unpacked.new(kind, session, body)
      end

      # Returns kind and session of frames whose check is right.
      def envelope(frames)
        raise Malformed, "#{frames.size} frames instead of 4" unless frames.size == 4

        kind, session, body, check = frames
        raise Malformed, "the check does not fit" unless check.b == check_of(kind, session, body)
        unless kind.bytesize.between?(1, MAX_KIND_LENGTH) && session.bytesize <= MAX_SESSION_LENGTH
          raise Malformed, "kind or session is empty or too long"
        end

        [ascii(kind), ascii(session)]
      end

      # Returns the checksum of a message, which detects changed bytes.
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
