"""Submissions that are not durable yet. Above the high-water mark callers wait or are refused."""

from __future__ import annotations

import threading
import time
from concurrent.futures import Future
from typing import Any

from turnout.errors import TooBusy

MIN_RETRY = 1.0
MAX_RETRY = 60.0


class Throttle:
    """Counts requests under way. Used from the threads of callers."""

    def __init__(self, high_water: int) -> None:
        self._high_water = high_water
        self._changed = threading.Condition()
        self._under_way = 0
        self._done = 0
        self._since = time.monotonic()

    @property
    def under_way(self) -> int:
        return self._under_way

    @property
    def open(self) -> bool:
        """Whether a submission would go through without waiting."""
        return self._under_way < self._high_water

    def admit(self, count: int, timeout: float | None) -> None:
        """Take ``count`` more in, waiting up to ``timeout`` seconds (None: for ever) for others to become durable.

        A batch may go over the mark, since one that is larger than it could otherwise never be submitted."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._under_way < self._high_water, timeout):
                raise TooBusy(
                    f"{self._under_way:,} submissions are not durable yet, the mark is {self._high_water:,}: wait",
                    retry_after=self.retry_after,
                    under_way=self._under_way,
                )
            self._under_way += count

    def settled(self, _: Future[Any]) -> None:
        """A request was answered, one way or the other."""
        with self._changed:
            self._under_way -= 1
            self._done += 1
            if self._under_way < self._high_water:
                self._changed.notify_all()

    @property
    def retry_after(self) -> float:
        """Seconds until there should be room, by how quickly requests were answered so far."""
        rate = self._done / max(time.monotonic() - self._since, 0.001)
        return min(max(self._under_way / rate if rate else MAX_RETRY, MIN_RETRY), MAX_RETRY)
