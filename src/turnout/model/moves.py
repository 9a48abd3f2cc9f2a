"""Holds the moves of one run that branches, hooks and mapped tasks return. Only the transition applies them.

The functions that decide yield moves one by one. The transition applies each before the next is
decided, so later decisions see earlier moves.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeAlias

import msgspec

from turnout.model.events import ExecutionResult
from turnout.model.rows import RunRow, TaskRow
from turnout.model.run_machine import RunMachine
from turnout.model.states import TaskState
from turnout.model.verdict import Verdict


class MakeReady(msgspec.Struct, frozen=True, gc=False):
    """Pending to ready."""

    pos: int
    reason: str | None = None


class Stop(msgspec.Struct, frozen=True, gc=False):
    """To a terminal state without a result."""

    pos: int
    state: TaskState
    reason: str | None


class End(msgspec.Struct, frozen=True, gc=False):
    """To a terminal state by a result."""

    pos: int
    result: ExecutionResult
    verdict: Verdict


class StartGroup(msgspec.Struct, frozen=True, gc=False):
    """A mapped task goes from pending to running."""

    pos: int


class AddItems(msgspec.Struct, frozen=True, gc=False):
    """A mapped task that runs gets its items."""

    pos: int
    count: int


Move: TypeAlias = MakeReady | Stop | End | StartGroup | AddItems


class RunView(Protocol):
    """A run while a transition changes it: the committed state, and the changes so far. Read only."""

    @property
    def machine(self) -> RunMachine: ...

    @property
    def tasks(self) -> Sequence[TaskRow]:
        """The rows as they were before the transition; those that it adds come last."""
        ...

    @property
    def rows(self) -> dict[int, TaskRow]:
        """The rows that the transition changes."""
        ...

    @property
    def run_row(self) -> RunRow: ...

    @property
    def awaits_claim_check(self) -> bool:
        """True if the transition ended a task that a poller may have claimed meanwhile."""
        ...

    @property
    def open_after(self) -> int:
        """The number of open tasks after the transition."""
        ...

    def task(self, pos: int) -> TaskRow: ...

    def items_in(self, pos: int) -> range:
        """Returns the positions of a mapped task's items; empty before it has any."""
        ...

    def made_ready(self) -> list[int]: ...
