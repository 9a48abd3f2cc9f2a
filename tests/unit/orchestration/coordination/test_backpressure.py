"""One controller slows all stage executors down while connections are waited for."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnout.orchestration.coordination.backpressure import (
    MAX_INCREASE,
    MAX_QUIET,
    MIN_DECREASE,
    MIN_FACTOR,
    MIN_QUIET,
    Backpressure,
)


@pytest.mark.parametrize(("saturation", "factor"), [(0.0, 1.0), (0.19, 1.0), (0.2, 0.8), (0.5, 0.5), (1.0, 0.1)])
def test_the_factor_falls_at_once(saturation: float, factor: float) -> None:
    assert Backpressure().seen(saturation).factor == pytest.approx(factor)


def test_it_rises_by_steps_until_full_speed_when_it_was_quiet_for_a_while() -> None:
    state, factors = Backpressure().seen(1.0), [0.1]
    while state.engaged:
        state = state.seen(0.0)
        factors.append(state.factor)
    assert factors == pytest.approx([*[0.1] * MIN_QUIET, 0.3, 0.5, 0.7, 0.9, 1.0])


def test_between_its_two_thresholds_nothing_changes() -> None:
    engaged = Backpressure().seen(0.6)
    assert engaged.seen(0.1) == engaged
    assert Backpressure().seen(0.1) == Backpressure()


def test_less_pressure_is_still_pressure() -> None:
    state = Backpressure().seen(0.9)
    for _ in range(10):
        state = state.seen(0.3)
    assert state.factor == pytest.approx(0.1)


def test_a_saturation_that_trembles_does_not_move_it() -> None:
    state = Backpressure().seen(0.5)
    assert [(state := state.seen(saturation)).factor for saturation in (0.52, 0.47, 0.55, 0.5)] == [0.5] * 4


@given(st.lists(st.floats(0, 1), min_size=1, max_size=50))
def test_it_stays_within_its_bounds_and_its_steps(seen: list[float]) -> None:
    states = [Backpressure()]
    for saturation in seen:
        states.append(states[-1].seen(saturation))
    assert all(MIN_FACTOR <= state.factor <= 1.0 for state in states)
    for before, after in pairwise(states):
        assert after.factor - before.factor <= MAX_INCREASE + 0.001
        assert (
            after.factor in (before.factor, 1.0, MIN_FACTOR)
            or abs(after.factor - before.factor) >= MIN_DECREASE - 0.001
        )


@given(st.floats(0, 1))
def test_a_steady_saturation_comes_to_rest(saturation: float) -> None:
    state = Backpressure()
    for _ in range(10):
        state = state.seen(saturation)
    assert state.seen(saturation).factor == state.factor


@given(st.integers(1, 16), st.integers(0, 10))
def test_it_does_not_swing_while_others_hold_connections(demand: int, held: int) -> None:
    """A pool of ten, of which others hold some, and an orchestrator with as many calls as the factor allows."""
    state, factors = Backpressure(), [1.0]
    for _ in range(400):
        calls = min(demand, max(1, int(8 * state.factor)))
        waiting = max(0, calls - (10 - held))
        state = state.seen(waiting / calls)
        factors.append(state.factor)
    tries = math.log2(MAX_QUIET / MIN_QUIET) + 1 + 400 / MAX_QUIET
    assert turns(factors) <= 2 * tries, "it tried to go faster more often than its required_quiet allows"


def test_pressure_that_is_over_costs_no_patience_later() -> None:
    state = Backpressure()
    for _ in range(3):
        for saturation in (1.0, *[0.0] * 60):
            state = state.seen(saturation)
    assert (state.factor, state.required_quiet) == (1.0, MIN_QUIET)


def turns(factors: list[float]) -> int:
    """How often it changes its direction."""
    steps = [after - before for before, after in pairwise(factors) if after != before]
    return sum((first > 0) is not (second > 0) for first, second in pairwise(steps))
