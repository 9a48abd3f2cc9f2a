"""Decides the state of health of a stage executor from its heartbeats and batches."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from turnout.orchestration.coordination.settings import CoordinatorSettings


class HealthState(StrEnum):
    STARTING = "starting"
    HEALTHY = "healthy"
    DEGRADED = "degraded"
    UNHEALTHY = "unhealthy"
    STOPPING = "stopping"


HEALTH_MOVES: dict[HealthState, frozenset[HealthState]] = {
    HealthState.STARTING: frozenset(
        {HealthState.HEALTHY, HealthState.DEGRADED, HealthState.UNHEALTHY, HealthState.STOPPING}
    ),
    HealthState.HEALTHY: frozenset({HealthState.DEGRADED, HealthState.UNHEALTHY, HealthState.STOPPING}),
    HealthState.DEGRADED: frozenset({HealthState.HEALTHY, HealthState.UNHEALTHY, HealthState.STOPPING}),
    HealthState.UNHEALTHY: frozenset({HealthState.STOPPING}),
    HealthState.STOPPING: frozenset(),
}
"""An unhealthy one does not recover: it is replaced."""


class Signs(msgspec.Struct, frozen=True, kw_only=True):
    """The observable state of a stage executor. Times are monotonic."""

    started_at: float | None
    stopping_at: float | None = None
    ended: bool = False
    """Its loop has returned, was cancelled or raised."""
    last_heartbeat: float = 0.0
    busy_since: float | None = None
    """The time at which it took its present batch."""
    excuse: str | None = None
    """The reason for which a batch may take long without a fault of the executor: the database is unreachable."""
    recent: tuple[bool, ...] = ()
    """True for each of its latest batches that succeeded, oldest first."""
    items_processed: int = 0
    batches: int = 0
    busy_seconds: float = 0.0


class StageHealth(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The result of a health check."""

    state: HealthState
    last_heartbeat: float
    items_processed: int = 0
    avg_processing_time_ms: float = 0.0
    error_rate: float = 0.0
    reason: str | None = None


def judge(signs: Signs, now: float, settings: CoordinatorSettings, before: HealthState | None = None) -> StageHealth:
    """Returns the state that follows from the signs, reached from ``before`` by a legal move."""
    rate = error_rate(signs.recent)
    state, reason = _state(signs, now, rate, settings)
    if before is not None and state is not before and state not in HEALTH_MOVES[before]:
        state, reason = before, "replaced soon" if before is HealthState.UNHEALTHY else None
    return StageHealth(
        state=state,
        last_heartbeat=signs.last_heartbeat,
        items_processed=signs.items_processed,
        avg_processing_time_ms=1000 * signs.busy_seconds / max(1, signs.batches),
        error_rate=rate,
        reason=reason,
    )


def error_rate(recent: tuple[bool, ...]) -> float:
    return recent.count(False) / len(recent) if recent else 0.0


def _state(signs: Signs, now: float, rate: float, settings: CoordinatorSettings) -> tuple[HealthState, str | None]:
    if signs.stopping_at is not None:
        return HealthState.STOPPING, None
    if signs.started_at is None:
        return HealthState.STARTING, None
    if signs.ended:
        return HealthState.UNHEALTHY, "its loop has ended"
    if signs.busy_since is not None and (busy := now - signs.busy_since) > settings.degraded_after_seconds:
        if signs.excuse is not None:
            return HealthState.DEGRADED, signs.excuse
        stuck = busy > settings.stuck_after_seconds
        return HealthState.UNHEALTHY if stuck else HealthState.DEGRADED, f"one batch has taken {busy:.0f} s so far"
    if signs.busy_since is None and (silent := now - signs.last_heartbeat) > settings.degraded_after_seconds:
        stuck = silent > settings.stuck_after_seconds
        return HealthState.UNHEALTHY if stuck else HealthState.DEGRADED, f"no sign of life for {silent:.0f} s"
    # A few batches say little: one failure of two is not yet half of everything.
    if len(signs.recent) >= min(5, settings.error_window):
        if rate >= settings.unhealthy_error_rate:
            return HealthState.UNHEALTHY, f"{rate:.0%} of its batches failed"
        if rate >= settings.degraded_error_rate:
            return HealthState.DEGRADED, f"{rate:.0%} of its batches failed"
    return HealthState.HEALTHY, None
