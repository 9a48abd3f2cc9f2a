"""Timers of idle loops end together, never early, and never much late."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from turnout.orchestration.shared_ticks import GRID, aligned, aligned_within


@given(st.floats(GRID, 10.0), st.floats(0.0, 1e6))
def test_an_interval_ends_on_the_grid_and_is_at_most_one_step_longer(interval: float, now: float) -> None:
    found = aligned(interval, now)
    assert interval - 1e-6 <= found <= interval + GRID + 1e-6
    past = (now + found) % GRID
    assert min(past, GRID - past) < 1e-6


@given(st.floats(0.0, GRID, exclude_max=True), st.floats(0.0, 1e6))
def test_a_short_interval_stays_as_it_is(interval: float, now: float) -> None:
    assert aligned(interval, now) == interval


@given(st.floats(2 * GRID, 10.0), st.floats(0.0, 1e6))
def test_an_interval_that_must_not_grow_ends_on_the_grid_before(interval: float, now: float) -> None:
    found = aligned_within(interval, now)
    assert interval - GRID - 1e-6 <= found <= interval + 1e-6
    past = (now + found) % GRID
    assert min(past, GRID - past) < 1e-6


@given(st.floats(0.0, 2 * GRID, exclude_max=True), st.floats(0.0, 1e6))
def test_a_short_interval_that_must_not_grow_stays_as_it_is(interval: float, now: float) -> None:
    assert aligned_within(interval, now) == interval
