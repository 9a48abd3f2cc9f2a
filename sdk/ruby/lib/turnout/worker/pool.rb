# frozen_string_literal: true

require "turnout/job"
require "turnout/worker/capture"

module Turnout
  class Worker
    # Runs handlers in as many threads as the worker has slots. A thread that cannot be stopped keeps its slot, so that
    # there are never more handlers than slots.
    #
    # At most one thread is woken at a time, and the one that wakes wakes the next if there is another job. While handlers
    # keep the VM lock, one thread therefore runs all of them, without a switch between threads for each; as soon as one
    # waits for something, the next is at work.
    class Pool
      # A running handler; +deadline+ is the time of its next check.
      Running = Struct.new(:job, :deadline, :stopping, :stuck)

      # +ended+ is called with token and result document, in the thread of the handler; without a result if it may
      # not begin any more.
      def initialize(slots, grace, &ended)
        @slots = slots
        @grace = grace
        @ended = ended
        @running = {}
        @jobs = []
        # Idle threads wait on it: a member is a call to look for a job.
        @calls = Queue.new
        # True if there is a call that no thread has followed yet.
        @calling = false
        @threads = Array.new(slots) { |number| Thread.new { serve(number) } }
      end

      def free = @slots - @running.size
      def running = @running.size

      # True if only stuck handlers run.
      def idle? = @running.size == stuck

      # The number of handlers that were ended and have not returned.
      def stuck = @stuck ||= @running.count { |_token, each| each.stuck }

      def start(job, now)
        milliseconds = job.document["metadata"]["timeout_ms"]
        @running[job.token] = Running.new(job, milliseconds && now + milliseconds / 1000.0, false, false)
        @jobs << job
        call_thread
      end

      # Frees the slot of this token.
      def release(token)
        @stuck = nil if @running.delete(token)&.stuck
      end

      # Interrupts this handler; it has the grace period to end.
      def stop(token, error, now)
        running = @running[token]
        return if running.nil? || running.stopping

        running.stopping = error
        running.deadline = now + @grace
        running.job.interrupt(error)
      end

      # Interrupts handlers whose timeout has passed; yields job and Interruption of those that are stuck.
      def tick(now)
        @running.each do |token, running|
          next if running.deadline.nil? || running.deadline > now

          if running.stopping
            running.deadline = nil
            running.stuck = true
            @stuck = nil
            yield running.job, running.stopping
          else
            milliseconds = running.job.document["metadata"]["timeout_ms"]
            stop(token, TimedOut.new("not done after #{milliseconds} ms"), now)
          end
        end
      end

      def next_due = @running.each_value.filter_map(&:deadline).min || Float::INFINITY

      # Called when all handlers have ended.
      def close
        @calls.close
        @threads.each(&:join)
      end

      # Kills the threads of handlers that still run.
      def kill
        @calls.close
        @threads.each(&:kill)
      end

      private

      def serve(number)
        Thread.current.name = "turnout-#{number}"
        job = nil
        Thread.handle_interrupt(Interruption => :never) do
          while (job = next_job)
            # Another handler may have held the VM lock since this one was queued.
            @ended.call(job.token, (Capture.during(job.step) { job.perform } if job.may_begin?))
            job = nil
          end
        end
      ensure
        replace(number, job) if job && !@calls.closed?
      end

      # Returns the next job, waiting for it; nil if the pool is closed.
      def next_job
        until (job = @jobs.shift)
          @calls.pop or return
          # Cleared before the next look: what was added while it was set is found.
          @calling = false
        end
        call_thread unless @jobs.empty?
        job
      end

      def call_thread
        return if @calling || @calls.closed?

        @calling = true
        @calls << true
      end

      # Replaces a thread that its handler has ended.
      def replace(number, job)
        @threads[number] = Thread.new { serve(number) }
        @ended.call(job.token, Wire::Results.unable(job.document, "crashed", "the handler ended its thread"))
      end
    end
  end
end
