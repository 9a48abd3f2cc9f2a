# frozen_string_literal: true

require "support"
require "turnout/worker/prefetch"

class PrefetchTest < Minitest::Test
  include Support

  Prefetch = Turnout::Worker::Prefetch

  def setup
    @prefetch = Prefetch.new
    after(0, 8, 0)
  end

  # Returns the credits of a worker with so many slots at this tick, when so many steps have ended since the last and
  # handlers ran for +busy+ seconds.
  def after(ended, slots, ticks, busy: Prefetch::TICK_INTERVAL)
    now = ticks * Prefetch::TICK_INTERVAL
    @prefetch.busy(true, now - busy)
    @prefetch.busy(false, now)
    ended.times { @prefetch.ended }
    @prefetch.tick(slots, now)
    @prefetch.credits(slots)
  end

  def test_a_worker_that_knows_nothing_asks_for_twice_its_slots
    assert_equal 16, @prefetch.credits(8)
  end

  def test_nothing_is_prefetched_behind_long_handlers
    # Eight slots, half a second each.
    assert_equal([16], (1...50).map { |tick| after(3, 8, tick) }.uniq)
  end

  def test_quick_steps_are_prefetched_and_the_less_the_longer_none_has_ended
    asked = [after(100, 8, 1), *(2...20).map { |tick| after(0, 8, tick) }]
    assert_equal [108, 16], [asked.first, asked.last]
    assert_equal asked.sort.reverse, asked
    assert_equal Float::INFINITY, @prefetch.next_due(true)
  end

  def test_a_worker_that_waits_for_its_hub_asks_for_what_it_would_get_through
    assert_equal 16 + 192, after(100, 8, 1, busy: 0.1)
    assert_equal 16 + Prefetch::MAX_GROWTH * 100 - 8, after(100, 8, 2, busy: 0.01)
  end

  def test_a_worker_that_is_seldom_used_asks_for_little_however_quick_its_handlers_are
    assert_equal 16, after(2, 8, 1, busy: 0.001)
  end

  def test_prefetching_has_a_bound
    assert_equal 16 + Prefetch::MAX_AHEAD, after(1_000_000, 8, 1)
    assert_equal 0, @prefetch.credits(0)
  end

  def test_prefetched_steps_that_wait_for_long_are_for_others
    held_steps = Turnout::Wire::HeldSteps.new
    10.times { |number| held_steps.add(step("#{number}.1", confirm_start: number == 3), "b", "hub", number / 10.0) }
    held_steps.request_start("3.1")
    late = Prefetch.waiting_too_long(held_steps.waiting, 2, Prefetch::RETURN_TIMEOUT + 0.45)
    assert_equal %w[2.1 4.1], late.map(&:token)
  end
end
