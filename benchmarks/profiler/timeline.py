"""Measures W3 hand-over by hand-over: functions on the path of a run are wrapped, and note the time when called."""

from __future__ import annotations

import statistics
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any, NamedTuple

from workloads import single

import turnout.executors.thread as thread_executor
import turnout.store.sqlite.ledger as sqlite_ledger
from profiler.process import kind_of, replaced
from turnout import Runner
from turnout.dispatcher.delivery import AttemptDelivery
from turnout.executors.thread import ThreadExecutor
from turnout.orchestration.ledger import Ledger
from turnout.orchestration.stages.pending_submissions import PendingSubmissions
from turnout.orchestration.stages.scheduler import Scheduler
from turnout.orchestration.stages.submission import SubmissionStage
from turnout.orchestration.stages.waiters import Waiters
from turnout.runner.submitter import Submitter
from turnout.store.postgres.connection import PostgresDatabase

WARM_UP = 50
PATH: tuple[tuple[Any, str, str | None, str | None], ...] = (
    (Submitter, "submit", "request made", None),
    (PendingSubmissions, "put", "loop has the submission", None),
    (SubmissionStage, "process", "submission stage begins", None),
    (Ledger, "write", "transition made", None),
    (Ledger, "_commit", "lane begins", "lane ends"),
    (PostgresDatabase, "execute", "document made", "statement executed"),
    (sqlite_ledger, "_write", "transaction begun", "rows written"),
    (Ledger, "_committed", "loop has the commit", None),
    (AttemptDelivery, "hand_over", "attempt dispatched", None),
    (ThreadExecutor, "_in_thread", "body thread has the attempt", None),
    (thread_executor, "run_body", "body begins", "body has ended"),
    (AttemptDelivery, "_flush", "loop has the result", None),
    (Scheduler, "process", "scheduler begins", None),
    (Waiters, "_resolve", "waiter resolved", None),
)
"""Functions on the path of a run: owner, name, and what their beginning and their end are called."""


class HandOver(NamedTuple):
    """One point of the path, in milliseconds after the call of ``submit``, over all runs."""

    name: str
    thread: str
    p50_ms: float
    p99_ms: float
    gap_p50_ms: float
    """Since the point before it."""


class Timeline:
    """Times of the run that is under way. One run is at a time."""

    def __init__(self) -> None:
        self._marks: list[tuple[str, str, float]] = []
        self._runs: list[list[tuple[str, str, float]]] = []

    def begin(self) -> None:
        self._marks = []
        self._runs.append(self._marks)

    def mark(self, name: str) -> None:
        """Notes the time, unless it is upkeep in a thread of its own."""
        kind = kind_of(threading.current_thread().name)
        if kind != "others":
            self._marks.append((name, kind, time.perf_counter()))

    def wrapper(self, begins: str | None, ends: str | None) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        def wrap(function: Callable[..., Any]) -> Callable[..., Any]:
            def call(*args: Any, **kwargs: Any) -> Any:
                if begins is not None:
                    self.mark(begins)
                try:
                    return function(*args, **kwargs)
                finally:
                    if ends is not None:
                        self.mark(ends)

            return call

        return wrap

    def hand_overs(self, last: int) -> list[HandOver]:
        """Returns the points that most of the last runs passed, in order of time."""
        offsets: dict[tuple[str, int], list[float]] = defaultdict(list)
        gaps: dict[tuple[str, int], list[float]] = defaultdict(list)
        threads: dict[tuple[str, int], str] = {}
        for noted in self._runs[-last:]:
            marks = sorted(noted, key=lambda mark: mark[2])
            seen: dict[str, int] = defaultdict(int)
            for (_, _, previous), (name, thread, at) in zip([marks[0], *marks], marks, strict=False):
                seen[name] += 1
                key = name, seen[name]
                offsets[key].append(1000 * (at - marks[0][2]))
                gaps[key].append(1000 * (at - previous))
                threads[key] = thread
        found = [
            HandOver(name if nth == 1 else f"{name} ({nth})", threads[name, nth], *_percentiles(times), _median(gap))
            for ((name, nth), times), gap in zip(offsets.items(), gaps.values(), strict=True)
            if len(times) > last / 2
        ]
        return sorted(found, key=lambda each: each.p50_ms)


def timeline(url: str, runs: int = 100) -> list[HandOver]:
    """Returns the hand-overs of one 1-task run on an idle engine."""
    times = Timeline()
    with ExitStack() as stack:
        for owner, name, begins, ends in PATH:
            stack.enter_context(replaced(owner, name, times.wrapper(begins, ends)))
        with Runner(url, workflows=[single], handle_sigterm=False) as runner:
            for _ in range(WARM_UP + runs):
                times.begin()
                times.mark("submit called")
                handle = runner.submit(single)
                times.mark("submit returns: the run is durable")
                handle.wait(30)
                times.mark("caller woken")
    return times.hand_overs(runs)


def _percentiles(times: list[float]) -> tuple[float, float]:
    return _median(times), round(sorted(times)[int(0.99 * (len(times) - 1))], 3)


def _median(times: list[float]) -> float:
    return round(statistics.median(times), 3)
