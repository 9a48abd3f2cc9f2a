"""What is to be seen of this orchestrator? Collected when somebody asks, and with each heartbeat."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

from turnout.model.health import ExecutorStatus, OrchestratorStatus, PoolStatus
from turnout.orchestration.coordination.health import HealthState

if TYPE_CHECKING:
    from turnout.orchestration.coordination.pool import ExecutorPool
    from turnout.orchestration.engine import Engine

SHOWN_EVENTS = 20


def status_of(engine: Engine) -> OrchestratorStatus:
    """Looks, and does no work."""
    coordinator, use = engine.coordinator, engine.coordinator.store_use
    started = coordinator.started_at
    outage = engine.ledger.outage
    return OrchestratorStatus(
        uptime_seconds=0.0 if started is None else time.monotonic() - started,
        stopping=engine.stopping,
        owned_runs=len(engine.runs),
        requests=engine.throttle.under_way,
        pools={stage.value: _pool(pool) for stage, pool in engine.pools.items()},
        executors=_executors(engine),
        pool_size=use.size,
        active_connections=use.active,
        waiting_for_connections=use.waiting,
        saturation=use.saturation,
        backpressure=coordinator.backpressure.factor,
        commits=engine.ledger.metrics.commits,
        outage=None if outage is None else outage.message,
        memory_bytes=_resident(),
        cpu_seconds=time.process_time(),
        events=tuple(coordinator.events)[-SHOWN_EVENTS:],
    )


def _pool(pool: ExecutorPool) -> PoolStatus:
    counts, totals = pool.counts(), pool.totals()
    return PoolStatus(
        executors=len(pool.executors),
        healthy=counts[HealthState.HEALTHY] + counts[HealthState.STARTING],
        degraded=counts[HealthState.DEGRADED],
        unhealthy=counts[HealthState.UNHEALTHY],
        min_executors=pool.settings.min_executors,
        max_executors=pool.settings.max_executors,
        utilisation=pool.utilisation,
        throughput=pool.throughput,
        queued=len(pool.queue),
        items=totals.items_processed,
        errors=totals.errors,
        busy_seconds=totals.busy_seconds,
        replaced=pool.replaced,
        breaker=pool.gate.breaker.state.value,
    )


def _executors(engine: Engine) -> dict[str, ExecutorStatus]:
    if engine.dispatcher is None:
        return {}
    found: dict[str, ExecutorStatus] = {}
    for key, executor in engine.dispatcher.executors.items():
        try:
            metrics = executor.metrics()
        except Exception:  # somebody else's code: what it cannot say is not shown
            continue
        found[key] = ExecutorStatus(
            active=metrics.active_tasks,
            executed=metrics.total_executed,
            failed=metrics.total_failed,
            breaker=engine.dispatcher.breaker(key),
        )
    return found


def _resident() -> int:
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except (OSError, ValueError, IndexError):
        return 0
    return pages * 4096
