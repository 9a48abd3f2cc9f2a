"""How many stage executors a pool should have."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnout.orchestration.coordination.scaling import PoolLoad, scale
from turnout.orchestration.coordination.settings import CoordinatorSettings

SETTINGS = CoordinatorSettings()


def load(executors: int = 4, utilisation: float = 0.5, **other: float) -> PoolLoad:
    given = {"min_executors": 1, "max_executors": 10, "backlog": 5.0, **other}
    return PoolLoad(executors=executors, utilisation=utilisation, **given)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    ("seen", "change", "why"),
    [
        (load(4, 0.92), 1, "utilisation 92%"),
        (load(4, 1.0), 2, "utilisation 100%"),
        (load(9, 1.0), 1, "utilisation 100%"),
        (load(10, 1.0), 0, "at its maximum"),
        (load(4, 0.89), 0, "in balance"),
        (load(4, 1.0, error_rate=0.06), 0, "errors"),
        (load(4, 1.0, saturation=0.3), 0, "saturated"),
        (load(4, 1.0, backlog=0), 0, "take all that waits"),
        (load(4, 1.0, since_change=5.0), 0, "cooling down"),
        (load(9, 0.2, backlog=0), -4, "utilisation 20%"),
        (load(2, 0.2, backlog=0), -1, "utilisation 20%"),
        (load(1, 0.0, backlog=0), 0, "in balance"),
        (load(9, 0.2), 0, "in balance"),
        (load(0, 0.0, since_change=0.0), 1, "below its minimum"),
        (load(12, 0.5, since_change=0.0), -2, "above its maximum"),
    ],
)
def test_the_change_and_its_reason(seen: PoolLoad, change: int, why: str) -> None:
    action = scale(seen, SETTINGS)
    assert action.change == change
    assert why in action.reason


def test_a_high_target_still_leaves_a_threshold_that_can_be_reached() -> None:
    assert scale(load(2, 0.97), CoordinatorSettings(target_utilization=0.9)).change > 0


loads = st.builds(
    load,
    executors=st.integers(0, 30),
    utilisation=st.floats(0, 1),
    min_executors=st.integers(1, 5),
    max_executors=st.integers(5, 20),
    backlog=st.sampled_from([0.0, 3.0]),
    error_rate=st.floats(0, 1),
    saturation=st.floats(0, 1),
    since_change=st.sampled_from([0.0, math.inf]),
)


@given(loads, st.floats(0.05, 0.95))
def test_a_pool_ends_within_its_bounds_and_grows_by_no_more_than_double(seen: PoolLoad, target: float) -> None:
    after = seen.executors + scale(seen, CoordinatorSettings(target_utilization=target)).change
    assert seen.min_executors <= after <= max(seen.max_executors, seen.min_executors)
    assert after <= max(2 * seen.executors, seen.min_executors)


def simulate(demand: list[float], settings: CoordinatorSettings = SETTINGS) -> list[int]:
    """A pool through a curve of demand, in executors' worth of work, one look per ``scaling_interval_seconds``."""
    count, changed, counts, waiting = 1, -math.inf, [], 0.0
    for step, wanted in enumerate(demand):
        now = step * settings.scaling_interval_seconds
        waiting = max(0.0, waiting + wanted - count)
        utilisation = min(1.0, (wanted + waiting) / count)
        seen = load(count, utilisation, backlog=waiting, since_change=now - changed)
        change = scale(seen, settings).change
        if change:
            count, changed = count + change, now
        counts.append(count)
    return counts


@given(st.floats(0, 9), st.integers(30, 60))
def test_a_steady_load_comes_to_rest(demand: float, steps: int) -> None:
    counts = simulate([demand] * (100 + steps))
    assert len(set(counts[100:])) == 1


@given(st.floats(2, 9), st.integers(5, 30))
def test_after_a_burst_the_pool_is_small_again(height: float, length: int) -> None:
    counts = simulate([0.2] * 5 + [height] * length + [0.0] * 60)
    assert counts[-1] == 1
    assert max(counts) >= 2


BUSY_DAY = [0.1] * 12 + [0.5 * step for step in range(1, 14)] + [7.0] * 20 + [3.0] * 20 + [8.5] * 12 + [0.3] * 40


def test_through_a_recorded_day_it_follows_the_load_and_changes_once_per_cooldown() -> None:
    counts = simulate(BUSY_DAY)
    changes = [step for step, (old, new) in enumerate(pairwise(counts)) if old != new]
    patience = SETTINGS.scaling_cooldown_seconds / SETTINGS.scaling_interval_seconds
    assert all(later - sooner >= patience for sooner, later in pairwise(changes))
    assert max(counts) >= 9
    assert counts[-1] == 1
