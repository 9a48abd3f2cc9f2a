"""Decides how many steps a worker asks for: twice its slots, and more if steps are quick."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from math import inf

from turnout.wire.held_steps import HeldStep

HORIZON = 0.2
"""Seconds of work that is asked for ahead, judging by what was got through lately: enough to hide the way to the hub
and a commit, and too short to matter if another worker could have begun it."""
MAX_AHEAD = 512
FADING = 0.7
"""What is asked for ahead shrinks by no more than this from one look to the next: loads come in bursts."""
PATIENCE = 1.0
"""Seconds after which steps that were asked for ahead, and still wait, are for others."""


class Prefetch:
    """Counts what ends. Bodies that take long end seldom, so nothing is asked for ahead of them."""

    def __init__(self) -> None:
        self._ended = 0
        self._looked = -inf
        self._ahead = 0.0

    def ended(self) -> None:
        self._ended += 1

    def credits(self, places: int, now: float) -> int:
        """How many steps to ask for in all, with so many places; to be asked from time to time."""
        if places <= 0:
            return 0
        rate = self._ended / max(0.001, now - self._looked)
        self._ahead = min(MAX_AHEAD, max(rate * HORIZON - places, self._ahead * FADING))
        self._ended, self._looked = 0, now
        return 2 * places + int(self._ahead)


def waits_too_long(waiting: Iterable[HeldStep], places: int, now: float) -> list[HeldStep]:
    """Steps that were asked for ahead and are further from their turn than was thought. As many as there are places
    may wait however long it takes, and so may those that have asked for leave to begin."""
    ahead = islice(waiting, max(0, places), None)
    return [each for each in ahead if not each.start_wanted and now - each.received_at > PATIENCE]
