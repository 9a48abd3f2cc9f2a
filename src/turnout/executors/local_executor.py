"""Holds the batch core of the executors that run attempts on this machine: each attempt is accepted and reported
once."""

from __future__ import annotations

import logging
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Generic, Protocol, TypeVar

from turnout.contracts.executor import BatchExecutor, BatchReport, Loader, Report
from turnout.errors import AttemptFenced, ExecutionFailed, InputError, StoreUnreachable, StoreUnusable
from turnout.model.events import (
    NO_FAILURE,
    STATUS_COMPLETED,
    STATUS_RETURNED,
    ExecutionResult,
    ExecutorMetrics,
    TaskReadyEvent,
)
from turnout.model.resources import Resources, lacking
from turnout.model.spec import TaskSpec
from turnout.runtime.attempt import Key, key_of
from turnout.runtime.outcome import describe
from turnout.runtime.process_info import machine_amounts

log = logging.getLogger(__name__)

STOPPING = "executor_stopping"


class TakenAttempt(Protocol):
    """The part of an attempt that the core uses."""

    @property
    def key(self) -> Key: ...

    @property
    def event(self) -> TaskReadyEvent: ...

    @property
    def report(self) -> Report: ...


A = TypeVar("A", bound=TakenAttempt)


class LocalExecutor(BatchExecutor, ABC, Generic[A]):
    """Holds the attempts that have no result yet, and counts those that have. ``attempt`` makes the record of one.

    A subclass runs them: it gets each by ``_begin``, removes it from ``_live`` when its result is known, and then calls
    ``_report``."""

    local: bool = True
    enforces_timeouts: bool = True
    outlives: bool = False

    def __init__(self, name: str, max_output_bytes: int, attempt: Callable[[Key, TaskReadyEvent, Report], A]) -> None:
        self._name: str = name
        self._attempt = attempt
        self._max_output_bytes: int = max_output_bytes
        self._loader: Loader | None = None
        self._live: dict[Key, A] = {}
        self._lock: threading.Lock = threading.Lock()
        self._closing: bool = False
        self._executed: int = 0
        self._failed: int = 0
        self._seconds: float = 0.0

    @abstractmethod
    def _begin(self, attempts: Sequence[A]) -> None:
        """Runs these attempts, which are in ``_live``, and returns at once."""

    @property
    def name(self) -> str:
        return self._name

    @property
    @abstractmethod
    def capacity(self) -> int: ...

    @property
    def stuck(self) -> int:
        """Number of slots held by bodies that were ended and have not returned."""
        return 0

    def bind(self, loader: Loader) -> None:
        self._loader = loader

    def on_capacity(self, callback: Callable[[], None]) -> None:
        """Announces nothing: capacity becomes free by results only."""

    def refuses(self, task: TaskSpec) -> str | None:
        return None

    def fits(self, resources: Resources) -> str | None:
        """Returns why this machine can never give these resources: more cores or memory than it has, or anything else.
        What runs at once is bounded by slots alone: the resources of attempts are not added up."""
        return lacking(resources, machine_amounts(), "this machine")

    def has_capacity(self) -> bool:
        return not self._closing and len(self._live) < self.capacity

    def metrics(self) -> ExecutorMetrics:
        return ExecutorMetrics(
            active_tasks=len(self._live),
            total_executed=self._executed,
            total_failed=self._failed,
            total_seconds=self._seconds,
        )

    async def execute(self, event: TaskReadyEvent) -> ExecutionResult:
        if key_of(event) in self._live:
            raise ExecutionFailed(f"attempt {event.attempt} of {event.task_id} runs here already")
        return await super().execute(event)

    def execute_many(self, events: Sequence[TaskReadyEvent], report: Report) -> None:
        """Accepts these and returns at once. An attempt that is here already is not run twice."""
        if self._loader is None:
            raise ExecutionFailed(f"executor {self._name!r} is not bound to a loader")
        if self._closing:
            for event in events:
                report(ExecutionResult.returned(event, STOPPING))
            return
        live, attempt_of = self._live, self._attempt
        attempts: list[A] = []
        for event in events:
            key = (event.task_id, event.attempt, event.shadow)
            if key not in live:
                live[key] = attempt = attempt_of(key, event, report)
                attempts.append(attempt)
        if attempts:
            self._begin(attempts)

    def _report(self, attempt: A, result: ExecutionResult) -> None:
        """Counts the result and hands it in."""
        self._report_all([(attempt, result)])

    def _report_all(self, ended: Sequence[tuple[A, ExecutionResult]]) -> None:
        """Counts results and hands them in."""
        executed, failed, seconds = 0, 0, 0.0
        by_report: dict[int, tuple[Report, list[ExecutionResult]]] = {}
        for attempt, result in ended:
            status = result.status
            if status is not STATUS_RETURNED:
                executed += 1
                if status is not STATUS_COMPLETED:
                    failed += status not in NO_FAILURE
                if result.started_at is not None and result.finished_at is not None:
                    seconds += result.finished_at - result.started_at
            report = attempt.report
            known = by_report.get(id(report))  # it need not be hashable
            if known is None:
                by_report[id(report)] = (report, [result])
            else:
                known[1].append(result)
        with self._lock:
            self._executed += executed
            self._failed += failed
            self._seconds += seconds
        for report, results in by_report.values():
            _hand_in(report, results)


def _hand_in(report: Report, results: Sequence[ExecutionResult]) -> None:
    try:
        if isinstance(report, BatchReport):
            report.all(results)
            return
    except Exception:
        log.exception("%d results could not be handed in", len(results))
        return
    for result in results:
        try:
            report(result)
        except Exception:
            log.exception("the result of attempt %d of %s could not be handed in", result.attempt, result.task_id)


def not_loaded(event: TaskReadyEvent, error: BaseException) -> ExecutionResult:
    """Returns the result of an attempt whose work could not be loaded."""
    if isinstance(error, (StoreUnreachable, StoreUnusable, AttemptFenced)):
        # Nothing has started: neither an outage nor a pause may use up the task's attempts.
        return ExecutionResult.returned(event, error.code)
    # Input that was refused would be refused again.
    return ExecutionResult.failed(event, describe(error), retryable=not isinstance(error, InputError))
