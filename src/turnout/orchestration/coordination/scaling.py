"""Decides whether a pool gets more stage executors or fewer, by its load since the last sample."""

from __future__ import annotations

import math

import msgspec

from turnout.orchestration.coordination.settings import CoordinatorSettings

MAX_THRESHOLD = 0.95
"""Utilisation cannot exceed 1, so a threshold of target x 1.2 has to stay below it."""


class PoolLoad(msgspec.Struct, frozen=True, kw_only=True):
    """The load of a pool since the last sample."""

    executors: int
    min_executors: int
    max_executors: int
    utilisation: float
    """Busy time over wall time, on average over its executors."""
    peak: float = 0.0
    """The highest utilisation of the samples within the last cooldown. A burst makes a pool grow at once, but a pool
    shrinks only after a cooldown of low utilisation."""
    left_behind: float = 0.0
    """Items that were left in the queue when a batch was taken, on average. Without any, one more executor would only
    make the batches smaller, and group commit would join them again."""
    backlog: int = 0
    """Items in the queue now."""
    error_rate: float = 0.0
    saturation: float = 0.0
    """The share of time that was spent waiting for a connection."""
    since_change: float = math.inf
    """Seconds since the pool was last scaled."""


class ScalingAction(msgspec.Struct, frozen=True):
    change: int
    reason: str


def scale(load: PoolLoad, settings: CoordinatorSettings) -> ScalingAction:
    """Returns by how many executors the pool should change, and why."""
    count, low, high = load.executors, load.min_executors, load.max_executors
    if count < low:
        return ScalingAction(low - count, "below its minimum")
    if count > high:
        return ScalingAction(high - count, "above its maximum")
    if load.since_change < settings.scaling_cooldown_seconds:
        return ScalingAction(0, "cooling down")
    target = settings.target_utilization
    if load.utilisation > min(target * 1.2, MAX_THRESHOLD):
        if (why_not := _why_not_up(load, settings)) is not None:
            return ScalingAction(0, why_not)
        # Between a threshold that was capped and a target above it, the factor is below 1: that is no reason to shrink.
        wanted = max(count, math.ceil(count * min(load.utilisation / target, 2.0)))
        return ScalingAction(min(wanted, high) - count, f"utilisation {load.utilisation:.0%}")
    if max(load.utilisation, load.peak) < target * 0.5 and count > low and not load.backlog:
        return ScalingAction(-max(1, (count - low) // 2), f"utilisation {load.utilisation:.0%}")
    return ScalingAction(0, "in balance")


def _why_not_up(load: PoolLoad, settings: CoordinatorSettings) -> str | None:
    if load.executors >= load.max_executors:
        return "at its maximum"
    if load.error_rate > settings.scale_up_error_rate:
        return f"errors in {load.error_rate:.0%} of batches"
    if load.saturation > settings.scale_up_saturation:
        return f"the database is saturated ({load.saturation:.0%})"
    if not load.left_behind:
        return "its batches take all that waits"
    return None
