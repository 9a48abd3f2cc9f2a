"""Measures which share of their time callers wait for a connection instead of using it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from turnout.model.rows import StoreUse


class Saturation:
    """Counts callers that wait and that are served. Used from any thread."""

    def __init__(self, size: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.size = size
        self._clock = clock
        self._lock = threading.Lock()
        self._looks = 0
        self._looked_at = self._since = clock()
        self._waiting = self._active = self._fresh = 0
        self._excused = False
        self._waited = self._used = self._pressed = 0.0

    def arrives(self) -> None:
        with self._lock:
            self._advance()
            self._waiting += 1

    def is_served(self) -> int:
        """Returns the argument for ``leaves``."""
        with self._lock:
            self._advance()
            self._waiting -= 1
            self._active += 1
            self._fresh += 1
            return self._looks

    def gives_up(self) -> None:
        with self._lock:
            self._advance()
            self._waiting -= 1

    def leaves(self, served: int) -> None:
        with self._lock:
            self._advance()
            self._active -= 1
            self._fresh -= served == self._looks

    def excuse(self, excused: bool) -> None:
        """Ignores waiting callers while the ledger writes: a busy ledger is no sign of saturation."""
        with self._lock:
            self._advance()
            self._excused = excused

    def look(self) -> StoreUse:
        """Returns the state now, and the share since the last call.

        Of the callers that are served, only those that came since the last call count: connections that are held for
        long would otherwise hide the callers that wait. The share is never above the part of the time in which any
        caller waited: a single short wait is no saturation."""
        with self._lock:
            self._advance()
            total, window = self._waited + self._used, self._since - self._looked_at
            share = min(self._waited / total, self._pressed / window) if total and window else 0.0
            self._waited = self._used = self._pressed = 0.0
            self._looked_at, self._fresh = self._since, 0
            self._looks += 1
            return StoreUse(size=self.size, active=self._active, waiting=self._waiting, saturation=share)

    def _advance(self) -> None:
        now = self._clock()
        passed, self._since = now - self._since, now
        self._used += passed * self._fresh
        if self._waiting and not self._excused:
            self._waited += passed * self._waiting
            self._pressed += passed
