# frozen_string_literal: true

require "stringio"
require "turnout/plain"
require "turnout/wire/holdings"

module Turnout
  class Worker
    # Stands in for $stdout or $stderr: what a handler's thread writes goes to its step, the rest where it went before.
    # Threads that a handler starts are not seen.
    class Capture
      CURRENT = :turnout_output

      # The unfinished lines of one step.
      class Lines
        # What is longer, and has no end yet, is told in pieces.
        LONGEST = Wire::Holdings::LONGEST_LINE

        def initialize(step)
          @step = step
          @rest = {}
        end

        # In bytes: a character may come in two pieces.
        def write(stream, bytes)
          @step.uninterrupted do
            *whole, rest = (@rest.fetch(stream, "".b) + bytes).split("\n", -1)
            whole.push(rest.slice!(0, LONGEST)) while rest && rest.bytesize > LONGEST
            whole.each { |line| say(stream, line) }
            @rest[stream] = rest || "".b
          end
        end

        def finish
          @rest.each { |stream, rest| say(stream, rest) unless rest.empty? }
        end

        private

        def say(stream, line) = @step.say(stream, Plain.readable(line))
      end

      # Handlers' output goes to their steps while the block runs.
      def self.install
        before = [$stdout, $stderr]
        $stdout = new($stdout, "stdout")
        $stderr = new($stderr, "stderr")
        yield
      ensure
        $stdout, $stderr = before
      end

      # What this thread writes belongs to the step.
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

      # Everything else is a question about the real one.
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
