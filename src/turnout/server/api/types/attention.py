"""Bodies of answers about what needs attention: failures, long waits, lost workers, open breakers, late schedules."""

from __future__ import annotations

import msgspec

from turnout.model.health import Trouble
from turnout.model.states import TaskState
from turnout.runner.task_detail import WaitView
from turnout.server.api.types.runs import Run


class LongWait(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A task, or a run, that waits longer than usual."""

    run_id: str
    workflow: str
    task: str | None = None
    """The task; absent: the run itself, which has no orchestrator that drives it, or waits for its limits."""
    reason: str | None = None
    """``no_capacity``, ``no_worker_matches{…}``, …; of a run ``not_driven`` or
    ``limit:`` with the names of its limits."""
    wait: WaitView | None = None
    """The reason in words, and what ends or shortens the wait. Absent for reasons in an executor's own words."""
    since: float
    waited: float
    """Seconds."""
    usual: float | None = None
    """Seconds that 95 of 100 earlier waits of the task took at most; absent: too few are known."""
    bound: float
    """Seconds above which a wait is longer than usual."""


class LostWorker(msgspec.Struct, frozen=True, kw_only=True):
    """A worker that was declared dead and has not come back."""

    id: str
    name: str
    host: str
    labels: dict[str, str]
    lost_at: float


class OpenBreaker(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A circuit breaker that is not closed."""

    kind: str
    """``executor``, ``pool`` or ``worker``."""
    name: str
    state: str
    """``open`` or ``half_open``."""
    orchestrator: str
    cause: str = ""
    """Of a worker: its last failure."""


class LateSchedule(msgspec.Struct, frozen=True, kw_only=True):
    """A schedule whose due time has passed without a decision: no server with its workflow evaluates it."""

    id: int
    workflow: str
    name: str
    due_at: float
    late: float
    """Seconds."""


class Attention(msgspec.Struct, frozen=True, kw_only=True):
    """All that needs attention now. Every list is bounded; totals are counted up to a bound as well."""

    at: float
    """The time of the answer, by the database's clock: ``since`` of the next request."""
    since: float
    failed: list[Run]
    """Runs without a parent that failed since then, the latest first."""
    failed_total: int
    waiting: list[LongWait]
    """The longest first."""
    waiting_total: int
    workers: list[LostWorker]
    breakers: list[OpenBreaker]
    schedules: list[LateSchedule]
    troubles: list[Trouble]
    """Troubles of orchestrators that are in no other list."""


class OpenTaskView(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A task of a run that has not ended."""

    run_id: str
    workflow: str
    name: str
    state: TaskState
    attempt: int = 0
    priority: int = 0
    executor: str | None = None
    labels: dict[str, str] | None = None
    holder: str | None = None
    """The id of the worker, poller or orchestrator that holds its attempt."""
    reason: str | None = None
    wait: WaitView | None = None
    """While it waits: the reason in words, and what ends or shortens the wait."""
    since: float | None = None
    """When it came into this state."""
    started_at: float | None = None


class OpenTasks(msgspec.Struct, frozen=True, kw_only=True):
    """Tasks of runs that have not ended, those of the oldest runs first."""

    tasks: list[OpenTaskView]
    more: bool
    """True: there are more than the limit."""
