"""One controller slows all stage executors down while connections are waited for."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnout.orchestration.coordination.backpressure import BAND, FLOOR, RECOVERY, Backpressure


@pytest.mark.parametrize(("saturation", "factor"), [(0.0, 1.0), (0.19, 1.0), (0.2, 0.8), (0.5, 0.5), (1.0, 0.1)])
def test_the_factor_falls_at_once(saturation: float, factor: float) -> None:
    assert Backpressure().seen(saturation).factor == pytest.approx(factor)


def test_it_rises_by_steps_until_full_speed() -> None:
    state, factors = Backpressure(0.1), [0.1]
    while state.engaged:
        state = state.seen(0.0)
        factors.append(state.factor)
    assert factors == pytest.approx([0.1, 0.3, 0.5, 0.7, 0.9, 1.0])


def test_between_its_two_thresholds_nothing_changes() -> None:
    engaged = Backpressure().seen(0.6)
    assert engaged.seen(0.1) is engaged
    assert Backpressure().seen(0.1) == Backpressure()


def test_a_saturation_that_trembles_does_not_move_it() -> None:
    state = Backpressure().seen(0.5)
    assert [(state := state.seen(saturation)).factor for saturation in (0.52, 0.47, 0.55, 0.5)] == [0.5] * 4


@given(st.lists(st.floats(0, 1), min_size=1, max_size=50))
def test_it_stays_within_its_bounds_and_its_steps(seen: list[float]) -> None:
    states = [Backpressure()]
    for saturation in seen:
        states.append(states[-1].seen(saturation))
    assert all(FLOOR <= state.factor <= 1.0 for state in states)
    for before, after in pairwise(states):
        assert after.factor - before.factor <= RECOVERY + 0.001
        assert after.factor in (before.factor, 1.0, FLOOR) or abs(after.factor - before.factor) >= BAND - 0.001


@given(st.floats(0, 1))
def test_a_steady_saturation_comes_to_rest(saturation: float) -> None:
    state = Backpressure()
    for _ in range(10):
        state = state.seen(saturation)
    assert state.seen(saturation) == state
