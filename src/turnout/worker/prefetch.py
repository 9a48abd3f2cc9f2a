"""Decides how many steps a worker asks for: twice its slots, and more if steps are quick."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from turnout.wire.held_steps import HeldStep

HORIZON = 0.2
"""Seconds of work to prefetch: enough to hide the round trip to the hub and a commit, and too short to matter if
another worker could have begun it."""
MAX_GROWTH = 4
"""At most so many times as many as ended since the last tick: a worker that is seldom used prefetches little, however
quick its bodies are."""
MAX_AHEAD = 512
FADING = 0.7
"""The prefetched share shrinks to no less than this part of itself per tick: loads come in bursts."""
RETURN_TIMEOUT = 1.0
"""Seconds after which prefetched steps that still wait are returned to their hub."""


class Prefetch:
    """Counts the steps that end, and the seconds in which any ran: a worker that waits for its hub has too few. Long
    bodies end seldom, so nothing is prefetched behind them."""

    def __init__(self) -> None:
        self._ended = 0
        self._busy = False
        self._busy_since = 0.0
        self._busy_seconds = 0.0
        self._ahead = 0.0

    def ended(self, steps: int) -> None:
        self._ended += steps

    def busy(self, running: bool, now: float) -> None:
        """Called in every round: ``running`` is True if any body runs from now on."""
        if self._busy:
            self._busy_seconds += now - self._busy_since
        self._busy, self._busy_since = running, now

    def credits(self, slots: int, now: float) -> int:
        """Returns how many steps to ask for in all with so many slots; called once per tick."""
        if slots <= 0:
            return 0
        self.busy(self._busy, now)
        able = self._ended * min(MAX_GROWTH, HORIZON / max(0.001, self._busy_seconds))
        self._ahead = min(MAX_AHEAD, max(able - slots, self._ahead * FADING))
        self._ended, self._busy_seconds = 0, 0.0
        return 2 * slots + int(self._ahead)


def waits_too_long(waiting: Iterable[HeldStep], slots: int, now: float) -> list[HeldStep]:
    """Returns prefetched steps that have waited for ``RETURN_TIMEOUT``. As many as there are slots may wait without
    limit, and so may those that have asked for leave to begin."""
    ahead = islice(waiting, max(0, slots), None)
    return [each for each in ahead if not each.start_wanted and now - each.received_at > RETURN_TIMEOUT]
