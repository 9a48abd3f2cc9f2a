"""Holds the items of a mapped task in memory: their positions, the number of open ones, and those held back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

import msgspec

from turnout.model.graph import Graph
from turnout.model.mapping import items_of
from turnout.model.rows import TaskRow
from turnout.model.states import TASK_PENDING, TASK_READY, TASK_RUNNING, TASK_TERMINAL


class Group:
    """The items of one mapped task.

    Of a group with ``max_parallel``, only as many items are in the machine's ``ready`` as may start at once
    (``ready + busy ≤ limit``); the others that could start are ``held``, in the order in which they became ready.
    """

    __slots__ = ("busy", "held", "items", "limit", "open", "ready")

    def __init__(self, items: range, limit: int | None) -> None:
        self.items = items
        self.limit = limit
        self.open = len(items)
        """Items that have not ended."""
        self.busy = 0
        """Items that run, or that a poller may take at any moment. Counted only with a limit, as are
        ``ready`` and ``held``."""
        self.ready = 0
        self.held: dict[int, None] = {}

    def change(self, before: TaskRow, row: TaskRow, ready: dict[int, None]) -> None:
        """Counts the change of an item's row; ``ready`` is the machine's."""
        self.busy += takes_slot(row) - takes_slot(before)
        if startable(row):
            if row.pos not in ready:
                self.held.setdefault(row.pos)
        else:
            self.held.pop(row.pos, None)
            if row.pos in ready:
                del ready[row.pos]
                self.ready -= 1

    def admit(self, ready: dict[int, None]) -> None:
        """Makes held items ready, the oldest first, up to the limit."""
        assert self.limit is not None
        while self.held and self.busy + self.ready < self.limit:
            pos = next(iter(self.held))
            del self.held[pos]
            ready[pos] = None
            self.ready += 1


class Expansion(msgspec.Struct, gc=False):
    """The items that a transition adds to its run. Without garbage collection: it is in no reference cycle."""

    added: list[TaskRow] = []
    """Rows that the transition adds, as they were before it moved them."""
    opened: dict[int, range] = {}
    """Mapped tasks that get their items, and the positions of these."""
    open_items: dict[int, int] = {}
    """Open items of each group after the transition, where the number has changed."""


NO_GROUPS: Mapping[int, Group] = MappingProxyType({})
"""The groups of a run without mapped tasks, or before the first of them starts."""


def startable(row: TaskRow) -> bool:
    """True if the task is ready, its delay is over, and it is not offered to pollers."""
    return row.state is TASK_READY and row.poll_key is None and not row.retry_in


def takes_slot(row: TaskRow) -> bool:
    """True if the item takes one of its group's slots: it runs, or a poller may claim it at any moment."""
    return row.state is TASK_RUNNING or row.poll_key is not None


def restored_groups(graph: Graph, tasks: Sequence[TaskRow], ready: dict[int, None]) -> dict[int, Group]:
    """Returns the groups of a run by its rows; removes from ``ready`` the items that limits hold back."""
    groups: dict[int, Group] = {}
    for pos, items in items_of(tasks[len(graph.tasks) :]).items():
        mapped = graph.tasks[pos].map
        assert mapped is not None
        group = groups[pos] = Group(items, mapped.max_parallel)
        rows = [tasks[each] for each in items]
        group.open = sum(row.state not in TASK_TERMINAL for row in rows)
        if group.limit is not None:
            group.busy = sum(map(takes_slot, rows))
            group.held = {row.pos: ready.pop(row.pos) for row in rows if row.pos in ready}
            group.admit(ready)
    return groups


def wanted_outputs(graph: Graph, rows: Sequence[TaskRow], among: Iterable[int]) -> list[int]:
    """Returns the positions whose outputs stay in memory at any size: a rule reads them, or they are lists to count."""
    return [pos for pos in among if keeps_output(graph, rows, rows[pos])]


def keeps_output(graph: Graph, rows: Sequence[TaskRow], row: TaskRow) -> bool:
    """True if this row's output stays in memory at any size."""
    pos = row.task_pos
    waiting = graph.counted_by.get(pos, ())
    return pos in graph.rule_context or any(rows[each].state is TASK_PENDING for each in waiting)
