"""Estimates of how long bodies take, by what they are, from those that have returned."""

from __future__ import annotations

HORIZON = 0.05
"""Seconds of work that may wait in front of the threads: enough to hide a trip to the store, and too short to matter if
another process could have taken it."""
JOLT = 0.001
MAX_BODIES = 10_000
"""Bodies whose pace is remembered; the one that was first seen longest ago is forgotten first."""


class Pace:
    """A moving average of body durations that no single measurement can throw far.

    A body's time includes what its thread waited for the interpreter, milliseconds at times for one that does nothing,
    so one step grows the average at most by a tenth of itself and a little more.
    """

    __slots__ = ("count", "mean")

    def __init__(self) -> None:
        self.mean: float = HORIZON
        """Seconds that the next body may take; before the first has returned, too long for a backlog."""
        self.count: int = 0

    def add(self, seconds: float) -> None:
        mean = self.mean
        self.mean = mean + 0.1 * (min(seconds, 2 * mean + JOLT) - mean) if self.count else seconds
        self.count += 1

    def backlog(self, threads: int, most: int, waiting: float = 0.0) -> int:
        """How many more attempts may wait while ``threads`` are busy and ``waiting`` seconds of work wait already: what
        they get through in ``HORIZON`` seconds beyond what they are at. No more than have been measured: one quick body
        vouches for one other."""
        if self.mean >= HORIZON or threads < 1:
            return 0
        most = min(most, self.count)
        left = threads * (HORIZON - self.mean) - waiting
        if left < 0:
            return 0
        return most if self.mean * most <= left else int(left / self.mean)


class Paces:
    """The pace of each body, and of all together. ``add`` is called by one thread at a time."""

    def __init__(self) -> None:
        self.overall = Pace()
        self._unknown = Pace()
        self._by_body: dict[str, Pace] = {}

    def of(self, body: str) -> Pace:
        return self._by_body.get(body, self._unknown)

    def add(self, body: str, seconds: float) -> None:
        pace = self._by_body.get(body)
        if pace is None:
            if len(self._by_body) >= MAX_BODIES:
                del self._by_body[next(iter(self._by_body))]
            pace = self._by_body[body] = Pace()
        pace.add(seconds)
        self.overall.add(seconds)
