"""Makes the spans of what a commit has ended: attempts with their queue time and commit, and runs (pure).

A span is made by the commit that ends it, so the owner that made the commit is the only one that has it. Its ids follow
from the run, the task and the attempt, so spans of several owners are one trace.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, TypeAlias

import msgspec

from turnout.model.events import STATUS_RETURNED, ExecutionResult
from turnout.model.names import split_task_id
from turnout.model.rows import NewRun, RunRow, TaskRow
from turnout.model.run_machine import RunMachine
from turnout.model.states import RUN_TERMINAL, TASK_RUNNING, TASK_TERMINAL, RunState, TaskState
from turnout.model.trace_ids import attempt_span_id, run_span_id

QUEUE, ATTEMPT, COMMIT, RUN = "queue", "attempt", "commit", "run"

Attributes: TypeAlias = dict[str, str | int]
ReadyAt: TypeAlias = Callable[[int], float | None]
"""Returns when the task at this position became ready for its newest attempt; None if this owner has not seen it."""


class Span(msgspec.Struct, frozen=True, kw_only=True):
    """A span without the id of its trace, which is that of the topmost ancestor of its run."""

    part: str
    name: str
    span_id: int
    parent_id: int | None = None
    start: float
    end: float
    attributes: Attributes
    error: str | None = None
    """The description of a failure; None: it did not fail."""
    rerun_of: str | None = None
    """The run that a span of a run repeats: its span is linked."""


class TaskEnd(msgspec.Struct, frozen=True, kw_only=True):
    """An attempt that ended its task, with its times."""

    executor: str
    state: str
    attempts: int
    start_delay: float | None
    """Seconds from when the task was ready until the body began; None if it did not begin."""
    seconds: float | None
    """Seconds that the body took."""
    span_id: int


class Changed(Protocol):
    """The changes of a commit, before they are applied to the run's machine."""

    @property
    def machine(self) -> RunMachine: ...

    @property
    def rows(self) -> dict[int, TaskRow]: ...

    @property
    def run(self) -> RunRow | None: ...

    @property
    def now(self) -> float: ...


class EndedAttempt(msgspec.Struct, frozen=True, kw_only=True):
    """An attempt that a commit ended: its row while it ran, the row after it, and its result, if it has one."""

    before: TaskRow
    after: TaskRow
    result: ExecutionResult | None


def ended_attempts(changes: Changed, results: Sequence[ExecutionResult]) -> Iterator[EndedAttempt]:
    """Yields the attempts that a commit ended. Mapped tasks have none: their items do."""
    machine = changes.machine
    tasks, mapped = machine.tasks, machine.graph.mapped
    by_attempt = {(split_task_id(each.task_id)[1], each.attempt): each for each in results if not each.shadow}
    for pos, row in changes.rows.items():
        if pos >= len(tasks) or pos in mapped:
            continue
        before = tasks[pos]
        if before.state is TASK_RUNNING and (row.state is not TASK_RUNNING or row.attempt != before.attempt):
            yield EndedAttempt(before=before, after=row, result=by_attempt.get((pos, before.attempt)))


def attempt_spans(new: NewRun, ended: EndedAttempt, ready_at: float | None, now: float, durable: float) -> list[Span]:
    """Returns the queue time of an attempt, its body, and the time until its outcome was durable. An attempt whose body
    did not begin has only the first."""
    before, result = ended.before, ended.result
    run_id, pos, attempt = new.run_id, before.pos, before.attempt
    dispatched = before.dispatched_at or now
    started = _started(ended)
    finished = max(started or dispatched, (None if result is None else result.finished_at) or now)
    queued = min(ready_at or dispatched, started or finished)
    attributes = _attributes(new, ended)
    title = _title(before)

    def span(part: str, start: float, end: float, error: str | None = None) -> Span:
        return Span(
            part=part,
            name=f"{part} {title}",
            span_id=attempt_span_id(run_id, pos, attempt, part),
            parent_id=run_span_id(run_id),
            start=start,
            end=end,
            attributes=attributes,
            error=error,
        )

    if started is None:
        return [span(QUEUE, queued, finished)]
    return [
        span(QUEUE, queued, started),
        span(ATTEMPT, started, finished, _failure(ended)),
        span(COMMIT, finished, max(finished, durable)),
    ]


