"""What a running body may know of the attempt that it is."""

from __future__ import annotations

from collections.abc import MutableMapping
from contextlib import suppress
from contextvars import ContextVar, Token
from logging import Logger, LoggerAdapter, getLogger
from typing import Any, Protocol

import msgspec

from turnout.model.events import TaskReadyEvent

TASK_LOGGER = "turnout.task"
TASK_OF_RECORD = "turnout_task"
"""The attribute of a log record that names the attempt, for threads that know of none."""


class Output(Protocol):
    """Where what attempts say goes. From any thread; it never waits for the store, and never raises."""

    @property
    def echo(self) -> bool:
        """Whether it is to appear on this program's own stdout and stderr as well."""
        ...

    def __call__(self, source: TaskReadyEvent | TaskInfo, stream: str, text: str) -> None:
        """Keep this for the attempt. ``stdout`` and ``stderr`` may come in pieces; ``log`` and ``progress`` whole."""
        ...


class TaskInfo(msgspec.Struct, kw_only=True):
    """Handed to bodies that ask for it by annotation; ``current_task()`` gives it to libraries.

    Everything but ``cancelled`` stays as it is for the whole attempt.
    """

    run_id: str
    task_id: str
    task_name: str
    """The full name, ``tenant::package::workflow::task``."""
    attempt: int
    max_attempts: int
    idempotency_key: str = ""
    """The same for every attempt of this task in this run: hand it to services that can tell a repeated call."""
    token: str = ""
    """The fencing token: grows with every attempt, so that a resource can refuse a late one."""
    timeout: float | None = None
    shadow: bool = False
    cancelled: bool = False
    """True once nobody waits for this attempt any more (cancelled, or timed out). A thread cannot be killed:
    bodies that run long look here from time to time and return."""
    output: Output | None = None
    """Where what this attempt says is kept; None: nowhere."""

    @property
    def logger(self) -> LoggerAdapter[Logger]:
        """Logs for this attempt, from any thread; from level INFO unless the program says otherwise."""
        return _TaskLogger(getLogger(TASK_LOGGER), {TASK_OF_RECORD: self})

    def say(self, stream: str, text: str) -> None:
        """Keep a line of this attempt, if lines are kept at all."""
        if self.output is not None:
            self.output(self, stream, text)


class _TaskLogger(LoggerAdapter[Logger]):
    def process(self, msg: Any, kwargs: MutableMapping[str, Any]) -> tuple[Any, MutableMapping[str, Any]]:
        kwargs["extra"] = {**(kwargs.get("extra") or {}), **(self.extra or {})}
        return msg, kwargs


_current: ContextVar[TaskInfo | None] = ContextVar("turnout_current_task", default=None)
set_current = _current.set


def reset_current(token: Token[TaskInfo | None]) -> None:
    """What was current before is so again."""
    # A coroutine that was given up on is ended by whoever clears it away, in a context that never had it.
    with suppress(ValueError):
        _current.reset(token)


def current_task() -> TaskInfo | None:
    """The attempt that the calling code belongs to; None outside of a body."""
    return _current.get()


def info_of(
    event: TaskReadyEvent,
    *,
    idempotency_key: str = "",
    token: str = "",
    timeout: float | None = None,
    output: Output | None = None,
) -> TaskInfo:
    """What the body of this attempt gets to know."""
    return TaskInfo(
        run_id=event.run_id,
        task_id=event.task_id,
        task_name=event.task_name,
        attempt=event.attempt,
        max_attempts=event.max_attempts,
        idempotency_key=idempotency_key,
        token=token,
        timeout=timeout,
        shadow=event.shadow,
        output=output,
    )
