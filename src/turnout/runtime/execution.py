"""The execution of one attempt: its body is called, and what it returned or raised becomes the attempt's result.

Every executor that runs Python bodies goes this way, in whatever thread or process it does so.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextvars import Context

from turnout.contracts.executor import Work
from turnout.model.events import ExecutionResult
from turnout.model.info import TaskInfo
from turnout.model.values import MAX_BYTES
from turnout.runtime.attempt import call, call_async
from turnout.runtime.outcome import raised, returned_value


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
