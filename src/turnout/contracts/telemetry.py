"""Declares what an orchestrator uses of telemetry; without telemetry nothing of it is called."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from turnout.model.events import ExecutionResult
from turnout.model.rows import NewRun
from turnout.model.spans import Changed


class CommitObserver(Protocol):
    """Sees every commit of this orchestrator that was applied."""

    def committed(self, changes: Changed, results: Sequence[ExecutionResult]) -> None:
        """Called on the event loop after a commit, before the run's machine has its changes. Never raises, and never
        waits."""
        ...


class TraceSource(Protocol):
    """Knows the trace that an attempt belongs to."""

    def traceparent(self, new: NewRun, pos: int, attempt: int, *, read: bool) -> str | None:
        """Returns the header of W3C Trace Context for what an attempt does; None if the store would have to be read for
        it, and ``read`` is false. May be called from any thread."""
        ...
