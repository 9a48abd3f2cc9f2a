"""Gives attempts the ids of their traces: the ``TraceSource`` of orchestrators and pollers."""

from __future__ import annotations

from turnout.model.rows import NewRun
from turnout.model.trace_ids import SpanIdentity, attempt_span_id, is_sampled, trace_id_of
from turnout.telemetry.root_runs import RootRuns


class RunTraces:
    """The traces of runs. Used from any thread; nothing of OpenTelemetry is needed for it."""

    def __init__(self, roots: RootRuns, sample: float) -> None:
        self._roots = roots
        self._sample = sample

    def traceparent(self, new: NewRun, pos: int, attempt: int, *, read: bool) -> str | None:
        root = self._roots.of(new, read=read)
        return None if root is None else self.identity(root, attempt_span_id(new.run_id, pos, attempt)).traceparent

    def root_of(self, new: NewRun, *, read: bool) -> str | None:
        """Returns the run whose id is that of the trace; None if it is not in memory, and ``read`` is false."""
        return self._roots.of(new, read=read)

    def identity(self, root: str, span_id: int) -> SpanIdentity:
        """Returns the ids of a span of the trace of this topmost run."""
        trace_id = trace_id_of(root)
        return SpanIdentity(trace_id, span_id, is_sampled(trace_id, self._sample))
