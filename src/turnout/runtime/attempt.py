"""Holds the state of one attempt in the executor of threads."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from operator import attrgetter
from typing import TypeAlias

import msgspec

from turnout.contracts.executor import Report, Work
from turnout.model.events import TaskReadyEvent
from turnout.model.info import TaskInfo
from turnout.runtime.execution import wait_cancelled

Key: TypeAlias = tuple[str, int, bool]

QUICK_SECONDS = 0.00005
"""Bodies below it take less time than their attempts take the engine: more than one thread would not be quicker."""


def key_of(event: TaskReadyEvent) -> Key:
    """Returns the key of an attempt. A shadow has the task and number of the attempt that it copies."""
    return (event.task_id, event.attempt, event.shadow)


class Location(Enum):
    """The location of an attempt: it holds a thread, or a slot of the event loop, until its body returns."""

    QUEUE = 0
    THREAD = 1
    LOOP = 2
    NOWHERE = 3


# Named for the hot path, as in model/states.py.
IN_QUEUE, IN_THREAD, ON_LOOP, NOWHERE = Location.QUEUE, Location.THREAD, Location.LOOP, Location.NOWHERE


class Attempt(msgspec.Struct, gc=False, eq=False):
    """One attempt, from its acceptance until its body returns, which may be later than its result."""

    key: Key
    event: TaskReadyEvent
    report: Report
    location: Location = IN_QUEUE
    abandoned: bool = False
    """Its result was given while its body still ran."""
    work: Work | None = None
    info: TaskInfo | None = None
    deadline: int | None = None
    started_at: float | None = None
    arrived: float = 0.0
    """The time at which it entered its queue, by the monotonic clock."""
    loading: bool = False
    """True while a thread waits for its work to be loaded."""
    estimate: float = 0.0
    """Expected seconds of its body, while it waits for a thread."""
    quick: bool = False
    """True if its body is expected to return before another thread could take the next."""

    def begin(self, work: Work, location: Location, now: float) -> TaskInfo:
        self.work = work
        self.info = info = work.info(now, wait_cancelled)
        self.started_at = now
        self.location = location
        return info


def body_of(event: TaskReadyEvent) -> str:
    """Returns the key of the body's measured durations."""
    return event.body or event.task_name


is_quick: Callable[[Attempt], bool] = attrgetter("quick")


def rank_of(attempt: Attempt) -> tuple[int, int]:
    """Returns the rank of a waiting attempt: the highest rank begins first."""
    event = attempt.event
    return (event.priority, event.task_priority)
