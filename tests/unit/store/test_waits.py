"""The share of callers' time that is spent waiting, from who arrives, is served and leaves."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.clock import Clock

from turnout.store.saturation import Saturation


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def waits(clock: Clock) -> Saturation:
    return Saturation(10, clock)


def served(waits: Saturation) -> int:
    waits.arrives()
    return waits.is_served()


def test_nobody_there_is_no_saturation(waits: Saturation, clock: Clock) -> None:
    clock.now = 1.0
    assert waits.look().saturation == 0.0
    assert waits.look().saturation == 0.0


def test_it_is_the_share_of_the_time_that_callers_wait(waits: Saturation, clock: Clock) -> None:
    for _ in range(3):
        served(waits)
    waits.arrives()
    clock.now = 1.0
    use = waits.look()
    assert (use.active, use.waiting, use.saturation) == (3, 1, pytest.approx(0.25))


def test_who_waits_in_vain_is_not_hidden_by_those_who_keep_what_they_have(waits: Saturation, clock: Clock) -> None:
    held = [served(waits) for _ in range(10)]
    clock.now = 1.0
    waits.look()
    waits.arrives()
    clock.now = 2.0
    assert waits.look().saturation == 1.0
    for one in held:
        waits.leaves(one)
    waits.is_served()
    clock.now = 3.0
    use = waits.look()
    assert (use.active, use.waiting, use.saturation) == (1, 0, 0.0)


def test_one_call_that_waited_for_a_moment_says_nothing(waits: Saturation, clock: Clock) -> None:
    waits.arrives()
    clock.now = 0.05
    waits.leaves(waits.is_served())
    clock.now = 1.0
    assert waits.look().saturation == pytest.approx(0.05)


def test_waiting_for_a_ledger_that_is_busy_does_not_count(waits: Saturation, clock: Clock) -> None:
    waits.arrives()
    waits.excuse(True)
    clock.now = 0.9
    waits.excuse(False)
    clock.now = 1.0
    assert waits.look().saturation == pytest.approx(0.1)


@given(st.lists(st.tuples(st.sampled_from("awglk"), st.floats(0, 2)), max_size=60))
def test_it_is_a_share_whatever_happens(steps: list[tuple[str, float]]) -> None:
    clock = Clock()
    waits = Saturation(3, clock)
    waiting, active = 0, []
    for kind, seconds in steps:
        clock.now += seconds
        if kind == "a":
            waits.arrives()
            waiting += 1
        elif kind == "w" and waiting:
            active.append(waits.is_served())
            waiting -= 1
        elif kind == "g" and waiting:
            waits.gives_up()
            waiting -= 1
        elif kind == "l" and active:
            waits.leaves(active.pop())
        elif kind == "k":
            use = waits.look()
            assert (use.active, use.waiting) == (len(active), waiting)
            assert 0.0 <= use.saturation <= 1.0
    assert 0.0 <= waits.look().saturation <= 1.0
