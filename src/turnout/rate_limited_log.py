"""Limits log lines: a failure that lasts is logged at intervals, and a text that repeats is logged once."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

INTERVAL = 10.0
"""Seconds between two lines about a failure that lasts. In between they have the level debug."""
REPEAT_INTERVAL = 600.0
"""Seconds after which the same text is logged again."""
MAX_LINES, WINDOW = 50, 60.0
"""Lines with different texts in so many seconds, at most: a peer that tries many keys does not fill the disk."""


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


class DistinctLog:
    """One kind of message: logged once for each set of arguments, within the bounds above. ``more`` is logged in place
    of further lines, with the seconds until the next. Used by one thread at a time."""

    def __init__(
        self,
        log: logging.Logger,
        message: str,
        more: str = "more of these come in %.0f s",
        *,
        level: int = logging.WARNING,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._log = log
        self._message = message
        self._more = more
        self._level = level
        self._clock = clock
        self._logged: dict[tuple[str, ...], float] = {}
        self._began = -WINDOW
        self._lines = 0
        self.count = 0
        """All of them, logged or not."""

    def note(self, *args: str) -> None:
        self.count += 1
        now = self._clock()
        if now - self._logged.get(args, -REPEAT_INTERVAL) < REPEAT_INTERVAL:
            return
        if now - self._began >= WINDOW:
            self._began, self._lines = now, 0
            self._logged = {each: at for each, at in self._logged.items() if now - at < REPEAT_INTERVAL}
        self._lines += 1
        if self._lines <= MAX_LINES:
            self._logged[args] = now
            self._log.log(self._level, self._message, *args)
        elif self._lines == MAX_LINES + 1:
            self._log.log(self._level, self._more, self._began + WINDOW - now)

    def recovered(self) -> None:
        """Forgets what was logged: the same text is logged again at once."""
        self._logged.clear()
