# frozen_string_literal: true

require "stringio"
require "turnout/plain"
require "turnout/wire/held_steps"

module Turnout
  class Worker
    # Replaces $stdout or $stderr: output of a handler's thread goes to its step, other output to the original stream.
    # Output of threads that a handler starts is not captured.
    class Capture
      CURRENT = :turnout_output

      # The unfinished lines of one step.
      class Lines
        # A longer line without an end is sent in pieces.
        MAX_BYTES = Wire::HeldSteps::MAX_LINE_BYTES

        def initialize(step)
          @step = step
          @rest = {}
        end

        # In bytes: a character may come in two pieces.
        def write(stream, bytes)
          @step.uninterrupted do
            *complete, rest = (@rest.fetch(stream, "".b) + bytes).split("\n", -1)
            complete.push(rest.slice!(0, MAX_BYTES)) while rest && rest.bytesize > MAX_BYTES
            complete.each { |line| write_line(stream, line) }
            @rest[stream] = rest || "".b
          end
        end

        def finish
          @rest.each { |stream, rest| write_line(stream, rest) unless rest.empty? }
        end

        private

        def write_line(stream, line) = @step.write_line(stream, Plain.readable(line))
      end

      # Captures the output of handlers while the block runs.
      def self.install
        before = [$stdout, $stderr]
        $stdout = new($stdout, "stdout")
        $stderr = new($stderr, "stderr")
        yield
      ensure
        $stdout, $stderr = before
      end

      # Output of this thread goes to the step while the block runs.
      def self.during(step)
        lines = Lines.new(step)
        Thread.current.thread_variable_set(CURRENT, lines)
        yield
      ensure
        Thread.current.thread_variable_set(CURRENT, nil)
        lines.finish
      end

      def initialize(io, stream)
        @io = io
        @stream = stream
      end

      def write(*texts)
        lines = Thread.current.thread_variable_get(CURRENT)
        return @io.write(*texts) if lines.nil?

        bytes = texts.map { |text| bytes_of(text.to_s) }.join
        lines.write(@stream, bytes)
        bytes.bytesize
      end

      def puts(*values) = formatted { |text| text.puts(*values) }
      def print(*values) = formatted { |text| text.print(*values) }
      def printf(*values) = formatted { |text| text.printf(*values) }
      def putc(value) = formatted { |text| text.putc(value) }

      def <<(value)
        write(value.to_s)
        self
      end

      def respond_to_missing?(name, all = false) = @io.respond_to?(name, all)

      # All other methods are those of the original stream.
      def method_missing(name, ...) = @io.public_send(name, ...)

      private

      def bytes_of(text) = (Plain::BYTES.include?(text.encoding) ? text : Plain.readable(text)).b

      def formatted
        text = StringIO.new
        result = yield text
        write(text.string)
        result
      end
    end
  end
end
