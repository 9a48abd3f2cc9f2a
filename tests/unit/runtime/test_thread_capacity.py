"""ThreadCapacity: one number for threads, a backlog and coroutines."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fake_loader import FakeLoader
from tests.kit.clock import Clock
from turnout.runtime.attempt import Attempt, Location, body_of, key_of
from turnout.runtime.thread_capacity import ASYNC_SPARE, COUNT_INTERVAL, HORIZON, DurationAverage, ThreadCapacity

durations = st.lists(st.floats(0, 100), max_size=50)


def pace_of(*seconds: float) -> DurationAverage:
    pace = DurationAverage()
    for each in seconds:
        pace.add(each)
    return pace


def attempt_at(location: Location, name: str = "t") -> Attempt:
    event = FakeLoader().add(None, name=name)
    attempt = Attempt(key_of(event), event, lambda _: None)
    attempt.location = location
    return attempt


def thread_capacity(threads: int, coroutines: int, max_backlog: int) -> ThreadCapacity:
    """One whose clock stands still: durations are exactly what a test says."""
    return ThreadCapacity(threads, coroutines, max_backlog, clock=Clock())


def capacity(threads: ThreadCapacity, *, tasks: int = 0, async_seen: bool = False) -> int:
    return threads.capacity(tasks=tasks, async_seen=async_seen)


def learn(threads: ThreadCapacity, name: str, seconds: float, times: int = 1) -> None:
    """Bodies of this task return, each after so long."""
    for _ in range(times):
        attempt = attempt_at(Location.THREAD, name)
        began = threads.enter_thread(attempt)
        took = threads.leave_thread(attempt, began - seconds, ended_early=False)
        threads.measured(body_of(attempt.event), took)


def room(threads: ThreadCapacity, name: str) -> int:
    return threads.capacity_of(f"public::embedded::w::{name}")


@pytest.mark.parametrize(
    ("seconds", "backlog"),
    [
        (0.000_01, 512),
        (HORIZON, 0),
        (1.0, 0),
        (0.025, 32),
        (0.01, 128),
    ],
)
def test_the_backlog_is_what_the_threads_get_through_in_50_ms(seconds: float, backlog: int) -> None:
    assert pace_of(*[seconds] * 1_000).backlog(32, 512) == backlog


def test_one_quick_body_vouches_for_one_other() -> None:
    assert pace_of().backlog(32, 512) == 0
    assert pace_of(0.000_01).backlog(32, 512) == 1
    assert pace_of(*[0.000_01] * 40).backlog(32, 512) == 40


def test_a_single_slow_measurement_leaves_the_backlog_and_a_row_of_slow_bodies_ends_it() -> None:
    quick = [0.000_01] * 600
    assert pace_of(*quick, 1.0).backlog(32, 512) == 512
    assert pace_of(*quick, *[1.0] * 60).backlog(32, 512) == 0
    assert pace_of(*quick, *[1.0] * 60, *quick[:40]).backlog(32, 512) > 0


@given(durations, st.integers(0, 64), st.integers(0, 1000), st.floats(0, 10))
def test_the_backlog_is_within_its_bounds_and_its_work_within_the_horizon(
    seconds: list[float], threads: int, most: int, waiting: float
) -> None:
    pace = pace_of(*seconds)
    backlog = pace.backlog(threads, most, waiting)
    assert 0 <= backlog <= most
    assert not backlog or backlog * pace.mean + waiting <= threads * HORIZON


@given(st.floats(0, 1), st.floats(0, 1))
def test_slower_bodies_never_have_the_longer_backlog(one: float, other: float) -> None:
    slow, quick = max(one, other), min(one, other)
    assert pace_of(slow).backlog(32, 512) <= pace_of(quick).backlog(32, 512)


def test_at_first_there_is_a_slot_for_each_thread() -> None:
    threads = thread_capacity(4, 8, 512)
    assert capacity(threads) == room(threads, "t") == 4


def test_a_quick_body_of_one_task_does_not_vouch_for_another_task() -> None:
    threads = thread_capacity(4, 8, 512)
    learn(threads, "quick", 0.0, times=1_000)
    learn(threads, "slow", 1.0)
    assert room(threads, "quick") == 4 + 512
    assert room(threads, "slow") == room(threads, "unknown") == 4


def test_no_mixture_of_tasks_waits_for_longer_than_the_horizon() -> None:
    threads = thread_capacity(4, 8, 512)
    learn(threads, "brief", 0.01, times=1_000)
    learn(threads, "briefer", 0.001, times=1_000)
    waiting: list[Attempt] = []
    for name in ("brief", "briefer") * 300:
        if room(threads, name) > len(waiting):
            waiting.append(attempt_at(Location.QUEUE, name))
            threads.wait(waiting[-1:], for_thread=True)
    assert len(waiting) > 4
    assert sum(attempt.estimate for attempt in waiting) <= 4 * HORIZON
    for attempt in waiting:
        threads.waited(attempt)
    assert room(threads, "briefer") > len(waiting)


def test_threads_in_long_bodies_do_not_count_for_the_backlog() -> None:
    clock = Clock()
    threads = ThreadCapacity(4, 8, 512, clock)
    learn(threads, "brief", 0.009_9, times=1_000)
    assert room(threads, "brief") == 4 + 16
    for _ in range(3):
        threads.enter_thread(attempt_at(Location.THREAD))
    clock.now += COUNT_INTERVAL / 2
    threads.enter_thread(attempt_at(Location.THREAD))
    assert room(threads, "brief") == 4 + 16, "bodies that began just now may be brief"
    clock.now = 1.01 * HORIZON
    assert room(threads, "brief") == 4 + 4
    clock.now += 2 * COUNT_INTERVAL
    assert room(threads, "brief") == 4


def test_coroutines_take_no_slot_of_a_thread() -> None:
    threads = thread_capacity(4, 100, 0)
    attempts = [attempt_at(Location.LOOP) for _ in range(50)]
    for _ in attempts:
        threads.enter_loop()
    assert capacity(threads, tasks=50) - len(attempts) == 4
    for attempt in attempts:
        threads.leave_loop(attempt)
    assert capacity(threads) == 4


def test_async_bodies_find_room_while_sync_bodies_hold_all_threads() -> None:
    threads = thread_capacity(4, 10, 0)
    assert capacity(threads, async_seen=True) == 4 + ASYNC_SPARE
    assert capacity(threads, tasks=8, async_seen=True) == 4 + 2
    assert capacity(threads, tasks=10, async_seen=True) == 4


def test_an_abandoned_body_keeps_its_thread_until_it_returns() -> None:
    threads = thread_capacity(2, 8, 0)
    attempt = attempt_at(Location.THREAD)
    assert threads.abandon(attempt) is Location.THREAD
    assert capacity(threads) == 1
    threads.leave_thread(attempt, 0.0, ended_early=True)
    assert capacity(threads) == 2


def test_an_abandoned_coroutine_leaves_only_once() -> None:
    threads = thread_capacity(2, 8, 0)
    attempt = attempt_at(Location.LOOP)
    threads.enter_loop()
    assert threads.abandon(attempt) is Location.LOOP
    threads.leave_loop(attempt)
    assert capacity(threads) == 2


def test_an_attempt_that_never_started_has_no_slot_to_release() -> None:
    threads = thread_capacity(2, 8, 0)
    assert threads.abandon(attempt_at(Location.QUEUE)) is Location.QUEUE
    assert capacity(threads) == 2
