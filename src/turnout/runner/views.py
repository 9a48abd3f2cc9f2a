"""Holds what is shown of runs, tasks and attempts, and the exception of a run that did not complete."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from turnout.errors import RunCancelled, RunError, RunFailed, RunTimedOut, TaskFailure
from turnout.model.events import ErrorInfo, ExecutionStatus
from turnout.model.names import is_hook
from turnout.model.reasons import UNMET
from turnout.model.rows import HistoryRow, StoredRun, TaskRow
from turnout.model.run_machine import begun_before
from turnout.model.states import RunState, TaskState

_BEGUN = (TaskState.RUNNING, TaskState.COMPLETED)
"""States whose attempt is not counted on the row yet."""
_NO_FAILURE = frozenset(
    {ExecutionStatus.COMPLETED, ExecutionStatus.SKIPPED, ExecutionStatus.RETURNED, ExecutionStatus.DEFERRED}
)
MAX_SHOWN_FAILURES = 10
"""How many failed tasks the message of RunFailed shows; its ``failures`` has all of them."""


class TaskView(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One task of a run: its state, where it ran or will run, and why."""

    name: str
    state: TaskState
    attempt: int = 0
    """The ordinal of its newest attempt; those that were handed back before they began count."""
    begun: int = 0
    """How many of its attempts have begun: what the body of the newest knows as ``info.attempt``. Once a task has
    ended, the times that it deferred itself no longer count."""
    executor: str | None = None
    decision: str | None = None
    """Why that executor."""
    resources: dict[str, float | str] | None = None
    """What its attempts ask of the executor, as ``{"gpu": 1, "memory": "8GiB"}``."""
    reason: str | None = None
    """Why it waits, or why it was skipped or cancelled."""
    retry_in: float | None = None
    error: ErrorInfo | None = None
    dispatched_at: float | None = None
    started_at: float | None = None
    finished_at: float | None = None
    hook: bool = False
    """True for a hook of the workflow or of one of its tasks: it does not decide how the run ends."""
    group: str | None = None
    """The name of the mapped task, for one of its items."""
    index: int | None = None


