"""Log lines about a failure that lasts: at once, then every ten seconds, and when it is over."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

INTERVAL = 10.0
"""Seconds between two lines about a failure that lasts. In between they have the level debug."""


class RateLimitedLog:
    """One kind of failure. May be used from any thread."""

    def __init__(self, log: logging.Logger, clock: Callable[[], float] = time.monotonic) -> None:
        self._log = log
        self._clock = clock
        self._lock = threading.Lock()
        self._times = 0
        self._since = self._next = 0.0

    def failure(self, message: str, *args: object) -> None:
        """Logs that it failed."""
        now = self._clock()
        with self._lock:
            if not self._times:
                self._since = self._next = now
            self._times += 1
            loud, times, seconds = now >= self._next, self._times, now - self._since
            if loud:
                self._next = now + INTERVAL
        if times > 1:
            message, args = f"{message} (%d times in %.0f s)", (*args, times, seconds)
        self._log.log(logging.WARNING if loud else logging.DEBUG, message, *args)

    def recovered(self, message: str, *args: object) -> None:
        """Logs that it works again, if it had failed before."""
        if not self._times:
            return
        with self._lock:
            times, self._times = self._times, 0
            seconds = self._clock() - self._since
        self._log.info(f"{message}, after %d failures in %.1f s", *args, times, seconds)
