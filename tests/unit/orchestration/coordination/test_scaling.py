"""How many stage executors a pool should have."""

from __future__ import annotations

import math
from itertools import pairwise

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.orchestration.coordination.simulation import Curve, Sample, Simulation, curves
from turnout.orchestration.coordination.scaling import PoolLoad, scale
from turnout.orchestration.coordination.settings import CoordinatorSettings

SETTINGS = CoordinatorSettings()


def load(executors: int = 4, utilisation: float = 0.5, **other: float) -> PoolLoad:
    given = {"min_executors": 1, "max_executors": 10, "left_behind": 5.0, "backlog": 5, **other}
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
        (load(4, 1.0, left_behind=0), 0, "take all that waits"),
        (load(4, 1.0, since_change=5.0), 0, "cooling down"),
        (load(9, 0.2, backlog=0), -4, "utilisation 20%"),
        (load(2, 0.2, backlog=0), -1, "utilisation 20%"),
        (load(1, 0.0, backlog=0), 0, "in balance"),
        (load(9, 0.2, left_behind=0), 0, "in balance"),
        (load(9, 0.2, backlog=0, peak=0.4), 0, "in balance"),
        (load(9, 0.2, backlog=0, peak=0.37), -4, "utilisation 20%"),
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


def test_a_target_above_the_highest_threshold_never_makes_a_busy_pool_smaller() -> None:
    assert scale(load(30, 0.951, max_executors=40), CoordinatorSettings(target_utilization=0.99)).change == 0


loads = st.builds(
    load,
    executors=st.integers(0, 30),
    utilisation=st.floats(0, 1),
    peak=st.floats(0, 1),
    min_executors=st.integers(1, 5),
    max_executors=st.integers(5, 20),
    left_behind=st.sampled_from([0.0, 3.0]),
    backlog=st.sampled_from([0, 3]),
    error_rate=st.floats(0, 1),
    saturation=st.floats(0, 1),
    since_change=st.floats(0, 60) | st.just(math.inf),
)
targets = st.floats(0.05, 0.99)


@given(loads, targets)
def test_a_pool_ends_within_its_bounds_and_grows_by_no_more_than_double(seen: PoolLoad, target: float) -> None:
    after = seen.executors + scale(seen, CoordinatorSettings(target_utilization=target)).change
    assert seen.min_executors <= after <= seen.max_executors
    assert after <= max(2 * seen.executors, seen.min_executors)


@given(loads, targets)
def test_a_change_is_never_made_without_its_reason(seen: PoolLoad, target: float) -> None:
    settings = CoordinatorSettings(target_utilization=target)
    change = scale(seen, settings).change
    if not seen.min_executors <= seen.executors <= seen.max_executors:
        return
    if change:
        assert seen.since_change >= settings.scaling_cooldown_seconds
    if change > 0:
        assert seen.utilisation > min(1.2 * target, 0.95)
        assert seen.error_rate <= settings.scale_up_error_rate
        assert seen.saturation <= settings.scale_up_saturation
        assert seen.left_behind
    if change < 0:
        assert max(seen.utilisation, seen.peak) < 0.5 * target
        assert not seen.backlog
        excess = seen.executors - seen.min_executors
        assert -change <= max(1, excess / 2)


# -- through time -----------------------------------------------------------------------------------------------
def curve(arrivals: list[int], bursts: int = 1) -> Curve:
    """Looks every 5 s at a pool whose executors get through 200 items each in that time, in batches of 20."""
    return Curve("", 5.0, 20, 0.4, 0.005, arrivals, bursts)


def sizes(samples: list[Sample]) -> list[int]:
    return [sample.load.executors + sample.action.change for sample in samples]


def reversals(samples: list[Sample]) -> int:
    """How often growing turned into shrinking, or the other way round."""
    directions = [sample.action.change > 0 for sample in samples if sample.action.change]
    return sum(before is not after for before, after in pairwise(directions))


@given(st.integers(0, 1_500), targets, st.integers(1, 3), st.integers(3, 12))
def test_a_steady_load_comes_to_rest_without_going_back_and_forth(
    arrivals: int, target: float, low: int, high: int
) -> None:
    samples = Simulation(curve([arrivals] * 120), CoordinatorSettings(target_utilization=target), low, high).run()
    assert reversals(samples) == 0
    assert len(set(sizes(samples)[80:])) == 1


@given(st.integers(500, 1_500), st.integers(2, 30))
def test_after_a_burst_the_pool_has_done_everything_and_is_small_again(height: int, length: int) -> None:
    samples = Simulation(curve([20] * 5 + [height] * length + [0] * 90), SETTINGS).run()
    assert max(sizes(samples)) > 1
    assert samples[-1].processed == 20 * 5 + height * length
    assert samples[-1].load.backlog == 0
    assert sizes(samples)[-1] == 1
    assert reversals(samples) == 1


def test_a_load_in_short_bursts_keeps_the_pool_that_they_need() -> None:
    samples = Simulation(curve([600, 0] * 40 + [0] * 30), SETTINGS).run()
    assert reversals(samples) == 1
    assert sizes(samples)[-1] == 1


@pytest.mark.parametrize("name", sorted(curves()))
def test_through_a_recorded_curve_the_pool_follows_the_load(name: str) -> None:
    recorded = curves()[name]
    interval = recorded.interval_seconds
    settings = CoordinatorSettings(scaling_interval_seconds=interval, scaling_cooldown_seconds=2 * interval)
    samples = Simulation(recorded, settings).run()

    assert all(1 <= size <= 8 for size in sizes(samples))
    changes = [sample for sample in samples if sample.action.change]
    assert all(later.at - sooner.at >= 2 * interval for sooner, later in pairwise(changes))
    assert max(sizes(samples)) >= 4
    assert sizes(samples)[-1] == 1
    assert samples[-1].processed == sum(recorded.arrivals)
    assert samples[-1].load.backlog == 0
    # To the top takes five changes (2, 3, 4, 6, 8), and back to one four (5, 3, 2, 1).
    assert len(changes) <= 9 * recorded.bursts
    assert reversals(samples) <= 2 * recorded.bursts - 1


@pytest.mark.parametrize("name", sorted(curves()))
def test_batches_without_a_bound_leave_the_pool_at_its_minimum(name: str) -> None:
    unbounded = msgspec.structs.replace(curves()[name], batch_size=1_000_000, seconds_per_item=0.0)
    assert set(sizes(Simulation(unbounded, SETTINGS).run())) == {1}
