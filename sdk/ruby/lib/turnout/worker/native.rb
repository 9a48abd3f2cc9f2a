# frozen_string_literal: true

require "ffi-rzmq"

module Turnout
  class Worker
    # Calls of libzmq that return at once, without releasing the VM lock.
    #
    # ffi-rzmq releases it in every call, also in those that never block; each time, a handler that computes may hold it
    # for a tenth of a second. A message of four frames would take seconds.
    module Native
      extend FFI::Library
      ffi_lib LibZMQ.ffi_libraries.map(&:name)

      attach_function :zmq_send, %i[pointer buffer_in size_t int], :int
      attach_function :zmq_msg_init, %i[pointer], :int
      attach_function :zmq_msg_recv, %i[pointer pointer int], :int
      attach_function :zmq_msg_data, %i[pointer], :pointer
      attach_function :zmq_msg_more, %i[pointer], :int
      attach_function :zmq_msg_close, %i[pointer], :int
      attach_function :zmq_getsockopt, %i[pointer int pointer pointer], :int
      attach_function :zmq_curve_public, %i[pointer pointer], :int

      # The public half of a secret key, both as Z85 text.
      def self.curve_public(secret)
        found = FFI::MemoryPointer.new(:char, 41)
        found.read_string if zmq_curve_public(found, FFI::MemoryPointer.from_string(secret)).zero?
      end
    end
  end
end
