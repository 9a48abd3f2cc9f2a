"""Bodies of answers about the times of the tasks of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from turnout.model.critical_path import TaskSpan, critical_path
from turnout.model.graph import Graph
from turnout.model.rows import StoredRun, TaskRow
from turnout.model.states import TaskState
from turnout.model.task_lists import GraphTask, ItemGroup
from turnout.model.timeline import NO_WAITS, TaskWaits, WaitSpan
from turnout.runner.views import AttemptView


class TimelineAttempt(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One attempt of a task on the timeline."""

    attempt: int
    executor: str | None = None
    worker: str | None = None
    decision: str | None = None
    """Why that executor."""
    began_at: float
    """When its start was committed."""
    started_at: float | None = None
    """When its body began, where that is known: until then it was on its way, or queued at its executor."""
    ended_at: float | None = None
    outcome: str | None = None
    reason: str | None = None
    error: str | None = None


class TimelineTask(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A task on the timeline."""

    name: str
    state: TaskState
    group: str | None = None
    """The name of the mapped task, for one of its items."""
    index: int | None = None
    ready_at: float | None = None
    """When it could start first."""
    started_at: float | None = None
    """When the body of its newest attempt began; of a mapped task, the first of its items."""
    finished_at: float | None = None
    critical: bool = False
    """True if the end of the run waited for it."""
    waits: list[WaitSpan] = []
    attempts: list[TimelineAttempt] = []
    items: dict[TaskState, int] | None = None
    """Of a mapped task: its items by state."""


class Timeline(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The times of the tasks of a run. ``next`` is the cursor of the next page."""

    run_id: str
    created_at: float
    started_at: float | None = None
    finished_at: float | None = None
    at: float
    """The time of this answer, by the database's clock: where bars of what still runs end."""
    tasks: list[TimelineTask]
    critical_path: list[str]
    """The tasks that the end of the run waited for, or waits for, in their order."""
    next: str | None = None
    position: str
    """The events of the run behind it bring the timeline up to date: ``after`` of the stream."""


def path_of(graph: Graph, tasks: Sequence[GraphTask], now: float) -> list[str]:
    """Returns the critical path of a run; hooks are not on it."""
    spans = {
        task.name: TaskSpan(graph.tasks[task.pos].depends_on, _ended(task, now))
        for task in tasks
        if task.pos not in graph.hooks
    }
    return critical_path(spans)


def _ended(task: GraphTask, now: float) -> float | None:
    if task.state in (TaskState.RUNNING, TaskState.READY):
        return now
    return task.finished_at if task.started_at is not None or task.dispatched_at is not None else None


def timeline_task(
    row: TaskRow,
    waits: Mapping[int, TaskWaits],
    attempts: Sequence[AttemptView],
    items: ItemGroup | None,
    path: set[str],
) -> TimelineTask:
    """Returns one task; ``attempts`` are its own."""
    known = waits.get(row.pos, NO_WAITS)
    return TimelineTask(
        name=row.name,
        state=row.state,
        group=None if row.group is None else row.name.rpartition("[")[0],
        index=row.index,
        ready_at=known.ready_at,
        started_at=row.started_at if items is None else items.started_at,
        finished_at=row.finished_at,
        critical=row.name in path,
        waits=list(known.spans),
        attempts=[_attempt(each) for each in attempts],
        items=None if items is None else items.counts,
    )


def _attempt(attempt: AttemptView) -> TimelineAttempt:
    return TimelineAttempt(
        attempt=attempt.attempt,
        executor=attempt.executor,
        worker=attempt.worker,
        decision=attempt.decision,
        began_at=attempt.began_at,
        started_at=attempt.started_at,
        ended_at=attempt.ended_at,
        outcome=attempt.outcome,
        reason=attempt.reason,
        error=attempt.error_type,
    )


def timeline_of(
    run: StoredRun, tasks: list[TimelineTask], path: list[str], at: float, position: str, following: str | None
) -> Timeline:
    return Timeline(
        run_id=run.new.run_id,
        created_at=run.new.created_at,
        started_at=run.row.started_at,
        finished_at=run.row.finished_at,
        at=at,
        tasks=tasks,
        critical_path=path,
        next=following,
        position=position,
    )
