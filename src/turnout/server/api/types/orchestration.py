"""Bodies of answers about orchestrators, their pools over time, and task executors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from turnout.model.executor_status import ExecutorStatus
from turnout.model.figures import combine
from turnout.model.health import Event, Orchestrator, Trouble
from turnout.orchestration.coordination.status_history import StatusSample


class StageView(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One stage executor."""

    id: str
    state: str
    state_seconds: float
    """How long it has been in that state."""
    reason: str | None = None
    """The reason for which it is not healthy."""
    items: int
    items_per_second: float
    average_seconds: float
    """Of a batch."""
    error_rate: float


class PoolView(msgspec.Struct, frozen=True, kw_only=True):
    """One pool of stage executors. In its name "task" means run and "step" task."""

    name: str
    executors: int
    healthy: int
    degraded: int
    unhealthy: int
    min_executors: int
    max_executors: int
    utilisation: float
    throughput: float
    """Items a second."""
    queued: int
    items: int
    batches: int
    errors: int
    scaled_up: int
    scaled_down: int
    replaced: int
    restarted: int
    breaker: str
    stage_executors: list[StageView]


class OrchestratorView(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One orchestrator that is alive."""

    id: str
    host: str
    pid: int
    silent_seconds: float
    """Since its last heartbeat."""
    condition: str
    """``healthy``, ``degraded`` or ``unhealthy``."""
    troubles: list[Trouble]
    uptime_seconds: float
    stopping: bool
    owned_runs: int
    pool_size: int
    """Connections to the database."""
    active_connections: int
    waiting_for_connections: int
    saturation: float
    """Share of callers' time that was spent waiting for a connection."""
    backpressure: float
    """1 is full speed."""
    error_rate: float
    commits: int
    outage: str | None = None
    """The reason for which commits fail."""
    memory_bytes: int
    cpu_ratio: float
    hub: str | None = None
    """The address of its hub."""
    workers: int = 0
    """Workers that are connected to its hub."""
    pools: list[PoolView]
    events: list[Event]
    """Its latest scaling, replacements, changes of backpressure and of breakers."""


class Orchestration(msgspec.Struct, frozen=True, kw_only=True):
    """The orchestrators on the database."""

    orchestrators: list[OrchestratorView]
    this: str
    """The id of the one that answers."""


class OrchestrationHistory(msgspec.Struct, frozen=True, kw_only=True):
    """The orchestrator of the answering server over the last hour, oldest first."""

    orchestrator: str
    interval: float
    """Seconds between two samples."""
    samples: list[StatusSample]
    events: list[Event]
    """Scaling, replacements, changes of backpressure and of breakers, with their reasons."""


class ExecutorFigures(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A task executor, of one orchestrator or of all."""

    active: int
    """Attempts that it has in hand."""
    capacity: int | None = None
    """Attempts that it runs at once; absent if it does not report that."""
    running: int
    waiting: int
    """Attempts in its hand that have not begun."""
    async_capacity: int = 0
    async_running: int = 0
    executed: int
    failed: int
    attempts_per_second: float
    average_seconds: float | None = None
    breaker: str
    """``closed``, ``half_open`` or ``open``; of several, the worst."""


class ExecutorAt(ExecutorFigures, frozen=True, kw_only=True, omit_defaults=True):
    """A task executor of one orchestrator."""

    orchestrator: str


class ExecutorView(ExecutorFigures, frozen=True, kw_only=True, omit_defaults=True):
    """A task executor over all orchestrators."""

    key: str
    shared: bool
    """True if its capacity is that of workers, which several orchestrators use."""
    here: bool
    """True if the answering server has it."""
    local: bool = False
    """True if its attempts run in the process of an orchestrator, or in a child of it."""
    kinds: list[str] = []
    """The kinds of bodies that it runs, if the answering server has it."""
    orchestrators: list[ExecutorAt]


class Executors(msgspec.Struct, frozen=True):
    """Task executors, by key."""

    executors: list[ExecutorView]


def orchestrator_view(one: Orchestrator) -> OrchestratorView:
    status = one.status
    fields = {
        name: getattr(status, name)
        for name in (
            "uptime_seconds",
            "stopping",
            "owned_runs",
            "pool_size",
            "active_connections",
            "waiting_for_connections",
            "saturation",
            "backpressure",
            "error_rate",
            "commits",
            "outage",
            "memory_bytes",
            "cpu_ratio",
        )
    }
    return OrchestratorView(
        id=one.id,
        host=one.host,
        pid=one.pid,
        silent_seconds=one.silent_seconds,
        condition=status.condition,
        troubles=list(status.troubles),
        hub=None if status.hub is None else status.hub.address,
        workers=0 if status.hub is None else status.hub.workers,
        pools=_pools(one),
        events=list(status.events),
        **fields,
    )


def _pools(one: Orchestrator) -> list[PoolView]:
    shown = [each for each in PoolView.__struct_fields__ if each not in ("name", "stage_executors")]
    return [
        PoolView(
            name=name,
            **{field: getattr(pool, field) for field in shown},
            stage_executors=[
                StageView(**{field: getattr(stage, field) for field in StageView.__struct_fields__})
                for stage in pool.stage_executors
            ],
        )
        for name, pool in one.status.pools.items()
    ]


def executor_views(
    orchestrators: Sequence[Orchestrator], local: Sequence[str], kinds: dict[str, list[str]]
) -> list[ExecutorView]:
    """Returns the task executors of these orchestrators; ``local`` and ``kinds`` are those of this server."""
    keys = sorted({key for one in orchestrators for key in one.status.executors})
    found: list[ExecutorView] = []
    for key in keys:
        having = [(one.id, one.status.executors[key]) for one in orchestrators if key in one.status.executors]
        total = combine([status for _, status in having])
        found.append(
            ExecutorView(
                key=key,
                shared=total.shared,
                here=key in kinds,
                local=key in local,
                kinds=kinds.get(key, []),
                orchestrators=[ExecutorAt(orchestrator=owner, **_figures(status)) for owner, status in having],
                **_figures(total),
            )
        )
    return found


def _figures(status: ExecutorStatus) -> dict[str, Any]:
    return {name: getattr(status, name) for name in ExecutorFigures.__struct_fields__}
