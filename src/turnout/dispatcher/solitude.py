"""When may a task run alone, and how long do others make way for it?

A task whose attempt was lost with its process twice may be what killed it. From then on nothing else runs in its
executor, or on its worker, while it does: if it kills the process again, it is the only one to be lost, and is counted.
Until the place is empty it waits, and others make way, but never for long behind a body that does not end: windows in
which nothing new is started alternate with as much time in which work goes on, and both grow.
"""

from __future__ import annotations

FIRST_WINDOW = 5.0
LONGEST_WINDOW = 300.0
LAST_RESORT = 3600.0
"""Seconds after which it runs in company rather than never."""
FORGOTTEN = 10.0
"""Seconds without a word of it after which nobody makes way any more: its run was cancelled, or went elsewhere."""


def make_way(waited: float) -> bool:
    """Whether nothing new is started in an executor that somebody has waited so long to have for himself."""
    begin, window = 0.0, FIRST_WINDOW
    while waited >= begin + 2 * window:
        if window >= LONGEST_WINDOW:
            return (waited - begin) % (2 * window) < window
        begin += 2 * window
        window = min(2 * window, LONGEST_WINDOW)
    return waited - begin < window


class Solitude:
    """One executor's state: free for all, held for somebody who waits to be alone, or taken by him."""

    __slots__ = ("_asked", "_since", "taken")

    def __init__(self) -> None:
        self.taken = False
        self._since: float | None = None
        self._asked = 0.0

    @property
    def wanted(self) -> bool:
        return self._since is not None

    def ask(self, now: float, empty: bool, room: bool = True) -> bool:
        """Somebody wants to be alone: whether he may start now. True with others there, if there is room beside them,
        is the last resort."""
        if not empty and self._since is None:
            self._since = now
        self._asked = now
        if empty or (room and self._since is not None and now - self._since >= LAST_RESORT):
            self.taken, self._since = empty, None
            return True
        return False

    def closed_to_others(self, now: float) -> bool:
        if self.taken:
            return True
        if self._since is None:
            return False
        if now - self._asked > FORGOTTEN:
            self._since = None
            return False
        return make_way(now - self._since)

    def left(self) -> None:
        """The executor is empty again."""
        self.taken = False
