"""Finds the critical path of a run: the chain of tasks that its end waited for (pure)."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec


class TaskSpan(msgspec.Struct, frozen=True):
    """One task: what it depends on, and when it ended. ``ended_at`` is None for a task that was never at work."""

    depends_on: tuple[str, ...]
    ended_at: float | None


def critical_path(spans: Mapping[str, TaskSpan]) -> list[str]:
    """Returns the tasks that the end of the run waited for, in their order.

    The last of them ended last of all; before each comes the dependency that ended last. A task that still runs ends
    now, which is for the caller to say. Of equal ends the first task of the mapping counts.

    >>> spans = {"a": TaskSpan((), 1.0), "b": TaskSpan((), 4.0), "c": TaskSpan(("a", "b"), 5.0)}
    >>> critical_path(spans)
    ['b', 'c']
    """
    at = _last(tuple(spans), spans)
    path: list[str] = []
    while at is not None:
        path.append(at)
        at = _last(spans[at].depends_on, spans)
    path.reverse()
    return path


def _last(names: tuple[str, ...], spans: Mapping[str, TaskSpan]) -> str | None:
    """Returns the one of these tasks that ended last; None if none was at work."""
    last: str | None = None
    latest = float("-inf")
    for name in names:
        ended = spans[name].ended_at if name in spans else None
        if ended is not None and ended > latest:
            last, latest = name, ended
    return last