def _started(ended: EndedAttempt) -> float | None:
    """Returns when the body began, or may have begun; None if it did not."""
    result = ended.result
    if result is None or result.started_at is not None:
        return ended.before.dispatched_at if result is None else result.started_at
    return None if result.status is STATUS_RETURNED else ended.before.dispatched_at


def _attributes(new: NewRun, ended: EndedAttempt) -> Attributes:
    before, result = ended.before, ended.result
    found: Attributes = {
        "turnout.run.id": new.run_id,
        "turnout.workflow": new.workflow,
        "turnout.task": before.name,
        "turnout.attempt": before.attempt,
        "turnout.executor": before.executor or "",
        "turnout.outcome": str(ended.after.state if result is None else result.status),
    }
    if before.holder:
        found["turnout.holder"] = before.holder
    if before.index is not None:
        found["turnout.index"] = before.index
    if result is not None and result.error is not None:
        found["error.type"] = result.error.type
    return found


def _failure(ended: EndedAttempt) -> str | None:
    result = ended.result
    if result is None or result.error is None:
        return ended.after.reason or "failed" if ended.after.state is TaskState.FAILED else None
    if ended.after.state in (TaskState.SKIPPED, TaskState.COMPLETED):
        return None
    return f"{result.error.type}: {result.error.message}"


def _title(row: TaskRow) -> str:
    """Returns the name of the task; that of an item is its mapped task's, so that there are few names."""
    return row.name if row.group is None else row.name.rpartition("[")[0] or row.name


def task_end(new: NewRun, ended: EndedAttempt, ready_at: float | None) -> TaskEnd | None:
    """Returns the figures of an attempt that ended its task; None if the task goes on."""
    after, before = ended.after, ended.before
    if after.state not in TASK_TERMINAL:
        return None
    result = ended.result
    started = None if result is None else result.started_at
    finished = None if result is None else result.finished_at
    since = ready_at or before.dispatched_at
    return TaskEnd(
        executor=before.executor or "",
        state=str(after.state),
        attempts=after.attempt,
        start_delay=None if started is None or since is None else max(0.0, started - since),
        seconds=None if started is None or finished is None else max(0.0, finished - started),
        span_id=attempt_span_id(new.run_id, before.pos, before.attempt),
    )


def run_span(changes: Changed) -> Span | None:
    """Returns the span of a run that the commit ended; None if it goes on."""
    row, machine = changes.run, changes.machine
    if row is None or row.state not in RUN_TERMINAL or machine.row.state in RUN_TERMINAL:
        return None
    new = machine.new
    parent = None
    if new.parent_run is not None and new.parent_pos is not None:
        parent = attempt_span_id(new.parent_run, new.parent_pos, new.parent_attempt)
    attributes: Attributes = {
        "turnout.run.id": new.run_id,
        "turnout.workflow": new.workflow,
        "turnout.version": new.version,
        "turnout.state": str(row.state),
    }
    if row.reason:
        attributes["turnout.reason"] = row.reason
    if new.parent_run is not None:
        attributes["turnout.parent_run.id"] = new.parent_run
    return Span(
        part=RUN,
        name=f"{RUN} {new.workflow.rpartition('::')[2]}",
        span_id=run_span_id(new.run_id),
        parent_id=parent,
        start=new.created_at,
        end=max(new.created_at, row.finished_at or changes.now),
        attributes=attributes,
        error=_run_failure(row) if row.state is RunState.FAILED else None,
        rerun_of=new.rerun_of,
    )


def _run_failure(row: RunRow) -> str:
    return f"{row.error.type}: {row.error.message}" if row.error is not None else row.reason or "failed"