class RunView(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A run at one moment."""

    id: str
    workflow: str
    state: RunState
    reason: str | None = None
    error: ErrorInfo | None = None
    key: str | None = None
    priority: int = 0
    rerun_of: str | None = None
    parent_run: str | None = None
    """The id of the parent run, for a child run."""
    input: Any = None
    """Its parameters by name, as JSON values."""
    owner: str | None = None
    created_at: float = 0.0
    started_at: float | None = None
    finished_at: float | None = None


def run_view(run: StoredRun) -> RunView:
    new, row = run.new, run.row
    return RunView(
        id=new.run_id,
        workflow=new.workflow,
        state=row.state,
        reason=row.reason,
        error=row.error,
        key=new.key,
        priority=new.priority,
        rerun_of=new.rerun_of,
        parent_run=new.parent_run,
        input=msgspec.json.decode(new.input),
        owner=run.owner,
        created_at=new.created_at,
        started_at=row.started_at,
        finished_at=row.finished_at,
    )


def task_view(row: TaskRow) -> TaskView:
    return TaskView(
        name=row.name,
        state=row.state,
        attempt=row.attempt,
        begun=begun_before(row) + (row.state in _BEGUN),
        executor=row.executor,
        decision=row.decision,
        resources=None if row.resources is None else row.resources.document(),
        reason=row.reason,
        retry_in=row.retry_in,
        error=row.error,
        dispatched_at=row.dispatched_at,
        started_at=row.started_at,
        finished_at=row.finished_at,
        hook=is_hook(row.name),
        group=None if row.group is None else row.name.rpartition("[")[0],
        index=row.index,
    )


def failure_of(run: StoredRun, tasks: Iterable[TaskRow]) -> RunError:
    """Returns the exception of a run that did not complete."""
    run_id, row = run.new.run_id, run.row
    if row.state is RunState.CANCELLED:
        return RunCancelled(f"run {run_id} of {run.new.workflow} was cancelled: {row.reason}", run_id=run_id)
    failures = [
        TaskFailure(task.name, task.error.type, task.error.message, task.error.traceback, task.attempt, task.error.code)
        for task in tasks
        if task.state is TaskState.FAILED and task.error is not None
    ]
    if row.reason == "run_timed_out":
        return RunTimedOut(
            f"run {run_id} of {run.new.workflow} exceeded its timeout of {run.new.timeout or 0:g} s",
            run_id=run_id,
            failures=failures,
        )
    if failures:
        text = "\n".join(
            f"  {one.task} (attempt {one.attempts}): {one.type}: {one.message}\n{_indented(one.traceback)}".rstrip()
            for one in failures[:MAX_SHOWN_FAILURES]
        )
        if len(failures) > MAX_SHOWN_FAILURES:
            text += f"\n  … and {len(failures) - MAX_SHOWN_FAILURES:,} more"
    else:
        text = f"  {row.error.type}: {row.error.message}" if row.error else f"  {row.reason}"
    error = RunFailed(f"run {run_id} of {run.new.workflow} failed:\n{text}", run_id=run_id, failures=failures)
    return error


def _indented(text: str) -> str:
    return "".join(f"    {line}\n" for line in text.splitlines())


class AttemptView(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One attempt of one task."""

    task: str
    attempt: int
    """Its ordinal, which log lines and ``info.token`` have."""
    number: int | None = None
    """What its body has as ``info.attempt``: its number among the attempts that began. None: it did not begin."""
    executor: str | None = None
    decision: str | None = None
    """Why that executor: the rule, selector or default that decided."""
    worker: str | None = None
    """The name of the worker, or the id of the poller, that had it; None: it ran in the orchestrator."""
    began_at: float = 0.0
    """When its start was committed, by the database's clock."""
    started_at: float | None = None
    """When its body began, where that is known: until then it was on its way, or queued at its executor."""
    ended_at: float | None = None
    outcome: str | None = None
    """``completed``, ``failed``, ``lost``, ``returned``, …; None: it runs."""
    reason: str | None = None
    error: str | None = None
    """Type and message of what it raised."""
    error_type: str | None = None
    message: str | None = None
    traceback: str | None = None
    handler_version: str | None = None
    """Of the handler that ran it, where it says so."""

    @property
    def failed(self) -> bool:
        """True if it began and failed, whatever the state of the task."""
        return self.error is not None and self.outcome not in _NO_FAILURE


def attempts_of(history: Iterable[tuple[float, HistoryRow]], tasks: Iterable[TaskRow]) -> list[AttemptView]:
    """Returns all attempts, in the order in which they began."""
    rows = {row.pos: row for row in tasks}
    found: dict[tuple[int, int], AttemptView] = {}
    begun: Counter[int] = Counter()
    for at, move in history:
        key = (move.pos, move.attempt)
        if move.pos < 0 or move.attempt == 0 or move.pos not in rows:
            continue
        if move.new == TaskState.RUNNING:
            found[key] = _begun(rows[move.pos], move, at, begun[move.pos] + 1)
        elif move.old == TaskState.RUNNING and key in found:
            found[key] = ended = _ended(found[key], move, at, rows[move.pos])
            begun[move.pos] += ended.number is not None
    return list(found.values())


def _begun(row: TaskRow, move: HistoryRow, at: float, number: int) -> AttemptView:
    detail = _detail(move)
    # Later attempts keep the decision of the first, so the row has the decision of all.
    return AttemptView(
        task=row.name,
        attempt=move.attempt,
        number=number,
        executor=detail.get("executor") or row.executor,
        decision=detail.get("reason") or row.decision,
        worker=detail.get("worker") or detail.get("poller"),
        began_at=at,
        started_at=row.started_at if move.attempt == row.attempt else None,
    )


def _ended(attempt: AttemptView, move: HistoryRow, at: float, row: TaskRow) -> AttemptView:
    detail = _detail(move)
    error, traceback = detail.get("error"), detail.get("traceback")
    kind, _, message = (error or "").partition(": ")
    if error and row.error is not None and move.new != TaskState.READY:
        kind, message, traceback = row.error.type, row.error.message, row.error.traceback
    status = detail.get("status") or str(move.new)
    # A retryable failure without a retry left is the failure of the task.
    spent = status == ExecutionStatus.RETRY and move.new == TaskState.FAILED
    return msgspec.structs.replace(
        attempt,
        number=None if status == ExecutionStatus.RETURNED or UNMET in detail else attempt.number,
        started_at=detail.get("started_at") or attempt.started_at,
        ended_at=at,
        outcome=str(move.new) if spent else status,
        reason=detail.get("reason"),
        error=error,
        error_type=kind or None,
        message=message if error else None,
        traceback=traceback or None,
        handler_version=detail.get("handler_version"),
    )


def _detail(move: HistoryRow) -> Mapping[str, Any]:
    detail = None if move.detail is None else msgspec.json.decode(move.detail)
    return detail if isinstance(detail, dict) else {}
