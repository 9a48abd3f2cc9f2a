"""Holds the information that a running body can read of its own attempt."""

from __future__ import annotations

import time
from collections.abc import Callable, MutableMapping
from contextlib import suppress
from contextvars import ContextVar, Token
from logging import Logger, LoggerAdapter, getLogger
from typing import Any, Protocol, TypeAlias

import msgspec

from turnout.model.events import TaskReadyEvent
from turnout.model.logs import Stream, storable

TASK_LOGGER = "turnout.task"
TASK_OF_RECORD = "turnout_task"
"""The attribute of a log record that names the attempt, for threads without a current task."""


class Output(Protocol):
    """Takes the output of attempts, from any thread. It never waits for the store, and never raises."""

    @property
    def echo(self) -> bool:
        """True if the output also goes to this program's own stdout and stderr."""
        ...

    def __call__(self, source: TaskReadyEvent | TaskInfo, stream: str, text: str) -> None:
        """Stores text of the attempt. ``stdout`` and ``stderr`` may come in pieces, ``log`` and ``progress`` not."""
        ...


class Progress(msgspec.Struct, frozen=True, omit_defaults=True):
    """The progress that a body reports; stored as JSON, in the stream ``progress``."""

    done: float
    total: float | None = None
    message: str = ""


Waiter: TypeAlias = "Callable[[TaskInfo, float | None], bool]"
"""Waits for the cancellation of an attempt; see ``TaskInfo.wait_cancelled``."""


class Settable(Protocol):
    """An event that waiters wait for."""

    def set(self) -> None: ...


class TaskInfo(msgspec.Struct, kw_only=True, gc=False):
    """The current attempt, for a body with a parameter of this annotation; ``current_task()`` returns it to libraries.

    Only ``cancelled`` changes during the attempt.
    """

    run_id: str
    task_id: str
    task_name: str
    """The full name, ``tenant::package::workflow::task``."""
    attempt: int
    """The number of this attempt among those that started, from 1. Returned attempts do not count."""
    max_attempts: int
    """The number of the last attempt that the retry policy allows at present."""
    ordinal: int = 0
    """The attempt's number in the store, which counts returned attempts too. Log lines are stored under it, and
    ``token`` contains it."""
    workflow: str = ""
    """The full name of the workflow, ``tenant::package::workflow``."""
    name: str = ""
    """The task's name in its workflow."""
    idempotency_key: str = ""
    """The same for every attempt of this task in this run, for services that recognize a repeated call by its key."""
    token: str = ""
    """The fencing token: increases with every attempt, so that a resource can refuse a late one."""
    timeout: float | None = None
    """Seconds that the attempt may take, from its start."""
    index: int | None = None
    """The index of an item of a mapped task, from 0."""
    labels: dict[str, str] = {}
    """The labels that the task requires of its worker."""
    shadow: bool = False
    saved: Any = None
    """The value that an earlier attempt saved with ``raise Defer(…, save=…)``."""
    started_at: float | None = None
    """The start of the attempt, as Unix time."""
    began: float | None = None
    """The same by the monotonic clock, if there is a timeout."""
    output: Output | None = None
    """Stores the output of this attempt; None: it is not stored."""
    waiter: Waiter | None = None
    waited_on: Settable | None = None
    """Set on cancellation. The waiter creates it when a body first waits."""
    traceparent: str = ""
    """The header of W3C Trace Context for requests that the body makes; empty without telemetry."""
    _cancelled: bool = False

    @property
    def item(self) -> int | None:
        """The same as ``index``."""
        return self.index

    @property
    def is_last_attempt(self) -> bool:
        """True if the retry policy allows no other attempt after a failure of this one."""
        return self.attempt >= self.max_attempts

    @property
    def deadline(self) -> float | None:
        """The end of the timeout as Unix time (``time.time()``); None if there is no timeout."""
        return None if self.timeout is None or self.started_at is None else self.started_at + self.timeout

    def remaining(self) -> float | None:
        """Seconds until the deadline by the monotonic clock, never below 0; None if there is no timeout."""
        if self.timeout is None or self.began is None:
            return self.timeout
        return max(0.0, self.began + self.timeout - time.monotonic())

    @property
    def cancelled(self) -> bool:
        """True once the attempt was cancelled or has timed out. A thread cannot be killed:
        bodies that run long read this from time to time, or wait with ``wait_cancelled``, and return."""
        return self._cancelled

    @cancelled.setter
    def cancelled(self, value: bool) -> None:
        self._cancelled = value
        # After the flag: a wait that begins later finds it set.
        if value and self.waited_on is not None:
            self.waited_on.set()

    def wait_cancelled(self, timeout: float | None = None) -> bool:
        """Waits until the attempt is cancelled or has timed out; False if ``timeout`` seconds have passed before.

        A pause that ends at once on cancellation: ``if info.wait_cancelled(5): return``. For bodies in threads;
        an ``async def`` body is cancelled at its next ``await``.
        """
        return self._cancelled or (self.waiter is not None and self.waiter(self, timeout))

    @property
    def logger(self) -> LoggerAdapter[Logger]:
        """The logger ``turnout.task.<name>``. Its lines, from any thread, are stored for this attempt; from level INFO
        on unless the program sets another."""
        name = self.name or self.task_name.rpartition("::")[2]
        return _TaskLogger(getLogger(f"{TASK_LOGGER}.{name}"), {TASK_OF_RECORD: self})

    def progress(self, done: float, total: float | None = None, message: str = "") -> None:
        """Reports the progress of the body: ``info.progress(3, 10, "three of ten files")``. May be called often."""
        self.say(Stream.PROGRESS, msgspec.json.encode(Progress(done, total, storable(message))).decode())

    def say(self, stream: str, text: str) -> None:
        """Stores a line in the log of this attempt, if logs are captured."""
        if self.output is not None:
            self.output(self, stream, text)


