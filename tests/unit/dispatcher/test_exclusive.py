"""Running alone: who makes way for whom, and for how long."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from turnout.dispatcher.exclusive import (
    INITIAL_WINDOW,
    MAX_EXCLUSIVE,
    MAX_EXCLUSIVE_WAIT,
    MAX_WINDOW,
    MIN_REST,
    REQUEST_TIMEOUT,
    ExclusiveUse,
    make_way,
)
from turnout.dispatcher.executor_adapter import ExecutorAdapter
from turnout.dispatcher.slot import ExecutorSlot


def slot_of(key: str, executor: Any) -> ExecutorSlot:
    return ExecutorSlot(key, ExecutorAdapter(key, executor))


@settings(deadline=None)
@given(st.floats(0, 100_000))
def test_nobody_makes_way_for_longer_than_a_window_at_a_time(waited: float) -> None:
    if make_way(waited):
        assert not all(make_way(waited + step * MAX_WINDOW / 100) for step in range(101))


def test_others_have_at_least_half_of_the_time_but_for_the_last_window() -> None:
    made_way = 0
    for second in range(10_000):
        made_way += make_way(second + 0.5)
        assert made_way <= second / 2 + MAX_WINDOW / 2 + INITIAL_WINDOW


def test_windows_grow_until_bodies_of_minutes_have_time_to_end() -> None:
    longest = current = 0
    for second in range(int(MAX_EXCLUSIVE_WAIT)):
        current = current + 1 if make_way(second) else 0
        longest = max(longest, current)
    assert longest == MAX_WINDOW


def test_in_an_empty_executor_somebody_may_be_alone_at_once_and_then_nobody_else_starts() -> None:
    solitude = ExclusiveUse()
    assert solitude.ask(0.0, empty=True)
    assert solitude.closed_to_others(MAX_EXCLUSIVE / 2)
    solitude.release(1.0)
    assert not solitude.closed_to_others(1.0)
    assert solitude.over(1.0)


def test_nobody_waits_for_somebody_who_is_alone_for_longer_than_a_bound() -> None:
    solitude = ExclusiveUse()
    assert solitude.ask(0.0, empty=True)
    assert not solitude.closed_to_others(MAX_EXCLUSIVE)
    assert solitude.taken, "no other suspect starts beside it"


@given(st.floats(MIN_REST, 100))
def test_those_who_were_turned_away_have_as_much_time_before_the_next_is_alone(used: float) -> None:
    solitude = ExclusiveUse()
    assert solitude.ask(0.0, empty=True)
    solitude.turn_away()
    solitude.release(used)
    rest = min(used, MAX_EXCLUSIVE)
    assert not solitude.ask(used + 0.9 * rest, empty=True)
    assert not solitude.closed_to_others(used + 0.9 * rest) and not solitude.over(used + 0.9 * rest)
    assert solitude.ask(used + 1.1 * rest, empty=True)


def test_without_others_the_next_is_alone_at_once() -> None:
    solitude = ExclusiveUse()
    assert solitude.ask(0.0, empty=True)
    solitude.release(3.0)
    assert solitude.ask(3.0, empty=True)


def test_while_others_are_there_he_waits_and_they_make_way() -> None:
    solitude = ExclusiveUse()
    assert not solitude.ask(0.0, empty=False)
    assert solitude.closed_to_others(INITIAL_WINDOW / 2)
    assert not solitude.ask(INITIAL_WINDOW, empty=False)
    assert not solitude.closed_to_others(INITIAL_WINDOW)
    assert solitude.ask(INITIAL_WINDOW + 1, empty=True)


def test_after_an_hour_he_starts_in_company() -> None:
    solitude = ExclusiveUse()
    assert not solitude.ask(0.0, empty=False)
    assert solitude.ask(MAX_EXCLUSIVE_WAIT, empty=False)
    assert not solitude.taken


def test_nobody_makes_way_for_somebody_who_does_not_ask_any_more() -> None:
    solitude = ExclusiveUse()
    solitude.ask(0.0, empty=False)
    assert not solitude.closed_to_others(REQUEST_TIMEOUT + 1)
    assert not solitude.wanted


def test_an_executor_with_somebody_alone_has_no_places_until_he_has_left(executor: Callable[..., Any]) -> None:
    slot = slot_of("default", executor(capacity=4))
    assert slot.reserve_exclusively()
    assert not slot.has_slot()
    assert not slot.reserve_exclusively()
    slot.reserved -= 1
    slot.vacated()
    assert slot.free_slots() == 4
    assert slot.exclusive_use is None


def test_an_executor_that_is_in_use_is_not_to_be_had_alone(executor: Callable[..., Any]) -> None:
    slot = slot_of("default", executor(capacity=4))
    slot.in_flight = 1
    assert not slot.reserve_exclusively()
    assert not slot.has_slot()
    slot.in_flight = 0
    slot.vacated()
    assert slot.reserve_exclusively()


def test_an_executor_that_isolates_its_attempts_needs_nobody_to_make_way(executor: Callable[..., Any]) -> None:
    slot = slot_of("process", executor(capacity=4, isolates=True))
    slot.in_flight = 1
    assert slot.reserve_exclusively()
    assert slot.has_slot()
