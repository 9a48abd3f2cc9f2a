"""The status of an orchestrator, stored with its heartbeats for any process to read, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from turnout.model.workers import HubStatus

UNRESPONSIVE = 10.0
"""Seconds after which an event loop that has not been seen to move counts as stuck."""

CONDITIONS = ("healthy", "degraded", "unhealthy", "down")
"""From the best to the worst."""


class StageStatus(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One stage executor."""

    id: str
    state: str = "healthy"
    """``starting``, ``healthy``, ``degraded``, ``unhealthy`` or ``stopping``."""
    state_seconds: float = 0.0
    """How long it has been in that state."""
    reason: str | None = None
    """Why it is not healthy."""
    items: int = 0
    items_per_second: float = 0.0
    average_seconds: float = 0.0
    """What a batch takes."""
    error_rate: float = 0.0
    """The share of its latest batches that failed."""
    busy_seconds: float = 0.0


class PoolStatus(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
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
    batches: int = 0
    errors: int = 0
    busy_seconds: float = 0.0
    scaled_up: int = 0
    """How often it has grown."""
    scaled_down: int = 0
    replaced: int = 0
    """How many were replaced because they were beyond help."""
    restarted: int = 0
    """How many were replaced because they had worked long enough."""
    breaker: str = "closed"
    stage_executors: tuple[StageStatus, ...] = ()


class ExecutorStatus(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One task executor."""

    active: int = 0
    """Attempts that it has in hand."""
    capacity: int | None = None
    """How many attempts it runs at once, if it says so: a constant of its setting up."""
    running: int = 0
    """How many of those that it has in hand run, but for async bodies; never more than ``capacity``."""
    waiting: int = 0
    """Attempts that it has in hand and that have not begun."""
    async_capacity: int = 0
    async_running: int = 0
    """Capacity and running for bodies on an event loop, which need no thread."""
    shared: bool = False
    """Its capacity is that of workers, which other orchestrators may have as well."""
    executed: int = 0
    failed: int = 0
    seconds: float | None = None
    """What its attempts took together, if it says so."""
    attempts_per_second: float = 0.0
    breaker: str = "closed"
    spare: int = 0
    """How many attempts it would take now, none of the orchestrator's own runs waiting for it: others may give it
    runs."""

    @property
    def average_seconds(self) -> float | None:
        return None if self.seconds is None or not self.executed else self.seconds / self.executed


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


class Trouble(msgspec.Struct, frozen=True):
    """One thing that is wrong, where, and why."""

    condition: str
    """What it makes of the orchestrator: ``degraded`` or ``unhealthy``."""
    where: str
    why: str


class OrchestratorStatus(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One orchestrator at one moment."""

    at: float = 0.0
    """The moment, by the orchestrator's wall clock."""
    age_seconds: float = 0.0
    """How old it was when it was stored: a stuck event loop leaves the last one that it made."""
    uptime_seconds: float = 0.0
    stopping: bool = False
    owned_runs: int = 0
    given_runs: int = 0
    """Waiting runs that it has handed to orchestrators with room."""
    requests: int = 0
    """Submissions that are not durable yet."""
    pools: dict[str, PoolStatus] = {}
    executors: dict[str, ExecutorStatus] = {}
    hub: HubStatus | None = None
    """What workers connect to, if there is one."""
    pool_size: int = 0
    active_connections: int = 0
    waiting_for_connections: int = 0
    saturation: float = 0.0
    backpressure: float = 1.0
    """The factor: 1.0 is full speed."""
    backpressure_events: int = 0
    """How often the factor was changed."""
    error_rate: float = 0.0
    """The share of all batches that failed lately."""
    commits: int = 0
    outage: str | None = None
    memory_bytes: int = 0
    """Of the whole process."""
    cpu_seconds: float = 0.0
    """Of the whole process."""
    cpu_ratio: float = 0.0
    """CPU seconds a second, lately; above 1 where several cores were used."""
    events: tuple[Event, ...] = ()

    @property
    def condition(self) -> str:
        """``healthy``, ``degraded`` or ``unhealthy``: that of the worst of its troubles."""
        return max((one.condition for one in self.troubles), key=CONDITIONS.index, default="healthy")

    @property
    def troubles(self) -> tuple[Trouble, ...]:
        """All that is wrong. Who stops on purpose is not ill."""
        return () if self.stopping else tuple(_troubles(self))


class Orchestrator(msgspec.Struct, frozen=True, kw_only=True):
    """An orchestrator that is alive, seen from any process."""

    id: str
    """Of its session."""
    host: str = ""
    pid: int = 0
    silent_seconds: float = 0.0
    """Since its last heartbeat, by the database's clock."""
    status: OrchestratorStatus = OrchestratorStatus()

    @property
    def name(self) -> str:
        return f"{self.host}:{self.pid}"


def read_status(text: str | None, uptime: float) -> OrchestratorStatus:
    """What an orchestrator that has been up for so many seconds last stored of itself. Of one that has stored nothing
    yet, or is of another version of Turnout, no more than that is known."""
    if text is not None:
        try:
            return msgspec.json.decode(text, type=OrchestratorStatus)
        except msgspec.ValidationError:
            pass
    return OrchestratorStatus(uptime_seconds=uptime)


def _troubles(status: OrchestratorStatus) -> Iterator[Trouble]:
    if status.age_seconds > UNRESPONSIVE:
        said = f"has not moved for {status.age_seconds:.0f} s; all else is as it was before"
        yield Trouble("unhealthy", "event loop", said)
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
        said = f"{status.saturation:.0%} of its callers' time goes into waiting for a connection"
        yield Trouble("degraded", "database", f"{said}: backpressure, factor {status.backpressure:g}")
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
