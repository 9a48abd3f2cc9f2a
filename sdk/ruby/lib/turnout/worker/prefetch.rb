# frozen_string_literal: true

require "turnout/wire/held_steps"

module Turnout
  class Worker
    # Decides how many steps a worker asks for: twice its slots, and more if steps are quick. It counts the steps that end,
    # and the seconds in which any ran: a worker that waits for its hub has too few. Long handlers end seldom, so nothing
    # is prefetched behind them.
    class Prefetch
      # Credits for each slot, so that the next step is there when a slot becomes free.
      CREDITS_PER_SLOT = 2
      # Seconds of work to prefetch: enough to hide the round trip to the hub and a commit, and too short to matter if
      # another worker could have begun it.
      HORIZON = 0.2
      # At most so many times as many as ended since the last tick: a worker that is seldom used prefetches little, however
      # quick its handlers are.
      MAX_GROWTH = 4
      MAX_AHEAD = 512
      # The prefetched share shrinks to no less than this part of itself per tick: loads come in bursts.
      FADING = 0.7
      TICK_INTERVAL = 0.2
      # Seconds after which prefetched steps that still wait are returned to their hub.
      RETURN_TIMEOUT = 1.0

      # Returns prefetched steps that have waited for RETURN_TIMEOUT. As many as there are slots may wait without limit,
      # and so may those that have asked for leave to begin.
      def self.waiting_too_long(waiting, slots, now)
        (waiting[slots..] || []).select { |each| !each.start_wanted && now - each.received_at > RETURN_TIMEOUT }
      end

      def initialize
        @ended = 0
        @ticked = Wire::NEVER
        @ahead = 0.0
        @busy = false
        @busy_since = @busy_seconds = 0.0
      end

      # Called for each step that ends.
      def ended = @ended += 1

      # Called in every round: +running+ is true if any handler runs from now on.
      def busy(running, now)
        @busy_seconds += now - @busy_since if @busy
        @busy = running
        @busy_since = now
      end

      def due?(now) = now - @ticked >= TICK_INTERVAL

      def tick(slots, now)
        busy(@busy, now)
        able = @ended * [MAX_GROWTH, HORIZON / [0.001, @busy_seconds].max].min
        @ahead = [MAX_AHEAD, [able - slots, @ahead * FADING].max].min
        @ended = 0
        @busy_seconds = 0.0
        @ticked = now
      end

      # Returns how many steps to ask for in all with so many slots.
      def credits(slots) = slots.positive? ? CREDITS_PER_SLOT * slots + @ahead.to_i : 0

      # Returns the time of the next tick. A worker that holds nothing needs none, once nothing is prefetched.
      def next_due(idle) = idle && @ahead < 1 ? Float::INFINITY : @ticked + TICK_INTERVAL
    end
  end
end
