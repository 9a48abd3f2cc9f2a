"""Calls the body of one attempt in the current thread, and makes its result from what the body returned or raised."""

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
    """Implements ``TaskInfo.wait_cancelled``. The event is made only for bodies that wait."""
    with _event_lock:
        event = info.waited_on
        if not isinstance(event, threading.Event):
            event = info.waited_on = threading.Event()
    # The event is in place: a cancellation from here on sets it, and an earlier one has left the flag.
    return info.cancelled or event.wait(timeout)


def info_for(work: Work, now: float) -> TaskInfo:
    """Returns the ``TaskInfo`` of the body if it begins now."""
    return work.info(now, wait_cancelled)


def is_async(work: Work) -> bool:
    """True if the body needs an event loop."""
    body: Any = work.body
    code = getattr(body, "__code__", None)
    if code is not None:
        return bool(code.co_flags & inspect.CO_COROUTINE)
    return inspect.iscoroutinefunction(body) or inspect.iscoroutinefunction(type(body).__call__)


def call(work: Work, info: TaskInfo) -> Any:
    """Runs a sync body here. It must be called in a context of its own, in which current_task() is set."""
    if info.output is not None:
        stay_in_place()
    set_current(info)
    value = work.invoke_current(info)
    if not isinstance(value, CoroutineType):
        return value
    # A wrapper can hide that the function is async: then it has begun, and the rest is run in this thread, which is
    # taken already.
    return asyncio.run(_begun(work, value) if is_async(work) else value)


async def _begun(work: Work, body: CoroutineType[Any, Any, Any]) -> Any:
    """Checks the fence again before an async body begins: making an event loop may take longer than the fence
    allows."""
    try:
        work.begin_by()
    except AttemptFenced:
        body.close()
        raise
    return await body


async def call_async(work: Work, info: TaskInfo) -> Any:
    """Runs an async body in the running task, and resets the current task afterwards."""
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
    """Returns the result of the body, called in this thread in a context of its own; an async body is run to its end.

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
    """Returns the result of an async body, run in the current task."""
    started_at = time.time() if info.started_at is None else info.started_at
    try:
        value = await call_async(work, info)
        return returned_value(work.event, value, started_at, time.time(), limit)
    except BaseException as error:
        return raised(work, error, started_at, time.time())
