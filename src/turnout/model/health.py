"""Declares the status of an orchestrator, finds its troubles, and reports the health of several."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, ClassVar

import msgspec

from turnout.model.executor_status import ExecutorStatus, PoolStatus
from turnout.model.figures import Figure, Part, TableColumn, Unit, combine, largest, smallest
from turnout.model.workers import HubStatus, WorkerFigures, over_all_hubs

UNRESPONSIVE = 10.0
"""Seconds without progress after which an event loop counts as stuck."""

CONDITIONS = ("healthy", "degraded", "unhealthy", "down")
"""From the best to the worst."""


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """An action of the coordinator."""

    at: float
    """Unix time."""
    kind: str
    """``scaled``, ``replaced``, ``restarted``, ``backpressure`` or ``breaker``."""
    pool: str | None
    detail: str
    executors: int = 0
    """Stage executors of the pool after it."""


class Trouble(msgspec.Struct, frozen=True):
    """A problem, with its location and its cause."""

    condition: str
    """The condition that it causes: ``degraded`` or ``unhealthy``."""
    where: str
    why: str


class OrchestratorStatus(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One orchestrator at one moment."""

    METRIC_PREFIX: ClassVar[str] = "turnout_"
    at: float = 0.0
    """The moment, by the orchestrator's wall clock."""
    age_seconds: float = 0.0
    """Its age when it was stored: that of a stuck event loop stays the last one."""
    uptime_seconds: Annotated[
        float,
        Figure("uptime_seconds", "Since the orchestrator was started.", largest),
        TableColumn("up", Unit.DURATION),
    ] = 0.0
    stopping: bool = False
    owned_runs: Annotated[int, Figure("owned_runs", "Runs that the orchestrator drives."), TableColumn("runs")] = 0
    given_runs: Annotated[
        int, Figure("given_runs_total", "Waiting runs that were handed to an orchestrator with room.")
    ] = 0
    requests: Annotated[int, Figure("pending_requests", "Submissions that are not durable yet.")] = 0
    pools: Annotated[dict[str, PoolStatus], Part(PoolStatus, "pool")] = {}
    executors: Annotated[dict[str, ExecutorStatus], Part(ExecutorStatus, "executor")] = {}
    hub: Annotated[HubStatus | None, Part(HubStatus)] = None
    """The hub that workers connect to, if there is one."""
    pool_size: Annotated[int, Figure("database_connections", "Connections, by use.", label="use=size")] = 0
    active_connections: Annotated[int, Figure("database_connections", label="use=active")] = 0
    waiting_for_connections: Annotated[int, Figure("database_connections", label="use=waiting")] = 0
    saturation: Annotated[
        float,
        Figure("database_saturation_ratio", "Share of callers' time that was spent waiting for a connection.", largest),
    ] = 0.0
    backpressure: Annotated[float, Figure("backpressure_factor", "1 is full speed.", smallest)] = 1.0
    backpressure_events: Annotated[int, Figure("backpressure_events_total", "How often the factor was changed.")] = 0
    error_rate: Annotated[
        float, Figure("error_ratio", "Share of the latest batches of all pools that failed.", largest)
    ] = 0.0
    commits: Annotated[int, Figure("commits_total", "Group commits.")] = 0
    outage: str | None = None
    """The reason for which commits fail."""
    memory_bytes: Annotated[
        int,
        Figure("process_resident_memory_bytes", "Memory of the orchestrator's whole process."),
        TableColumn("memory", Unit.SIZE, order=1),
    ] = 0
    cpu_seconds: Annotated[
        float, Figure("process_cpu_seconds_total", "CPU time of the orchestrator's whole process.")
    ] = 0.0
    cpu_ratio: Annotated[float, Figure(), TableColumn("cpu", Unit.SHARE)] = 0.0
    """CPU seconds per second in the last interval; above 1 if several cores were used."""
    events: tuple[Event, ...] = ()

    @property
    def active_executors(self) -> Annotated[int, Figure("active_executors", "Stage executors of all pools.")]:
        return sum(pool.executors for pool in self.pools.values())

    @property
    def has_outage(self) -> Annotated[bool, Figure("database_outage", "1 while commits do not get through.")]:
        return self.outage is not None

    @property
    def condition(
        self,
    ) -> Annotated[
        str,
        Figure(
            "orchestrator_condition",
            "1 for the condition that an orchestrator is in.",
            label="condition",
            states=CONDITIONS[:-1],
        ),
    ]:
        """The worst condition among its troubles."""
        return max((one.condition for one in self.troubles), key=CONDITIONS.index, default="healthy")

    @property
    def troubles(self) -> tuple[Trouble, ...]:
        """Its problems. An orchestrator that is being stopped has none."""
        return () if self.stopping else tuple(_troubles(self))


