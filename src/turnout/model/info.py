"""What a running body may know of the attempt that it is."""

from __future__ import annotations

from contextvars import ContextVar

import msgspec

from turnout.model.events import TaskReadyEvent


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
    index: int | None = None
    """Of an item of a mapped task: which one, from 0."""
    shadow: bool = False
    cancelled: bool = False
    """True once nobody waits for this attempt any more (cancelled, or timed out). A thread cannot be killed:
    bodies that run long look here from time to time and return."""


_current: ContextVar[TaskInfo | None] = ContextVar("turnout_current_task", default=None)
set_current = _current.set


def current_task() -> TaskInfo | None:
    """The attempt that the calling code belongs to; None outside of a body."""
    return _current.get()


def info_of(
    event: TaskReadyEvent,
    *,
    idempotency_key: str = "",
    token: str = "",
    timeout: float | None = None,
    index: int | None = None,
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
        index=index,
        shadow=event.shadow,
    )
