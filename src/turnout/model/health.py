"""How is an orchestrator? The value that heartbeats store for any process to read, and the report over several."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec


class PoolStatus(msgspec.Struct, frozen=True, kw_only=True):
    """One pool of stage executors."""

    executors: int = 0
    healthy: int = 0
    degraded: int = 0
    unhealthy: int = 0
    min_executors: int = 0
    max_executors: int = 0
    utilisation: float = 0.0
    throughput: float = 0.0
    """Items a second."""
    queued: int = 0
    items: int = 0
    errors: int = 0
    busy_seconds: float = 0.0
    replaced: int = 0
    breaker: str = "closed"


class ExecutorStatus(msgspec.Struct, frozen=True, kw_only=True):
    """One task executor."""

    active: int = 0
    executed: int = 0
    failed: int = 0
    breaker: str = "closed"


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """Something that the coordinator did."""

    at: float
    """Wall clock."""
    kind: str
    """``scaled``, ``replaced``, ``restarted``, ``backpressure`` or ``breaker``."""
    pool: str | None
    detail: str
    executors: int = 0
    """How many the pool has after it."""


class OrchestratorStatus(msgspec.Struct, frozen=True, kw_only=True):
    """One orchestrator at one moment."""

    uptime_seconds: float = 0.0
    stopping: bool = False
    owned_runs: int = 0
    requests: int = 0
    """Submissions that are not durable yet."""
    pools: dict[str, PoolStatus] = {}
    executors: dict[str, ExecutorStatus] = {}
    pool_size: int = 0
    active_connections: int = 0
    waiting_for_connections: int = 0
    saturation: float = 0.0
    backpressure: float = 1.0
    """The factor: 1.0 is full speed."""
    commits: int = 0
    outage: str | None = None
    memory_bytes: int = 0
    """Of the whole process."""
    cpu_seconds: float = 0.0
    """Of the whole process."""
    events: tuple[Event, ...] = ()

    @property
    def condition(self) -> str:
        """``healthy``, ``degraded`` or ``unhealthy``. Who stops on purpose is not ill."""
        if self.outage is not None or any(pool.executors and not _works(pool) for pool in self.pools.values()):
            return "healthy" if self.stopping else "unhealthy"
        impaired = self.backpressure < 1.0 or any(
            pool.degraded or pool.unhealthy or pool.breaker != "closed" for pool in self.pools.values()
        )
        impaired = impaired or any(executor.breaker != "closed" for executor in self.executors.values())
        return "degraded" if impaired and not self.stopping else "healthy"


def _works(pool: PoolStatus) -> bool:
    return pool.healthy + pool.degraded > 0


def health_report(alive: Sequence[OrchestratorStatus], pools: Sequence[str]) -> dict[str, Any]:
    """What ``GET /health/orchestration`` answers, over all orchestrators that are alive. In the names of pools "task"
    means run and "step" means task."""
    worst = ("down", "unhealthy", "degraded", "healthy")
    status = min((one.condition for one in alive), key=worst.index, default="down")
    return {
        "status": status,
        "coordinator": {
            "running": bool(alive),
            "uptime_seconds": round(max((one.uptime_seconds for one in alive), default=0.0)),
        },
        "executor_pools": {name: _pool_report(name, alive) for name in pools},
        "database": {
            "pool_size": sum(one.pool_size for one in alive),
            "active_connections": sum(one.active_connections for one in alive),
            "saturation": round(max((one.saturation for one in alive), default=0.0), 3),
        },
    }


def _pool_report(name: str, alive: Sequence[OrchestratorStatus]) -> dict[str, Any]:
    found = [one.pools[name] for one in alive if name in one.pools]
    return {
        "healthy": sum(pool.healthy + pool.degraded for pool in found),
        "unhealthy": sum(pool.unhealthy for pool in found),
        "throughput": round(sum(pool.throughput for pool in found), 1),
    }
