"""How many attempts an executor of threads and coroutines can take, judging by what it is doing now."""

from __future__ import annotations

import threading
import time

from turnout.bodies.attempt import IN_THREAD, NOWHERE, ON_LOOP, Attempt, Place

HORIZON = 0.05
"""Seconds of work that may wait in front of the threads: enough to hide a trip to the store, and too short to matter if
another process could have taken it."""
JOLT = 0.001
ASYNC_SPARE = 8


class Pace:
    """A moving average of body durations that no single measurement can throw far.

    A body's time includes what its thread waited for the interpreter, milliseconds at times for one that does nothing,
    so one step grows the average at most by a tenth of itself and a little more. Bodies that really are slow also keep
    the queue standing, and then nothing waits whatever the average says.
    """

    def __init__(self) -> None:
        self.mean: float | None = None

    def add(self, seconds: float) -> None:
        mean = self.mean
        if mean is None:
            self.mean = seconds
        else:
            self.mean = mean + 0.1 * (min(seconds, 2 * mean + JOLT) - mean)

    def backlog(self, threads: int, most: int) -> int:
        """How many attempts may wait while ``threads`` are busy: what they get through in ``HORIZON`` seconds beyond
        those that they are at. Nothing is known at first, so nothing waits."""
        if self.mean is None or self.mean >= HORIZON or threads < 1:
            return 0
        if self.mean * (most + threads) <= threads * HORIZON:
            return most
        return min(most, int(threads * (HORIZON / self.mean - 1)))


class Places:
    """Who holds a thread or room on the event loop: an attempt that ended early does so until its body returns.

    One number has to serve two kinds of body:

    - a place for each thread that is not stuck in a body whose attempt has ended;
    - a backlog, so that quick bodies never wait for a trip to the store: what the threads get through in 50 ms, judging
      by recent bodies. None for bodies of 50 ms and more, which another process could start sooner, and none while the
      queue stands still, whatever recent bodies were like;
    - a place for each coroutine on the loop: it needs no thread, so five hundred sleeping coroutines leave room for as
      many sync bodies as before;
    - where async bodies have been seen, ``ASYNC_SPARE`` more, so that they get in while long sync bodies hold all
      threads. Sync bodies that come instead wait in the queue, which is the price of one number.
    """

    def __init__(self, threads: int, coroutines: int, max_backlog: int) -> None:
        self._threads: int = threads
        self._coroutines: int = coroutines
        self._max_backlog: int = max_backlog
        self._lock: threading.Lock = threading.Lock()
        self._pace: Pace = Pace()
        self._stuck: int = 0
        self._on_loop: int = 0
        self._last_start: float = 0.0

    @property
    def stuck(self) -> int:
        """Threads in bodies whose attempts have ended."""
        return self._stuck

    def capacity(self, *, queued: int, tasks: int, async_seen: bool) -> int:
        """``queued`` attempts wait for a thread; the loop has ``tasks``, abandoned ones included."""
        threads = self._threads - self._stuck
        backlog = self._pace.backlog(threads, self._max_backlog)
        if backlog and queued and time.monotonic() - self._last_start > HORIZON:
            backlog = 0
        spare = max(0, min(ASYNC_SPARE, self._coroutines - tasks)) if async_seen else 0
        return threads + backlog + self._on_loop + spare

    def enter_thread(self) -> float:
        """A body begins in a thread; returns the time to measure it from."""
        self._last_start = now = time.monotonic()
        return now

    def enter_loop(self) -> None:
        with self._lock:
            self._on_loop += 1

    def abandon(self, attempt: Attempt) -> Place:
        """The attempt has ended without its body; says where that is."""
        with self._lock:
            if attempt.place is IN_THREAD:
                attempt.abandoned = True
                self._stuck += 1
            elif attempt.place is ON_LOOP:
                attempt.abandoned = True
                self._on_loop -= 1
            return attempt.place

    def leave(self, attempt: Attempt, began: float | None = None) -> None:
        """The body has returned."""
        with self._lock:
            if attempt.place is ON_LOOP:
                self._on_loop -= not attempt.abandoned
            elif attempt.place is IN_THREAD:
                self._stuck -= attempt.abandoned
            attempt.place = NOWHERE
            if began is not None:
                self._pace.add(time.monotonic() - began)
