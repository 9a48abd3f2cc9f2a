"""Sees commits, and hands the spans and durations of what they ended to the exporters."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from typing import Protocol

import msgspec

from turnout.model.events import ExecutionResult
from turnout.model.rows import NewRun
from turnout.model.run_figures import (
    ATTEMPT_SECONDS,
    ATTEMPTS_ENDED,
    RUN_SECONDS,
    RUNS_ENDED,
    START_SECONDS,
    BoundedLabels,
)
from turnout.model.spans import Changed, Span, TaskEnd, attempt_spans, ended_attempts, run_span, task_end
from turnout.model.states import TASK_READY
from turnout.model.trace_ids import SpanIdentity
from turnout.rate_limited_log import RateLimitedLog
from turnout.telemetry.dropped_spans import TRACE_UNKNOWN, DroppedSpans
from turnout.telemetry.exemplars import Exemplars
from turnout.telemetry.look_ups import LookUps
from turnout.telemetry.run_traces import RunTraces

log = logging.getLogger("turnout.telemetry")

MAX_READY = 100_000
"""Tasks of which the time is kept at which they became ready."""
NO_SPAN = SpanIdentity(0, 0, sampled=False)
"""Names no trace: what is measured with it has no exemplar."""


class SpanSink(Protocol):
    """Takes spans of a recorded trace; never waits."""

    def add(self, trace_id: int, spans: Sequence[Span]) -> None: ...


class DurationSink(Protocol):
    """Takes counts and durations by the names of their metrics; never waits."""

    def count(self, metric: str, labels: dict[str, str], number: int) -> None: ...

    def duration(self, metric: str, labels: dict[str, str], seconds: float, span: SpanIdentity) -> None: ...


class Seen(msgspec.Struct, frozen=True, gc=False):
    """The spans and figures of what one commit has ended."""

    new: NewRun
    spans: list[Span]
    ends: list[TaskEnd]
    whole: Span | None
    """The span of the run, if it has ended."""


class TelemetryObserver:
    """The ``CommitObserver`` of an orchestrator."""

    def __init__(
        self,
        traces: RunTraces,
        spans: SpanSink,
        durations: DurationSink,
        exemplars: Exemplars,
        dropped: DroppedSpans,
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._traces = traces
        self._spans = spans
        self._durations = durations
        self._exemplars = exemplars
        self._dropped = dropped
        self._clock = clock
        self._labels = BoundedLabels()
        self._ready_at: dict[tuple[str, int], float] = {}
        """When tasks became ready for their next or newest attempt, as far as this orchestrator has seen it."""
        self._look_ups = LookUps(self._look_up, self._give_up)
        """Of ancestors that are not in memory."""
        self._rate_limited_log = RateLimitedLog(log)

    def committed(self, changes: Changed, results: Sequence[ExecutionResult]) -> None:
        try:
            self._see(changes, results)
        except Exception as error:
            self._rate_limited_log.failure("spans of a commit could not be made: %s: %s", type(error).__name__, error)

    def stop(self, timeout: float) -> None:
        """Ends the look-ups. Blocks for at most the timeout."""
        self._look_ups.stop(timeout)

    def _see(self, changes: Changed, results: Sequence[ExecutionResult]) -> None:
        new, now, durable = changes.machine.new, changes.now, self._clock()
        spans: list[Span] = []
        ends: list[TaskEnd] = []
        for ended in ended_attempts(changes, results):
            ready_at = self._ready_at.pop((new.run_id, ended.before.pos), None)
            spans += attempt_spans(new, ended, ready_at, now, durable)
            end = task_end(new, ended, ready_at)
            if end is not None:
                ends.append(end)
        self._note_ready(changes)
        whole = run_span(changes)
        if whole is not None:
            spans.append(whole)
            for pos in range(len(changes.machine.tasks)):
                self._ready_at.pop((new.run_id, pos), None)
        if not spans:
            return
        seen, root = Seen(new, spans, ends, whole), self._traces.root_of(new, read=False)
        if root is not None:
            self._hand_over(root, seen)
        else:
            self._look_ups.add(seen)

    def _note_ready(self, changes: Changed) -> None:
        for pos, row in changes.rows.items():
            if row.state is TASK_READY and (pos >= len(changes.machine.tasks) or _becomes_ready(changes, pos)):
                if len(self._ready_at) >= MAX_READY:
                    self._ready_at.clear()
                self._ready_at[changes.machine.new.run_id, pos] = changes.now + (row.retry_in or 0.0)

    def _look_up(self, seen: Seen) -> None:
        try:
            root = self._traces.root_of(seen.new, read=True)
            assert root is not None, "it is read"
            self._hand_over(root, seen)
        except Exception as error:
            self._rate_limited_log.failure("the trace of run %s is not known: %s", seen.new.run_id, error)
            self._give_up(seen)

    def _give_up(self, seen: Seen) -> None:
        """Drops spans whose trace is not known. What they measured counts all the same."""
        self._dropped.add(TRACE_UNKNOWN, len(seen.spans))
        self._measure(seen, lambda _: NO_SPAN)

    def _hand_over(self, root: str, seen: Seen) -> None:
        identity = self._traces.identity(root, 0)
        if identity.sampled:
            self._spans.add(identity.trace_id, seen.spans)
        self._measure(seen, lambda span_id: self._traces.identity(root, span_id))

    def _measure(self, seen: Seen, identity: Callable[[int], SpanIdentity]) -> None:
        workflow = self._labels.of("workflow", seen.new.workflow)
        for end in seen.ends:
            executor = self._labels.of("executor", end.executor)
            labels = (workflow, executor)
            self._durations.count(ATTEMPTS_ENDED, dict((*labels, ("state", end.state))), end.attempts)
            span = identity(end.span_id)
            self._measured(ATTEMPT_SECONDS, labels, end.seconds, span)
            self._measured(START_SECONDS, labels, end.start_delay, span)
        whole = seen.whole
        if whole is not None:
            state = str(whole.attributes["turnout.state"])
            self._durations.count(RUNS_ENDED, dict((workflow, ("state", state))), 1)
            self._measured(RUN_SECONDS, (workflow,), whole.end - whole.start, identity(whole.span_id))

    def _measured(
        self, metric: str, labels: tuple[tuple[str, str], ...], seconds: float | None, span: SpanIdentity
    ) -> None:
        if seconds is None:
            return
        self._durations.duration(metric, dict(labels), seconds, span)
        if span.sampled:
            self._exemplars.add(metric, labels, seconds, span.trace_id, self._clock())


def _becomes_ready(changes: Changed, pos: int) -> bool:
    before = changes.machine.tasks[pos]
    return before.state is not TASK_READY
