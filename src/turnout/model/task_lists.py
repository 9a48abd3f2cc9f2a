"""Holds the conditions of lists of tasks, and what such lists read of them."""

from __future__ import annotations

import msgspec

from turnout.model.states import RunState, TaskState

MAX_POSITION = 2**31 - 1
"""A position that no task has: it is above all of them."""


class TaskFilter(msgspec.Struct, frozen=True, kw_only=True):
    """The conditions of a list of the tasks of one run; a task fulfils all of them."""

    states: tuple[TaskState, ...] = ()
    """One of these; empty: any."""
    item_of: int | None = None
    """Items of the mapped task at this position."""
    top_level: bool = False
    """True: tasks of the graph only, no items."""


class ItemGroup(msgspec.Struct, frozen=True):
    """The items of one mapped task."""

    counts: dict[TaskState, int]
    started_at: float | None = None
    """When the first of those that have begun did so."""
    finished_at: float | None = None
    """When the last of those that have ended did so."""

    def with_more(self, other: ItemGroup) -> ItemGroup:
        """Returns the items of both, which are in different states."""
        began = [at for at in (self.started_at, other.started_at) if at is not None]
        ended = [at for at in (self.finished_at, other.finished_at) if at is not None]
        return ItemGroup(self.counts | other.counts, min(began, default=None), max(ended, default=None))


class GraphTask(msgspec.Struct, frozen=True, gc=False):
    """A task of the graph of one of several runs."""

    pos: int
    state: TaskState
    name: str
    attempt: int
    reason: str | None
    dispatched_at: float | None
    started_at: float | None
    finished_at: float | None


class WaitingTask(msgspec.Struct, frozen=True, omit_defaults=True):
    """The first task of a run that waits to be started."""

    task: str
    reason: str | None = None
    """Why it waits; none: nothing keeps it from its start."""
    count: int = 1
    """How many tasks of the run wait, among the first 200."""


class OpenTaskFilter(msgspec.Struct, frozen=True, kw_only=True):
    """The conditions of a list of the tasks of runs that have not ended; a task fulfils all of them."""

    states: tuple[TaskState, ...]
    executor: str = ""
    """Its executor key; empty: any."""
    holder: str = ""
    """The session that holds its attempt; empty: any."""
    reason: str = ""
    """The beginning of its reason; empty: any."""


class OpenTask(msgspec.Struct, frozen=True, kw_only=True):
    """A task of a run that has not ended."""

    run_id: str
    workflow: str
    run_state: RunState
    version: str
    pos: int
    name: str
    state: TaskState
    attempt: int
    priority: int
    executor: str | None
    labels: dict[str, str] | None
    reason: str | None
    retry_in: float | None
    """Seconds until it may start; negative: it may since then."""
    holder: str | None
    item_of: int | None
    dispatched_at: float | None
    started_at: float | None
    since: float | None
    """When its newest move was committed, by the database's clock."""
