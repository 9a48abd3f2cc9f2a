"""Holds the events, results, errors and metrics that the dispatcher and executors exchange."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import msgspec

from turnout.errors import CommandFailed, TurnoutError
from turnout.model.branch import Branch
from turnout.model.deferral import Defer, Deferral, Unmet
from turnout.model.logs import storable
from turnout.model.resources import Resources
from turnout.model.values import dump_output


class TaskReadyEvent(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A task that is ready to run, without its arguments: an executor gets the call from its loader."""

    run_id: str
    task_id: str
    """Opaque; unique over all runs."""
    task_name: str
    """The full name, ``tenant::package::workflow::task``, which routing patterns match."""
    attempt: int
    """1-based and never used twice for one task: with the task's id, the fencing token."""
    max_attempts: int
    begun: int = 0
    """Earlier attempts that began. Those that were returned, or only evaluated a condition, did not."""
    shadow: bool = False
    holder: str = ""
    """The holder that was chosen, where an executor has several: a worker's id."""
    body: str = ""
    """The ``Body.ref`` of the task; several tasks may share it."""
    priority: int = 0
    """The priority of its run: of waiting attempts the highest goes first, in any order of arrival."""
    task_priority: int = 0
    """The priority of the task among attempts of runs with the same priority."""
    again: bool = False
    """True if its holder may have it already: an orchestrator that has ended committed it and may have sent it."""

    @property
    def ordinal(self) -> int:
        """The same as ``attempt``; a ``TaskInfo`` has it too."""
        return self.attempt

    @property
    def number(self) -> int:
        """The number of this attempt among those that began, from 1: ``info.attempt`` in its body."""
        return self.begun + 1

    @property
    def pipeline_execution_id(self) -> str:
        return self.run_id

    @property
    def task_execution_id(self) -> str:
        return self.task_id

    @property
    def task_namespace(self) -> str:
        return self.task_name


class ExecutionStatus(StrEnum):
    """The outcome of an attempt."""

    COMPLETED = "completed"
    FAILED = "failed"
    RETRY = "retry"
    """Failed, and may be retried; the retry policy decides."""
    TIMED_OUT = "timed_out"
    CANCELLED = "cancelled"
    CRASHED = "crashed"
    """The attempt's own process died."""
    LOST = "lost"
    """The holder of the attempt (owner, worker, poller) vanished."""
    RETURNED = "returned"
    """Not started: refused or returned. Uses no budget."""
    SKIPPED = "skipped"
    """Its preconditions do not hold: the body did not run, and the task is skipped."""
    DEFERRED = "deferred"
    """The body raised ``Defer``, or waits for a condition. Uses no budget."""


# Named for the hot path, as in states.py.
STATUS_COMPLETED, STATUS_RETURNED = ExecutionStatus.COMPLETED, ExecutionStatus.RETURNED

NO_FAILURE = frozenset({ExecutionStatus.COMPLETED, ExecutionStatus.SKIPPED, ExecutionStatus.DEFERRED})
"""Ends of an attempt that was run and did not fail."""

NO_CAPACITY_TYPE, UNAVAILABLE_TYPE = "NoCapacity", "ExecutorUnavailable"
"""Types of errors that no body causes."""


