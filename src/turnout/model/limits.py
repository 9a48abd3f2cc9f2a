"""Which ready tasks may start in a run that limits how many items of a mapped task are under way at once?"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

from turnout.model.groups import occupies, placeable

if TYPE_CHECKING:
    from turnout.model.turn import Turn


def ready_within_limits(turn: Turn) -> Iterator[int]:
    """Ready tasks, oldest first, as many of a limited group as it has places left after this turn."""
    machine, room = turn.machine, _room(turn)
    # Of those that are held, no more than could get a place, even if this turn moves some of them itself.
    held = [
        pos
        for which, group in machine.groups.items()
        for pos in islice(group.held, max(0, room.get(which, 0)) + len(turn.rows))
    ]
    new = [pos for pos in turn.rows if pos not in machine.ready]
    for pos in dict.fromkeys([*machine.ready, *held, *new]):
        row = turn.task(pos)
        if placeable(row):
            if row.group in room:
                if room[row.group] <= 0:
                    continue
                room[row.group] -= 1
            yield pos


def offerable_within_limits(turn: Turn) -> Iterator[int]:
    """The same for pollers. A task whose time has not come may be left to them too, and keeps its place for it."""
    waiting = [pos for pos in turn.made_ready() if turn.task(pos).retry_in]
    yield from waiting
    # What was just offered takes its place, so the others are looked for only now.
    yield from list(ready_within_limits(turn))


def _room(turn: Turn) -> dict[int | None, int]:
    """How many places each limited group has left, by what is committed and what this turn changes."""
    machine = turn.machine
    room: dict[int | None, int] = {}
    for pos in machine.graph.mapped:
        mapped = machine.graph.tasks[pos].map
        if mapped is not None and mapped.max_parallel is not None:
            room[pos] = mapped.max_parallel - (machine.groups[pos].busy if pos in machine.groups else 0)
    for pos, row in turn.rows.items():
        if row.group in room:
            room[row.group] -= occupies(row) - occupies(turn.tasks[pos])
    return room
