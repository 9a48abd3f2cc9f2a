"""Who was not let in, and why? Said once for each peer and reason, and never so often that it drowns the rest."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

log = logging.getLogger("turnout.hub")

SAID_AGAIN = 600.0
"""Seconds after which the same refusal is worth another line."""
MAX_IN_A_WHILE, WHILE = 50, 60.0
"""Lines in one such time: whoever tries many keys does not fill the disk."""


class Refusals:
    """The log of those who were refused."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._said: dict[tuple[str, str], float] = {}
        self._began = -WHILE
        self._lines = 0
        self.count = 0
        """All of them, logged or not."""

    def note(self, peer: str, reason: str) -> None:
        self.count += 1
        now = self._clock()
        if now - self._said.get((peer, reason), -SAID_AGAIN) < SAID_AGAIN:
            return
        if now - self._began >= WHILE:
            self._began, self._lines = now, 0
            self._said = {each: said for each, said in self._said.items() if now - said < SAID_AGAIN}
        self._lines += 1
        if self._lines <= MAX_IN_A_WHILE:
            self._said[peer, reason] = now
            log.warning("%s was refused: %s", peer, reason)
        elif self._lines == MAX_IN_A_WHILE + 1:
            log.warning("more were refused; the next lines about that come in %.0f s", self._began + WHILE - now)
