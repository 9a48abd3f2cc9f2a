"""Places: one number for threads, a backlog and coroutines."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fake_loader import FakeLoader
from turnout.bodies.attempt import Attempt, Place, key_of
from turnout.bodies.places import ASYNC_SPARE, HORIZON, Pace, Places

durations = st.lists(st.floats(0, 100), max_size=50)


def pace_of(*seconds: float) -> Pace:
    pace = Pace()
    for each in seconds:
        pace.add(each)
    return pace


def in_place(place: Place) -> Attempt:
    event = FakeLoader().add(None)
    attempt = Attempt(key_of(event), event, lambda _: None)
    attempt.place = place
    return attempt


def capacity(places: Places, *, queued: int = 0, tasks: int = 0, async_seen: bool = False) -> int:
    return places.capacity(queued=queued, tasks=tasks, async_seen=async_seen)


@pytest.mark.parametrize(
    ("seconds", "backlog"),
    [
        ((), 0),
        ((0.000_01,), 512),
        ((HORIZON,), 0),
        ((1.0,), 0),
        ((0.025,), 32),
        ((0.01,), 128),
    ],
)
def test_the_backlog_is_what_the_threads_get_through_in_50_ms(seconds: tuple[float, ...], backlog: int) -> None:
    assert pace_of(*seconds).backlog(32, 512) == backlog


def test_a_single_slow_measurement_leaves_the_backlog_and_a_row_of_slow_bodies_ends_it() -> None:
    quick = [0.000_01] * 100
    assert pace_of(*quick, 1.0).backlog(32, 512) == 512
    assert pace_of(*quick, *[1.0] * 60).backlog(32, 512) == 0
    assert pace_of(*quick, *[1.0] * 60, *quick[:40]).backlog(32, 512) > 0


@given(durations, st.integers(0, 64), st.integers(0, 1000))
def test_the_backlog_is_never_negative_nor_above_its_bound(seconds: list[float], threads: int, most: int) -> None:
    assert 0 <= pace_of(*seconds).backlog(threads, most) <= most


@given(st.floats(0, 1), st.floats(0, 1))
def test_slower_bodies_never_have_the_longer_backlog(one: float, other: float) -> None:
    slow, quick = max(one, other), min(one, other)
    assert pace_of(slow).backlog(32, 512) <= pace_of(quick).backlog(32, 512)


def test_at_first_there_is_a_place_for_each_thread() -> None:
    assert capacity(Places(4, 8, 512)) == 4


def test_a_backlog_that_stands_still_is_not_offered() -> None:
    places = Places(4, 8, 512)
    places.leave(in_place(Place.THREAD), time.monotonic())
    places.enter_thread()
    assert capacity(places, queued=1) == 4 + 512
    places._last_start -= 2 * HORIZON
    assert capacity(places, queued=1) == 4
    assert capacity(places, queued=0) == 4 + 512


def test_coroutines_take_no_threads_place() -> None:
    places = Places(4, 100, 0)
    attempts = [in_place(Place.LOOP) for _ in range(50)]
    for _ in attempts:
        places.enter_loop()
    assert capacity(places, tasks=50) - len(attempts) == 4
    for attempt in attempts:
        places.leave(attempt)
    assert capacity(places) == 4


def test_async_bodies_find_room_while_sync_bodies_hold_all_threads() -> None:
    places = Places(4, 10, 0)
    assert capacity(places, async_seen=True) == 4 + ASYNC_SPARE
    assert capacity(places, tasks=8, async_seen=True) == 4 + 2
    assert capacity(places, tasks=10, async_seen=True) == 4


def test_an_abandoned_body_keeps_its_thread_until_it_returns() -> None:
    places = Places(2, 8, 0)
    attempt = in_place(Place.THREAD)
    assert places.abandon(attempt) is Place.THREAD
    assert capacity(places) == 1
    places.leave(attempt)
    assert capacity(places) == 2


def test_an_abandoned_coroutine_leaves_only_once() -> None:
    places = Places(2, 8, 0)
    attempt = in_place(Place.LOOP)
    places.enter_loop()
    assert places.abandon(attempt) is Place.LOOP
    places.leave(attempt)
    assert capacity(places) == 2


def test_an_attempt_that_never_started_has_no_place_to_give_up() -> None:
    places = Places(2, 8, 0)
    assert places.abandon(in_place(Place.QUEUE)) is Place.QUEUE
    assert capacity(places) == 2