class ErrorInfo(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """An exception as text, so that it survives the process that raised it."""

    type: str
    message: str
    traceback: str = ""
    mro: tuple[str, ...] = ()
    """Qualified names of the exception's classes, most specific first; retry_on and never_on compare them."""
    code: str = ""
    """The stable code, if it is one of Turnout's own exceptions."""
    exit_code: int | None = None
    """The exit code of a command that failed."""


class ExecutionResult(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """The outcome of one attempt. Its class methods make it."""

    run_id: str
    task_id: str
    attempt: int
    status: ExecutionStatus
    output: str | None = None
    """The body's return value as JSON text."""
    error: ErrorInfo | None = None
    retryable: bool = True
    retry_after: float | None = None
    started_at: float | None = None
    finished_at: float | None = None
    shadow: bool = False
    chosen: tuple[str, ...] | None = None
    """Of a body that returned a ``Branch``: the names of the dependents that run."""
    deferral: Deferral | None = None
    handler_version: str = ""
    """The version that a handler reports."""

    @property
    def task_execution_id(self) -> str:
        return self.task_id

    @property
    def error_message(self) -> str | None:
        return self.error.message if self.error else None

    @property
    def should_retry(self) -> bool:
        return self.status is ExecutionStatus.RETRY

    @classmethod
    def success(cls, event: TaskReadyEvent, output: Any = None, **more: Any) -> ExecutionResult:
        """Returns the result of a body that returned ``output``, any JSON value or a ``Branch``."""
        if isinstance(output, Branch):
            more, output = {**more, "chosen": output.chosen}, output.value
        return cls.of(event, ExecutionStatus.COMPLETED, output=dump_output(output), **more)

    @classmethod
    def failed(
        cls, event: TaskReadyEvent, error: ErrorInfo | BaseException | str, retryable: bool = True, **more: Any
    ) -> ExecutionResult:
        """Returns the result of a body that failed; ``retryable=False`` forbids a retry."""
        status = ExecutionStatus.RETRY if retryable else ExecutionStatus.FAILED
        return cls.of(event, status, error=error_info(error), retryable=retryable, **more)

    @classmethod
    def timed_out(cls, event: TaskReadyEvent, seconds: float, **more: Any) -> ExecutionResult:
        error = ErrorInfo("TimeoutError", f"exceeded its timeout of {seconds:g} s", mro=("builtins.TimeoutError",))
        return cls.of(event, ExecutionStatus.TIMED_OUT, error=error, **more)

    @classmethod
    def deferred(cls, event: TaskReadyEvent, signal: Defer | Unmet, **more: Any) -> ExecutionResult:
        """Returns the result of a body that raised ``Defer``, or whose condition does not hold yet."""
        return cls.of(event, ExecutionStatus.DEFERRED, deferral=signal.deferral, **more)

    @classmethod
    def skipped(cls, event: TaskReadyEvent, reason: str, **more: Any) -> ExecutionResult:
        """Returns the result of an attempt whose preconditions do not hold; ``reason`` says which."""
        return cls.of(event, ExecutionStatus.SKIPPED, error=ErrorInfo("Skipped", reason), **more)

    @classmethod
    def returned(cls, event: TaskReadyEvent, reason: str, *, unavailable: bool = False) -> ExecutionResult:
        """Returns the result of an attempt that did not start: its task is ready again, and no budget is used.

        ``unavailable``: the executor cannot start any attempt at present, which counts as a failure of the executor.
        """
        error = ErrorInfo(UNAVAILABLE_TYPE if unavailable else NO_CAPACITY_TYPE, reason)
        return cls.of(event, ExecutionStatus.RETURNED, error=error)

    @classmethod
    def lost(cls, event: TaskReadyEvent, reason: str) -> ExecutionResult:
        return cls.of(event, ExecutionStatus.LOST, error=ErrorInfo("Lost", reason))

    @classmethod
    def crashed(cls, event: TaskReadyEvent, reason: str, *, unavailable: bool = False) -> ExecutionResult:
        """Returns the result of an attempt whose process died. ``unavailable``: before it had the attempt, which counts
        as a failure of the executor."""
        return cls.of(
            event, ExecutionStatus.CRASHED, error=ErrorInfo(UNAVAILABLE_TYPE if unavailable else "Crashed", reason)
        )

    @classmethod
    def cancelled(cls, event: TaskReadyEvent, reason: str = "cancelled") -> ExecutionResult:
        return cls.of(event, ExecutionStatus.CANCELLED, error=ErrorInfo("Cancelled", reason))

    @classmethod
    def of(cls, event: TaskReadyEvent, status: ExecutionStatus, **more: Any) -> ExecutionResult:
        """Returns the result of the event's attempt with this status; ``more`` are further fields."""
        return cls(
            run_id=event.run_id,
            task_id=event.task_id,
            attempt=event.attempt,
            status=status,
            shadow=event.shadow,
            **more,
        )


class ExecutorMetrics(msgspec.Struct, frozen=True, kw_only=True):
    """The metrics that a task executor reports. Without ``capacity`` the executor's own ``capacity`` counts; without
    ``running`` it is ``active_tasks``, up to the capacity."""

    active_tasks: int = 0
    """Attempts that it has, begun or not."""
    total_executed: int = 0
    total_failed: int = 0
    total_seconds: float | None = None
    """Seconds that all attempts took together; None if not measured."""
    capacity: int | None = None
    """Attempts that it can run at once, without those that wait."""
    running: int | None = None
    """Attempts that run; never more than ``capacity``."""
    async_capacity: int = 0
    async_running: int = 0
    """The same for bodies that need no thread or process, since an event loop runs them."""


class DispatchDecision(msgspec.Struct, frozen=True, gc=False):
    """The executor of an attempt and the reason; stored with the attempt."""

    executor_key: str
    reason: str
    labels: dict[str, str] | None = None
    resources: Resources | None = None
    """What the attempt asks for: the task's resources, with the entries of the rule in place of its own."""


MAX_SHORT_TEXT = 256

decode_result = msgspec.json.Decoder(ExecutionResult).decode
"""One decoder for all threads, built at import (see ``decode_spec``)."""


def error_info(error: ErrorInfo | BaseException | str) -> ErrorInfo:
    """Returns the error as the value that is stored."""
    if isinstance(error, ErrorInfo):
        return error
    if isinstance(error, str):
        return ErrorInfo("Error", error)
    import traceback

    kinds = tuple(f"{k.__module__}.{k.__qualname__}" for k in type(error).__mro__ if k is not object)
    text = "".join(traceback.format_exception(error))
    message = getattr(error, "message", None)
    return ErrorInfo(
        type(error).__qualname__,
        clipped(message if isinstance(message, str) else str(error)),
        clipped(text),
        kinds,
        error.code if isinstance(error, TurnoutError) else "",
        error.fields.get("exit_code") if isinstance(error, CommandFailed) else None,
    )


def clipped(text: str, limit: int = 20_000) -> str:
    """Returns text that every database accepts: without NUL and lone surrogates, and of bounded length."""
    clean, half = storable(text), limit // 2
    return clean if len(clean) <= limit else f"{clean[:half]}\n… cut …\n{clean[-half:]}"


def short_text(text: str) -> str:
    """Returns the text for one column of a table."""
    return clipped(text)[:MAX_SHORT_TEXT]
