"""Holds the items of a mapped task in memory: their positions, how many are open, which are held back."""

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
        """Items that run, or that a poller may take at any moment. This and the next two only with a limit."""
        self.ready = 0
        self.held: dict[int, None] = {}

    def change(self, before: TaskRow, row: TaskRow, ready: dict[int, None]) -> None:
        """An item's row has changed; ``ready`` is the machine's."""
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
    """What a turn adds to its run. It refers to nothing that refers back to it, as the turn does not either."""

    added: list[TaskRow] = []
    """Rows that the turn adds, as they were before it moved them."""
    opened: dict[int, range] = {}
    """Mapped tasks that get their items in the turn, and where."""
    open_items: dict[int, int] = {}
    """How many items of a group are open after the turn, where that has changed."""


NO_GROUPS: Mapping[int, Group] = MappingProxyType({})
"""Those of a run that maps nothing, or has not begun to."""


def startable(row: TaskRow) -> bool:
    """Ready, its waiting time over, and not left to pollers."""
    return row.state is TASK_READY and row.poll_key is None and not row.retry_in


def takes_slot(row: TaskRow) -> bool:
    """Whether it takes one of its group's places: it runs, or a poller may start it without asking."""
    return row.state is TASK_RUNNING or row.poll_key is not None


def restored_groups(graph: Graph, tasks: Sequence[TaskRow], ready: dict[int, None]) -> dict[int, Group]:
    """The groups of a run as its rows tell; takes out of ``ready`` what their limits hold back."""
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
    """Which of these outputs the machine keeps whatever their size: rules look into them, or lists are yet to count."""
    return [pos for pos in among if keeps_output(graph, rows, rows[pos])]


def keeps_output(graph: Graph, rows: Sequence[TaskRow], row: TaskRow) -> bool:
    """Whether this row's output has to stay in memory."""
    pos = row.task_pos
    waiting = graph.counted_by.get(pos, ())
    return pos in graph.rule_context or any(rows[each].state is TASK_PENDING for each in waiting)
