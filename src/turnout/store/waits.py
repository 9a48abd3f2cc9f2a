"""How much of their time do callers spend waiting for the store instead of using it?"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from turnout.model.rows import StoreUse


class Waits:
    """Counts who waits and who is served, from any thread."""

    def __init__(self, size: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.size = size
        self._clock = clock
        self._lock = threading.Lock()
        self._since = clock()
        self._waiting = self._active = 0
        self._waited = self._used = 0.0

    def arrives(self) -> None:
        self._moves(waiting=1)

    def is_served(self) -> None:
        self._moves(waiting=-1, active=1)

    def gives_up(self) -> None:
        self._moves(waiting=-1)

    def leaves(self) -> None:
        self._moves(active=-1)

    def look(self) -> StoreUse:
        """The state now, and the share since the last look."""
        with self._lock:
            self._advance()
            total = self._waited + self._used
            share = self._waited / total if total else 0.0
            self._waited = self._used = 0.0
            return StoreUse(size=self.size, active=self._active, waiting=self._waiting, saturation=share)

    def _moves(self, *, waiting: int = 0, active: int = 0) -> None:
        with self._lock:
            self._advance()
            self._waiting += waiting
            self._active += active

    def _advance(self) -> None:
        now = self._clock()
        passed, self._since = now - self._since, now
        self._waited += passed * self._waiting
        self._used += passed * self._active
