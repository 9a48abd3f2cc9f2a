"""What an executor that runs bodies in this process keeps of one attempt."""

from __future__ import annotations

import asyncio
import inspect
from enum import Enum
from types import CoroutineType
from typing import Any, TypeAlias

import msgspec

from turnout.contracts.executor import Report, Work
from turnout.errors import AttemptFenced
from turnout.model.events import TaskReadyEvent
from turnout.model.info import TaskInfo, reset_current, set_current
from turnout.runtime.cancellation import wait_cancelled
from turnout.runtime.capture import stay_in_place

Key: TypeAlias = tuple[str, int, bool]


def key_of(event: TaskReadyEvent) -> Key:
    """What tells attempts apart: a shadow has the task and ordinal of the attempt that it copies."""
    return (event.task_id, event.attempt, event.shadow)


class Location(Enum):
    """Where an attempt is: it holds a thread, or room on the event loop, until its body really returns."""

    QUEUE = 0
    THREAD = 1
    LOOP = 2
    NOWHERE = 3


# Named for the hot path, as in model/states.py.
IN_QUEUE, IN_THREAD, ON_LOOP, NOWHERE = Location.QUEUE, Location.THREAD, Location.LOOP, Location.NOWHERE


class Attempt(msgspec.Struct, gc=False, eq=False):
    """One attempt from being taken in until its body returns, which may be later than its result."""

    key: Key
    event: TaskReadyEvent
    report: Report
    place: Location = IN_QUEUE
    abandoned: bool = False
    """Its result was given while its body still ran."""
    work: Work | None = None
    info: TaskInfo | None = None
    deadline: int | None = None
    started_at: float | None = None
    arrived: float = 0.0
    """When it came into the queue that it is in, by the monotonic clock."""
    loading: bool = False
    """A thread has it and waits for its work."""
    estimate: float = 0.0
    """Seconds that its body may take, while it waits for a thread."""

    def begin(self, work: Work, place: Location, now: float) -> TaskInfo:
        self.work = work
        self.info = info = info_for(work, now)
        self.started_at = now
        self.place = place
        return info


def body_of(event: TaskReadyEvent) -> str:
    """What estimates are kept by."""
    return event.body or event.task_name


def rank_of(attempt: Attempt) -> tuple[int, int]:
    """Of the attempts that wait, those with the highest rank begin first."""
    event = attempt.event
    return (event.priority, event.task_priority)


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
