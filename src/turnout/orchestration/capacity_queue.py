"""Runs whose ready tasks wait for capacity, by executor, in the order of their priority and waiting time."""

from __future__ import annotations

import heapq
from itertools import count

from turnout.model.states import RunState
from turnout.orchestration.active_run import ActiveRun

PATIENCE = 0.5
"""Seconds. A run may go straight on to its next task while others wait for the same executor, but only until the
first of them has waited this long: then it queues behind them. So nobody starves, and hops stay at one commit."""


def line_of(key: str, rest: str) -> str:
    """The name of one of several lines of an executor; executors with one line name it by their key alone."""
    return f"{key} {rest}"


def key_of(line: str) -> str:
    """The executor that a line is for; the same object for an executor's only line."""
    return line.partition(" ")[0] if " " in line else line


def rest_of(line: str) -> str:
    """What the executor itself calls the line."""
    return line.partition(" ")[2]


class CapacityQueue:
    """Waiting lines: one for each executor, or several where it chooses among holders."""

    def __init__(self) -> None:
        self._lines: dict[str, list[tuple[int, float, int, ActiveRun]]] = {}
        self._order = count()
        self._alone: dict[str, dict[ActiveRun, None]] = {}
        """Runs with a task that waits to have the executor for itself: outside of the line, or all would queue behind
        them."""

    def add(self, owned: ActiveRun, key: str, now: float) -> None:
        if key in owned.queued_for:
            return
        owned.queued_for.add(key)
        entry = (-owned.machine.new.priority, owned.waiting_since.setdefault(key, now), next(self._order), owned)
        heapq.heappush(self._lines.setdefault(key, []), entry)

    def must_queue(self, owned: ActiveRun, key: str, now: float) -> bool:
        """Whether somebody with at least this priority has waited too long already."""
        line = self._lines.get(key)
        if not line:
            return False
        priority, since, _, first = line[0]
        if first is owned or -priority < owned.machine.new.priority:
            return False
        mine = owned.waiting_since.get(key, now)
        return -priority > owned.machine.new.priority or (now - since > PATIENCE and since < mine)

    def next(self, key: str, limit: int) -> list[ActiveRun]:
        """Take up to ``limit`` runs out of this line; what they cannot place they park again, at their old rank."""
        line = self._lines.get(key, [])
        chosen: list[ActiveRun] = []
        while line and len(chosen) < limit:
            owned = heapq.heappop(line)[3]
            owned.queued_for.discard(key)
            if not owned.dropped and owned.machine.row.state is RunState.RUNNING:
                chosen.append(owned)
        if not line:
            self._lines.pop(key, None)
        return chosen

    def waiting(self, key: str) -> list[ActiveRun]:
        """The runs in this line, by rank."""
        return [owned for *_, owned in sorted(self._lines.get(key, ())) if _waits(owned, key)]

    def add_exclusive(self, owned: ActiveRun, key: str) -> None:
        self._alone.setdefault(key, {})[owned] = None

    def take_exclusive(self, key: str | None = None) -> list[ActiveRun]:
        """Take out the runs that wait to be alone there, or anywhere; who still has to parks again."""
        if not self._alone:
            return []
        if key is not None:
            return list(self._alone.pop(key, ()))
        waiting, self._alone = self._alone, {}
        return [owned for line in waiting.values() for owned in line]

    def wanted(self) -> list[str]:
        """The executors that somebody waits for."""
        return list(dict.fromkeys(key_of(name) for name, line in self._lines.items() if line))

    def waited_for(self, key: str) -> dict[str, list[ActiveRun]]:
        """Those of the several lines of this executor in which somebody stands, and who."""
        waiting = {
            name: [owned for *_, owned in line if _waits(owned, name)]
            for name, line in self._lines.items()
            if name != key and key_of(name) == key
        }
        return {name: runs for name, runs in waiting.items() if runs}

    def lines_of(self, key: str) -> list[str]:
        """All lines of this executor."""
        return [name for name in self._lines if key_of(name) == key]

    def __len__(self) -> int:
        return sum(len(line) for line in self._lines.values())


def _waits(owned: ActiveRun, line: str) -> bool:
    return line in owned.queued_for and not owned.dropped and owned.machine.row.state is RunState.RUNNING
