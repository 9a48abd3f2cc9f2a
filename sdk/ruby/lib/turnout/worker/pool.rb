# frozen_string_literal: true

require "turnout/job"
require "turnout/worker/capture"

module Turnout
  class Worker
    # Who runs the handlers? As many threads as the worker has places. A thread that cannot be stopped keeps its place,
    # so that there are never more handlers than places.
    class Pool
      # A handler at work; +deadline+ is when something has to be done about it next.
      Running = Struct.new(:job, :deadline, :stopping, :given_up)

      # +ended+ is called with token and result document, in the thread of the handler; without a result if it was too
      # late to begin.
      def initialize(places, grace, &ended)
        @places = places
        @grace = grace
        @ended = ended
        @running = {}
        @queue = Queue.new
        @threads = Array.new(places) { |number| Thread.new { serve(number) } }
      end

      def free = @places - @running.size
      def running = @running.size

      # Nothing runs but what cannot be stopped.
      def idle? = @running.size == stuck

      # Places whose handlers should have ended and have not.
      def stuck = @stuck ||= @running.count { |_token, each| each.given_up }

      def start(job, now)
        milliseconds = job.document["metadata"]["timeout_ms"]
        @running[job.token] = Running.new(job, milliseconds && now + milliseconds / 1000.0, false, false)
        @queue << job
      end

      # The handler of this token is over.
      def release(token)
        @stuck = nil if @running.delete(token)&.given_up
      end

      # End this handler; it has a grace to do so.
      def stop(token, error, now)
        running = @running[token]
        return if running.nil? || running.stopping

        running.stopping = error
        running.deadline = now + @grace
        running.job.interrupt(error)
      end

      # Ends handlers whose time is over; yields job and Interruption of those that did not end.
      def tick(now)
        @running.each do |token, running|
          next if running.deadline.nil? || running.deadline > now

          if running.stopping
            running.deadline = nil
            running.given_up = true
            @stuck = nil
            yield running.job, running.stopping
          else
            milliseconds = running.job.document["metadata"]["timeout_ms"]
            stop(token, TimedOut.new("not done after #{milliseconds} ms"), now)
          end
        end
      end

      def next_due = @running.each_value.filter_map(&:deadline).min || Float::INFINITY

      # All handlers have ended.
      def close
        @queue.close
        @threads.each(&:join)
      end

      # Handlers that still run are ended without a word.
      def kill
        @queue.close
        @threads.each(&:kill)
      end

      private

      def serve(number)
        Thread.current.name = "turnout-#{number}"
        job = nil
        Thread.handle_interrupt(Interruption => :never) do
          while (job = @queue.pop)
            # Another handler may have kept the interpreter to itself since this one had its turn.
            @ended.call(job.token, (Capture.during(job.step) { job.perform } if job.fit?))
            job = nil
          end
        end
      ensure
        replace(number, job) if job && !@queue.closed?
      end

      # The handler has ended its own thread.
      def replace(number, job)
        @threads[number] = Thread.new { serve(number) }
        @ended.call(job.token, Wire::Results.unable(job.document, "crashed", "the handler ended its thread"))
      end
    end
  end
end
