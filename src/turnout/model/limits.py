"""Which ready tasks may start in a run that limits how many items of a mapped task run at once."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from turnout.model.groups import occupies, placeable
from turnout.model.moves import RunView


def ready_within_limits(view: RunView) -> Iterator[int]:
    """Ready tasks, oldest first, as many of a limited group as it has places left after this view."""
    machine, room = view.machine, _room(view)
    # Of those that are held, no more than could get a place, even if this turn moves some of them itself.
    held = [
        pos
        for which, group in machine.groups.items()
        for pos in islice(group.held, max(0, room.get(which, 0)) + len(view.rows))
    ]
    new = [pos for pos in view.rows if pos not in machine.ready]
    for pos in dict.fromkeys([*machine.ready, *held, *new]):
        row = view.task(pos)
        if placeable(row):
            if row.group in room:
                if room[row.group] <= 0:
                    continue
                room[row.group] -= 1
            yield pos


def offerable_within_limits(view: RunView) -> Iterator[int]:
    """The same for pollers. A task whose time has not come may be left to them too, and keeps its place for it."""
    waiting = [pos for pos in view.made_ready() if view.task(pos).retry_in]
    yield from waiting
    # What was just offered takes its place, so the others are looked for only now.
    yield from list(ready_within_limits(view))


def _room(view: RunView) -> dict[int | None, int]:
    """How many places each limited group has left, by what is committed and what this turn changes."""
    machine = view.machine
    room: dict[int | None, int] = {}
    for pos in machine.graph.mapped:
        mapped = machine.graph.tasks[pos].map
        if mapped is not None and mapped.max_parallel is not None:
            room[pos] = mapped.max_parallel - (machine.groups[pos].busy if pos in machine.groups else 0)
    for pos, row in view.rows.items():
        if row.group in room:
            room[row.group] -= occupies(row) - occupies(view.tasks[pos])
    return room
