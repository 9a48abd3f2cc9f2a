"""Several orchestrators together: the sums of their pools and task executors, and the health report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from turnout.model.health import CONDITIONS, ExecutorStatus, OrchestratorStatus, PoolStatus
from turnout.model.workers import OTHERS, WorkerFigures, over_hubs, together


def pools_together(statuses: Sequence[OrchestratorStatus], name: str) -> PoolStatus:
    """A pool over several orchestrators, its stage executors left out."""
    found = [one.pools[name] for one in statuses if name in one.pools]

    def total(field: str) -> int:
        return sum(getattr(pool, field) for pool in found)

    executors = total("executors")
    return PoolStatus(
        executors=executors,
        healthy=total("healthy"),
        degraded=total("degraded"),
        unhealthy=total("unhealthy"),
        min_executors=total("min_executors"),
        max_executors=total("max_executors"),
        utilisation=sum(pool.utilisation * pool.executors for pool in found) / max(1, executors),
        throughput=sum((pool.throughput for pool in found), 0.0),
        queued=total("queued"),
        items=total("items"),
        batches=total("batches"),
        errors=total("errors"),
        busy_seconds=sum((pool.busy_seconds for pool in found), 0.0),
        scaled_up=total("scaled_up"),
        scaled_down=total("scaled_down"),
        replaced=total("replaced"),
        restarted=total("restarted"),
        breaker=_worst_breaker([pool.breaker for pool in found]),
    )


def executors_together(statuses: Sequence[OrchestratorStatus], name: str) -> ExecutorStatus:
    """A task executor over several orchestrators that each have one under this key."""
    found = [one.executors[name] for one in statuses if name in one.executors]
    places = [one.capacity for one in found if one.capacity is not None]
    capacity = sum(places) if len(places) == len(found) else None
    shared = any(one.shared for one in found)
    if shared:  # Who is connected to several hubs runs no more than who is connected to one.
        capacity = sum(one.capacity for one in workers_together(statuses))
    seconds = [one.seconds for one in found if one.seconds is not None]
    return ExecutorStatus(
        active=sum(one.active for one in found),
        capacity=capacity,
        running=sum(one.running for one in found),
        waiting=sum(one.waiting for one in found),
        async_capacity=sum(one.async_capacity for one in found),
        async_running=sum(one.async_running for one in found),
        shared=shared,
        executed=sum(one.executed for one in found),
        failed=sum(one.failed for one in found),
        seconds=sum(seconds) if len(seconds) == len(found) else None,
        attempts_per_second=sum((one.attempts_per_second for one in found), 0.0),
        breaker=_worst_breaker([one.breaker for one in found]),
    )


def workers_together(statuses: Sequence[OrchestratorStatus]) -> list[WorkerFigures]:
    """The workers of all hubs, each once, over the hubs that it is connected to."""
    hubs = [one.hub for one in statuses if one.hub is not None]
    found: dict[str, list[WorkerFigures]] = {}
    for hub in hubs:
        for one in (*hub.listed, *(() if hub.others is None else (hub.others,))):
            found.setdefault(OTHERS if one is hub.others else one.id, []).append(one)
    return [together(name, some) if name == OTHERS else over_hubs(some) for name, some in found.items()]


def _worst_breaker(states: Sequence[str]) -> str:
    return max(states, key=("closed", "half_open", "open").index, default="closed")


def health_report(alive: Sequence[OrchestratorStatus], pools: Sequence[str]) -> dict[str, Any]:
    """What ``GET /health/orchestration`` answers, over all orchestrators that are alive. In the names of pools "task"
    means run and "step" means task."""
    return {
        "status": max((one.condition for one in alive), key=CONDITIONS.index, default="down"),
        "coordinator": {
            "running": bool(alive),
            "uptime_seconds": round(max((one.uptime_seconds for one in alive), default=0.0)),
        },
        "executor_pools": {name: _pool_report(pools_together(alive, name)) for name in pools},
        "database": {
            "pool_size": sum(one.pool_size for one in alive),
            "active_connections": sum(one.active_connections for one in alive),
            "saturation": round(max((one.saturation for one in alive), default=0.0), 3),
        },
    }


def _pool_report(pool: PoolStatus) -> dict[str, Any]:
    return {
        "healthy": pool.healthy + pool.degraded,
        "unhealthy": pool.unhealthy,
        "throughput": round(pool.throughput, 1),
    }
