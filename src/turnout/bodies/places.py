"""How many attempts an executor of threads and coroutines can take, judging by what it is doing now."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterable, Sequence

from turnout.bodies.attempt import IN_THREAD, NOWHERE, ON_LOOP, Attempt, Place, body_of
from turnout.bodies.pace import HORIZON, Pace, Paces

ASYNC_SPARE = 8
LOOK_INTERVAL = 0.005
"""Seconds for which the number of long bodies, once counted, stands."""


class Places:
    """The attempts that hold a thread or room on the event loop: one that ended early does so until its body returns.

    Sync bodies have

    - a place for each thread that is not stuck in a body whose attempt has ended;
    - a backlog, so that quick bodies never wait for a trip to the store: what the threads that are not in long bodies
      get through in 50 ms, judging by how long the same body took. None for bodies of 50 ms and more, which another
      process could start sooner, and none for a body that has not returned yet.

    Async bodies have a place each as long as the event loop takes more. A coroutine needs no thread, so five hundred
    sleeping ones leave room for as many sync bodies as before.

    Where it is not known which body will come, all recent ones together stand for it, and where async bodies have been
    seen there are ``ASYNC_SPARE`` places more, so that they get in while long sync bodies hold all threads.
    """

    def __init__(self, threads: int, coroutines: int, max_backlog: int) -> None:
        self._threads: int = threads
        self._coroutines: int = coroutines
        self._max_backlog: int = max_backlog
        self._lock: threading.Lock = threading.Lock()
        self._paces: Paces = Paces()
        self._stuck: int = 0
        self._on_loop: int = 0
        self._bodies: dict[Attempt, float] = {}
        """When each body that is in a thread now began."""
        self._waiting: int = 0
        self._work: float = 0.0
        """Attempts that have not begun, and the seconds that their bodies may take."""
        self._moving: int = threads
        self._looked: float = 0.0

    @property
    def crowded(self) -> bool:
        """Whether more attempts are here than can be in a thread."""
        return self._waiting + len(self._bodies) > self._threads

    @property
    def in_threads(self) -> int:
        """Attempts that run in a thread."""
        return max(0, len(self._bodies) - self._stuck)

    @property
    def on_loop(self) -> int:
        """Attempts that run on the event loop."""
        return self._on_loop

    @property
    def stuck(self) -> int:
        """Threads in bodies whose attempts have ended."""
        return self._stuck

    def capacity(self, *, tasks: int, async_seen: bool) -> int:
        """For any body; the loop has ``tasks``, abandoned ones included."""
        spare = max(0, min(ASYNC_SPARE, self._coroutines - tasks)) if async_seen else 0
        return self._for_threads(self._paces.overall) + spare

    def capacity_of(self, body: str) -> int:
        """For one sync body."""
        return self._for_threads(self._paces.of(body))

    def capacity_on_loop(self, *, live: int, tasks: int, queued: int) -> int:
        """For async bodies, with ``live`` attempts of any kind here, and ``queued`` of those in front of the loop."""
        return live + max(0, self._coroutines - tasks - queued)

    def _for_threads(self, pace: Pace) -> int:
        threads = self._threads - self._stuck
        waiting = self._waiting
        backlog = pace.backlog(min(threads, self._moving_now()), max(0, self._max_backlog - waiting), self._work)
        return threads + (waiting + backlog if backlog else 0) + self._on_loop

    def _moving_now(self) -> int:
        """Threads that are idle, or in a body that began less than ``HORIZON`` ago."""
        now = time.monotonic()
        if now - self._looked > LOOK_INTERVAL:
            self._looked = now
            long_ago = now - HORIZON
            self._moving = self._threads - sum(began < long_ago for began in list(self._bodies.values()))
        return self._moving

    def seconds_of(self, attempts: Iterable[Attempt]) -> float:
        """How long it takes until these have begun, by what is known now; for ever while all threads are in long
        bodies."""
        moving = self._moving_now()
        if moving < 1:
            return math.inf
        return sum(self._paces.of(body_of(attempt.event)).mean for attempt in attempts) / moving

    # -- attempts that have not begun -------------------------------------------------------------------------------
    def wait(self, attempts: Sequence[Attempt], *, for_thread: bool) -> None:
        """These wait for a thread, or for room on the loop."""
        work, of = 0.0, self._paces.of
        if for_thread:
            for attempt in attempts:
                attempt.estimate = estimate = of(body_of(attempt.event)).mean
                work += estimate
        with self._lock:
            self._waiting += len(attempts)
            self._work += work

    def waited(self, attempt: Attempt) -> None:
        """This one begins now, or never will."""
        with self._lock:
            self._waiting -= 1
            # Sums of floats drift; nothing waits, so nothing is the sum.
            self._work = self._work - attempt.estimate if self._waiting else 0.0

    # -- bodies -----------------------------------------------------------------------------------------------------
    def enter_thread(self, attempt: Attempt) -> float:
        """A body begins in a thread; returns the time to measure it from."""
        self._bodies[attempt] = now = time.monotonic()
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
        if began is not None:
            self._bodies.pop(attempt, None)
        with self._lock:
            if attempt.place is ON_LOOP:
                self._on_loop -= not attempt.abandoned
            elif attempt.place is IN_THREAD:
                self._stuck -= attempt.abandoned
            attempt.place = NOWHERE
            if began is not None:
                self._paces.add(body_of(attempt.event), time.monotonic() - began)
