"""When may a task run alone, and how long do others make way for it?

A task whose attempt was lost with its process twice may be what killed it. From then on nothing else runs in its
executor, or on its worker, while it does: if it kills the process again, it is the only one to be lost, and is counted.
Until the place is empty it waits, and others make way, but never for long behind a body that does not end: windows in
which nothing new is started alternate with as much time in which work goes on, and both grow. What runs alone does so
for ``MAX_EXCLUSIVE`` seconds at most: after that others start beside it. If others were turned away meanwhile, as much
time is theirs before the next is alone.

Where every attempt has a process of its own none of this is needed, so a suspect goes there if its body can.
"""

from __future__ import annotations

INITIAL_WINDOW = 5.0
MAX_WINDOW = 300.0
LAST_RESORT = 3600.0
"""Seconds after which it runs in company rather than never."""
MAX_EXCLUSIVE = 5.0
"""Seconds for which nothing is started beside a task that runs alone."""
SHORT = 0.1
"""Seconds of being alone that cost others nothing worth a rest."""
FORGOTTEN = 10.0
"""Seconds without a word of it after which nobody makes way any more: its run was cancelled, or went elsewhere."""


def make_way(waited: float) -> bool:
    """Whether nothing new is started in an executor that somebody has waited so long to have for himself."""
    begin, window = 0.0, INITIAL_WINDOW
    while waited >= begin + 2 * window:
        if window >= MAX_WINDOW:
            return (waited - begin) % (2 * window) < window
        begin += 2 * window
        window = min(2 * window, MAX_WINDOW)
    return waited - begin < window


class ExclusiveUse:
    """One executor's state: free for all, held for somebody who waits to be alone, or taken by him."""

    __slots__ = ("_asked", "_rest_until", "_since", "_taken_at", "_turned_away", "taken")

    def __init__(self) -> None:
        self.taken = False
        self._since: float | None = None
        self._asked = 0.0
        self._taken_at = 0.0
        self._turned_away = False
        self._rest_until = 0.0

    @property
    def wanted(self) -> bool:
        return self._since is not None

    def ask(self, now: float, empty: bool, room: bool = True) -> bool:
        """Somebody wants to be alone: whether he may start now. True with others there, if there is room beside them,
        is the last resort."""
        if now < self._rest_until:
            return False
        if not empty and self._since is None:
            self._since = now
        self._asked = now
        if empty or (room and self._since is not None and now - self._since >= LAST_RESORT):
            self.taken, self._since, self._taken_at = empty, None, now
            return True
        return False

    def closed_to_others(self, now: float) -> bool:
        if self.taken:
            return now - self._taken_at < MAX_EXCLUSIVE
        if self._since is None:
            return False
        if now - self._asked > FORGOTTEN:
            self._since = None
            return False
        return make_way(now - self._since)

    def turn_away(self) -> None:
        """Somebody else was refused a place."""
        self._turned_away = True

    def release(self, now: float) -> None:
        """The executor is empty again."""
        used = min(now - self._taken_at, MAX_EXCLUSIVE)
        if self.taken and self._turned_away and used >= SHORT:
            self._rest_until = now + used
        self.taken = self._turned_away = False

    def over(self, now: float) -> bool:
        """Whether nothing is to be remembered of it."""
        return not self.taken and self._since is None and now >= self._rest_until
