"""Where did each attempt of a run go, who decided it, and what became of it? Read from the run's history."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from turnout.model.events import ExecutionStatus
from turnout.model.reasons import UNMET
from turnout.model.rows import HistoryRow, TaskRow
from turnout.model.states import TaskState

_NO_FAILURE = frozenset({ExecutionStatus.COMPLETED, ExecutionStatus.RETURNED, ExecutionStatus.DEFERRED})


class AttemptView(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One attempt of one task."""

    task: str
    attempt: int
    """Its ordinal: the log lines are found by it, and ``info.token`` has it."""
    number: int | None = None
    """What its body knows as ``info.attempt``: which of those that began it is. None: it did not begin."""
    executor: str | None = None
    decision: str | None = None
    """Why that executor: the rule, selector or default that decided."""
    worker: str | None = None
    """The name of the worker, or the id of the poller, that had it; None: it ran in the orchestrator."""
    began_at: float = 0.0
    """When its start was committed, by the database's clock."""
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
        """Whether it was begun and did not end well, whatever became of the task."""
        return self.error is not None and self.outcome not in _NO_FAILURE


def attempts_of(history: Iterable[tuple[float, HistoryRow]], tasks: Iterable[TaskRow]) -> list[AttemptView]:
    """All attempts, in the order in which they began."""
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
    # Later attempts keep the decision of the first, so the row has that of all.
    return AttemptView(
        task=row.name,
        attempt=move.attempt,
        number=number,
        executor=detail.get("executor") or row.executor,
        decision=detail.get("reason") or row.decision,
        worker=detail.get("worker") or detail.get("poller"),
        began_at=at,
    )


def _ended(attempt: AttemptView, move: HistoryRow, at: float, row: TaskRow) -> AttemptView:
    detail = _detail(move)
    error, traceback = detail.get("error"), detail.get("traceback")
    kind, _, message = (error or "").partition(": ")
    if error and row.error is not None and move.new != TaskState.READY:
        kind, message, traceback = row.error.type, row.error.message, row.error.traceback
    status = detail.get("status") or str(move.new)
    # A failure that could be tried again, and is not any more, is the failure of the task.
    spent = status == ExecutionStatus.RETRY and move.new == TaskState.FAILED
    return msgspec.structs.replace(
        attempt,
        number=None if status == ExecutionStatus.RETURNED or UNMET in detail else attempt.number,
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
    said = None if move.detail is None else msgspec.json.decode(move.detail)
    return said if isinstance(said, dict) else {}
