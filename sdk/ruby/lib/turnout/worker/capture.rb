# frozen_string_literal: true

require "stringio"

module Turnout
  class Worker
    # Stands in for $stdout or $stderr: what a handler's thread writes goes to its step, the rest where it went before.
    # Threads that a handler starts are not seen.
    class Capture
      CURRENT = :turnout_output

      # The unfinished lines of one step.
      class Lines
        def initialize(step)
          @step = step
          @rest = {}
        end

        def write(stream, text)
          @step.uninterrupted do
            *whole, @rest[stream] = "#{@rest[stream]}#{text}".scrub.split("\n", -1)
            whole.each { |line| @step.say(stream, line) }
          end
        end

        def finish
          @rest.each { |stream, rest| @step.say(stream, rest) unless rest.nil? || rest.empty? }
        end
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

        text = texts.join
        lines.write(@stream, text)
        text.bytesize
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

      def formatted
        text = StringIO.new
        result = yield text
        write(text.string)
        result
      end
    end
  end
end