class Orchestrator(msgspec.Struct, frozen=True, kw_only=True):
    """An orchestrator that is alive, seen from any process."""

    METRIC_PREFIX: ClassVar[str] = "turnout_"
    id: str
    """The id of its session."""
    host: str = ""
    pid: int = 0
    silent_seconds: float = 0.0
    """Seconds since its last heartbeat, by the database's clock."""
    status: Annotated[OrchestratorStatus, Part(OrchestratorStatus)] = OrchestratorStatus()

    @property
    def name(self) -> str:
        return f"{self.host}:{self.pid}"

    @property
    def age_seconds(
        self,
    ) -> Annotated[
        float,
        Figure("status_age_seconds", "How old the figures of this orchestrator are."),
        TableColumn("seen", Unit.AGE, rank=1),
    ]:
        return self.status.age_seconds + self.silent_seconds


def combined(statuses: Sequence[OrchestratorStatus]) -> OrchestratorStatus:
    """Returns several orchestrators as one, their stage executors, hubs and events left out."""
    if not statuses:
        return OrchestratorStatus()
    found = combine(statuses)
    if any(one.shared for one in found.executors.values()):
        # The capacity of a worker that is connected to several hubs counts once.
        capacity = sum(one.capacity for one in combined_workers(statuses))
        for name, executor in found.executors.items():
            if executor.shared:
                found.executors[name] = msgspec.structs.replace(executor, capacity=capacity)
    return found


def combined_workers(statuses: Sequence[OrchestratorStatus]) -> list[WorkerFigures]:
    """Returns the workers of all hubs, each once, over the hubs that it is connected to."""
    return over_all_hubs([one.hub for one in statuses if one.hub is not None])


def health_report(alive: Sequence[OrchestratorStatus], pools: Sequence[str]) -> dict[str, Any]:
    """Returns the body of ``GET /health/orchestration``, over all orchestrators that are alive. In the names of pools
    "task" means run and "step" means task."""
    found = combined(alive)
    return {
        "status": max((one.condition for one in alive), key=CONDITIONS.index, default="down"),
        "coordinator": {"running": bool(alive), "uptime_seconds": round(found.uptime_seconds)},
        "executor_pools": {name: _pool_report(found.pools.get(name, PoolStatus())) for name in pools},
        "database": {
            "pool_size": found.pool_size,
            "active_connections": found.active_connections,
            "saturation": round(found.saturation, 3),
        },
    }


def _pool_report(pool: PoolStatus) -> dict[str, Any]:
    return {
        "healthy": pool.healthy + pool.degraded,
        "unhealthy": pool.unhealthy,
        "throughput": round(pool.throughput, 1),
    }


def read_status(text: str | None, uptime: float) -> OrchestratorStatus:
    """Returns the status that an orchestrator stored last. One that has stored nothing yet, or is of another version of
    Turnout, has only its uptime."""
    if text is not None:
        try:
            return msgspec.json.decode(text, type=OrchestratorStatus)
        except msgspec.ValidationError:
            pass
    return OrchestratorStatus(uptime_seconds=uptime)


def _troubles(status: OrchestratorStatus) -> Iterator[Trouble]:
    if status.age_seconds > UNRESPONSIVE:
        why = f"has not moved for {status.age_seconds:.0f} s; all else is as it was before"
        yield Trouble("unhealthy", "event loop", why)
    if status.outage is not None:
        yield Trouble("unhealthy", "database", f"does not take commits: {status.outage}")
    for name, pool in status.pools.items():
        if pool.executors and not pool.healthy + pool.degraded:
            yield Trouble("unhealthy", name, f"none of its {pool.executors} stage executors works")
        for one in pool.stage_executors:
            if one.state in ("degraded", "unhealthy"):
                yield Trouble("degraded", name, f"{one.id} is {one.state}: {one.reason}")
        if pool.breaker != "closed":
            yield Trouble("degraded", name, _breaker(pool.breaker))
    if status.backpressure < 1.0:
        why = f"{status.saturation:.0%} of its callers' time goes into waiting for a connection"
        yield Trouble("degraded", "database", f"{why}: backpressure, factor {status.backpressure:g}")
    for name, executor in status.executors.items():
        if executor.breaker != "closed":
            yield Trouble("degraded", f"executor {name}", _breaker(executor.breaker))
    if status.hub is not None:
        yield from _hub_troubles(status.hub)


def _hub_troubles(hub: HubStatus) -> Iterator[Trouble]:
    for worker in hub.listed:
        if worker.breaker != "closed":
            cause = f"; the last failure: {worker.cause}" if worker.cause else ""
            yield Trouble("degraded", f"worker {worker.name}", f"{_breaker(worker.breaker)}{cause}")
    for reason in hub.waits:
        yield Trouble("degraded", "hub", f"tasks wait for a worker that is not there: {reason}")


def _breaker(state: str) -> str:
    return f"its circuit breaker is {state.replace('_', ' ')}"
