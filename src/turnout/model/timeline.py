"""Derives from the moves of a task when it could start and when it waited, and why (pure)."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from turnout.model.rows import HistoryRow
from turnout.model.states import TaskState


class WaitSpan(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A time in which a task was ready and did not run. Times are seconds since 1970."""

    since: float
    until: float | None = None
    """Absent: it still waits."""
    reason: str | None = None


class TaskWaits(msgspec.Struct, frozen=True):
    """The time at which a task could start first, and its waits in their order."""

    ready_at: float | None = None
    spans: tuple[WaitSpan, ...] = ()


NO_WAITS = TaskWaits()


def waits_by_position(history: Iterable[tuple[float, HistoryRow]]) -> dict[int, TaskWaits]:
    """Returns the waits of each task by its position. A task that started with the commit that made it ready, and that
    is most of them, has none."""
    found: dict[int, TaskWaits] = {}
    for at, move in history:
        known = found.get(move.pos, NO_WAITS)
        ready_at = at if known.ready_at is None and move.new in _POSSIBLE else known.ready_at
        spans = known.spans
        if spans and spans[-1].until is None:
            spans = (*spans[:-1], msgspec.structs.replace(spans[-1], until=at))
        if move.new == TaskState.READY:
            spans = (*spans, WaitSpan(since=at, reason=_reason(move)))
        found[move.pos] = TaskWaits(ready_at, _joined(spans))
    return found


_POSSIBLE = frozenset({str(TaskState.READY), str(TaskState.RUNNING)})


def _joined(spans: tuple[WaitSpan, ...]) -> tuple[WaitSpan, ...]:
    """Returns the waits with the last two as one if they are one wait for one reason."""
    if len(spans) > 1 and spans[-2].until == spans[-1].since and spans[-2].reason == spans[-1].reason:
        return (*spans[:-2], msgspec.structs.replace(spans[-2], until=spans[-1].until))
    return spans


def _reason(move: HistoryRow) -> str | None:
    detail = None if move.detail is None else msgspec.json.decode(move.detail)
    return detail.get("reason") if isinstance(detail, dict) else None
