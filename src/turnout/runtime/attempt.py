"""Holds what the executor of threads keeps of one attempt."""

from __future__ import annotations

from enum import Enum
from typing import TypeAlias

import msgspec

from turnout.contracts.executor import Report, Work
from turnout.model.events import TaskReadyEvent
from turnout.model.info import TaskInfo
from turnout.runtime.execution import info_for

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
