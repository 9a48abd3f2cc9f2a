"""Computes rates per second of totals that are sampled."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Mapping

WINDOW = 5.0
"""Seconds that a rate is taken over."""
MAX_SAMPLES = 50
"""Samples in the window; more frequent ones replace one another."""


class Rates:
    """Totals by name, over the last few seconds. Used from any thread."""

    def __init__(self, window: float = WINDOW) -> None:
        self._window = window
        self._lock = threading.Lock()
        self._seen: deque[tuple[float, Mapping[str, float]]] = deque()

    def see(self, now: float, totals: Mapping[str, float]) -> None:
        with self._lock:
            seen = self._seen
            if len(seen) > 1 and now - seen[-2][0] < self._window / MAX_SAMPLES:
                seen.pop()
            seen.append((now, totals))
            # The first sample that is kept is at least as old as the window.
            while len(seen) > 2 and seen[1][0] <= now - self._window:
                seen.popleft()

    def of(self, name: str) -> float:
        """Returns the growth per second. A total that was not in the first sample counts as 0 there."""
        with self._lock:
            if len(self._seen) < 2:
                return 0.0
            (began, first), (ended, last) = self._seen[0], self._seen[-1]
        return max(0.0, last.get(name, 0.0) - first.get(name, 0.0)) / max(ended - began, 1e-6)