class _TaskLogger(LoggerAdapter[Logger]):
    def process(self, msg: Any, kwargs: MutableMapping[str, Any]) -> tuple[Any, MutableMapping[str, Any]]:
        kwargs["extra"] = {**(kwargs.get("extra") or {}), **(self.extra or {})}
        return msg, kwargs


_current: ContextVar[TaskInfo | None] = ContextVar("turnout_current_task", default=None)
set_current = _current.set


def reset_current(token: Token[TaskInfo | None]) -> None:
    """Makes the task current that was so before the token was made."""
    # The garbage collector closes an abandoned coroutine, in a context in which the token was not made.
    with suppress(ValueError):
        _current.reset(token)


def current_task() -> TaskInfo | None:
    """Returns the attempt that the calling code belongs to; None outside of a body."""
    return _current.get()


def info_of(  # noqa: PLR0913 - every option has a name and a default
    event: TaskReadyEvent,
    *,
    idempotency_key: str = "",
    token: str = "",
    timeout: float | None = None,
    index: int | None = None,
    labels: dict[str, str] | None = None,
    workflow: str = "",
    name: str = "",
    started_at: float | None = None,
    waiter: Waiter | None = None,
    saved: Any = None,
    output: Output | None = None,
) -> TaskInfo:
    """Returns the info of an attempt that begins."""
    number, ordinal = event.begun + 1, event.attempt
    # Not more than 15 by name: CPython makes a dict of more, which takes five times as long.
    info = TaskInfo(
        run_id=event.run_id,
        task_id=event.task_id,
        task_name=event.task_name,
        attempt=number,
        max_attempts=number + event.max_attempts - ordinal,
        ordinal=ordinal,
        workflow=workflow,
        name=name,
        idempotency_key=idempotency_key,
        token=token,
        labels=labels or {},
        shadow=event.shadow,
        started_at=started_at,
        waiter=waiter,
        output=output,
    )
    if timeout is not None:
        info.timeout, info.began = timeout, time.monotonic()
    if index is not None:
        info.index = index
    if saved is not None:
        info.saved = saved
    return info
