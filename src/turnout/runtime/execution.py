"""Calls the body of one attempt, in whatever thread or process this is, and makes its result of what that returned or
raised."""

from __future__ import annotations

import asyncio
import inspect
import threading
import time
from collections.abc import Callable
from contextvars import Context
from types import CoroutineType
from typing import Any

from turnout.contracts.executor import Work
from turnout.errors import AttemptFenced
from turnout.model.events import ExecutionResult
from turnout.model.info import TaskInfo, reset_current, set_current
from turnout.model.values import MAX_BYTES
from turnout.runtime.capture import stay_in_place
from turnout.runtime.outcome import raised, returned_value

_event_lock = threading.Lock()


def wait_cancelled(info: TaskInfo, timeout: float | None) -> bool:
    """Does what ``TaskInfo.wait_cancelled`` promises. The event is made only for bodies that wait."""
    with _event_lock:
        event = info.waited_on
        if not isinstance(event, threading.Event):
            event = info.waited_on = threading.Event()
    # The event is in place: a cancellation from here on sets it, and an earlier one has left the flag.
    return info.cancelled or event.wait(timeout)


def info_for(work: Work, now: float) -> TaskInfo:
    """What the body of this work gets to know if it begins now."""
    return work.info(now, wait_cancelled)


def is_async(work: Work) -> bool:
    """Whether the body belongs on an event loop."""
    body: Any = work.body
    code = getattr(body, "__code__", None)
    if code is not None:
        return bool(code.co_flags & inspect.CO_COROUTINE)
    return inspect.iscoroutinefunction(body) or inspect.iscoroutinefunction(type(body).__call__)


def call(work: Work, info: TaskInfo) -> Any:
    """Run a sync body here; to be called in a context of its own, which current_task() then lives in."""
    if info.output is not None:
        stay_in_place()
    set_current(info)
    value = work.invoke(info)
    if not isinstance(value, CoroutineType):
        return value
    # A wrapper can hide that the function is async: then it has begun. The thread is taken already, so it may as well
    # drive the rest.
    return asyncio.run(_begun(work, value) if is_async(work) else value)


async def _begun(work: Work, body: CoroutineType[Any, Any, Any]) -> Any:
    """An async body begins here: it takes longer to make an event loop than a body may come late."""
    try:
        work.begin_by()
    except AttemptFenced:
        body.close()
        raise
    return await body


async def call_async(work: Work, info: TaskInfo) -> Any:
    """Run an async body in the running task; what the task does afterwards is no longer the body's doing."""
    if info.output is not None:
        stay_in_place()
    token = set_current(info)
    try:
        return await work.invoke(info)
    finally:
        reset_current(token)


def run_body(
    work: Work,
    info: TaskInfo,
    limit: int = MAX_BYTES,
    *,
    clock: Callable[[], float] = time.time,
    on_error: Callable[[BaseException], None] | None = None,
) -> ExecutionResult:
    """The result of the body, called in this thread in a context of its own; an async body is driven to its end here.

    ``on_error`` gets what the body raised before it becomes a result, and may raise it again.
    """
    started_at = clock() if info.started_at is None else info.started_at
    try:
        value = Context().run(call, work, info)
        return returned_value(work.event, value, started_at, clock(), limit)
    except BaseException as error:
        if on_error is not None:
            on_error(error)
        return raised(work, error, started_at, clock())


async def run_async_body(work: Work, info: TaskInfo, limit: int = MAX_BYTES) -> ExecutionResult:
    """The result of an async body, run in the current task."""
    started_at = time.time() if info.started_at is None else info.started_at
    try:
        value = await call_async(work, info)
        return returned_value(work.event, value, started_at, time.time(), limit)
    except BaseException as error:
        return raised(work, error, started_at, time.time())
