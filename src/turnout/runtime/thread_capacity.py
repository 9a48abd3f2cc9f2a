"""Computes how many attempts the executor of threads takes, from what it runs now and how long bodies took."""

from __future__ import annotations

import math
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence

from turnout.runtime.attempt import IN_THREAD, NOWHERE, ON_LOOP, QUICK_SECONDS, Attempt, Location

HORIZON = 0.05
"""Seconds of work that may wait for the threads: enough to hide a round trip to the store, and too short to matter if
another process could have taken it."""
MAX_JITTER = 0.001
MAX_BODIES = 10_000
"""Bodies whose durations are kept; the one that was first seen longest ago is dropped first."""
ASYNC_SPARE = 8
COUNT_INTERVAL = 0.005
"""Seconds for which the number of long bodies, once counted, is used."""


class DurationAverage:
    """A moving average of body durations that no single measurement changes much.

    A body's time includes what its thread waited for the interpreter, milliseconds at times for one that does nothing,
    so one measurement grows the average at most by a tenth of itself and a little more.
    """

    __slots__ = ("count", "mean")

    def __init__(self) -> None:
        self.mean: float = HORIZON
        """Expected seconds of the next body; before the first has returned, too long for a backlog."""
        self.count: int = 0

    def add(self, seconds: float, count: int = 1) -> None:
        """Adds ``count`` bodies that took so many seconds on average."""
        if self.count:
            mean = self.mean
            most = 2 * mean + MAX_JITTER
            share = 0.1 if count == 1 else 1.0 - 0.9**count
            self.mean = mean + share * ((seconds if seconds < most else most) - mean)
        else:
            self.mean = seconds
        self.count += count

    def backlog(self, threads: int, most: int, waiting: float = 0.0) -> int:
        """Returns how many more attempts may wait while ``threads`` are busy and ``waiting`` seconds of work wait
        already: what the threads finish in ``HORIZON`` seconds beyond what they run. It is at most the number of
        measured bodies: one quick body admits one other."""
        if self.mean >= HORIZON or threads < 1:
            return 0
        most = min(most, self.count)
        left = threads * (HORIZON - self.mean) - waiting
        if left < 0:
            return 0
        return most if self.mean * most <= left else int(left / self.mean)


class BodyDurations:
    """The average duration of each body, and of all together. ``add`` is called by one thread at a time."""

    def __init__(self) -> None:
        self.overall = DurationAverage()
        self._unknown = DurationAverage()
        self._by_body: dict[str, DurationAverage] = {}

    def of(self, body: str) -> DurationAverage:
        return self._by_body.get(body, self._unknown)

    def add(self, body: str, seconds: float, count: int = 1) -> None:
        pace = self._by_body.get(body)
        if pace is None:
            if len(self._by_body) >= MAX_BODIES:
                del self._by_body[next(iter(self._by_body))]
            pace = self._by_body[body] = DurationAverage()
        pace.add(seconds, count)
        self.overall.add(seconds, count)


class ThreadCapacity:
    """The attempts that hold a thread or a slot of the event loop. An attempt that ended early holds it until its body
    returns.

    Sync bodies have

    - a slot for each thread that is not stuck in a body whose attempt has ended;
    - a backlog, so that quick bodies never wait for a round trip to the store: what the threads that are not in long
      bodies finish in 50 ms, estimated by how long the same body took. There is none for bodies of 50 ms and more,
      which another process could start sooner, and none for a body that has not returned yet.

    Async bodies have a slot each as long as the event loop takes more. A coroutine needs no thread, so five hundred
    sleeping ones leave as many slots for sync bodies as before.

    Where the next body is not known, the average of all recent ones is used, and where async bodies have been seen
    there are ``ASYNC_SPARE`` slots more, so that they start while long sync bodies hold all threads.
    """

    def __init__(
        self, threads: int, coroutines: int, max_backlog: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._threads: int = threads
        self._coroutines: int = coroutines
        self._max_backlog: int = max_backlog
        self._clock: Callable[[], float] = clock
        self._lock: threading.Lock = threading.Lock()
        self._durations: BodyDurations = BodyDurations()
        self._stuck: int = 0
        self._on_loop: int = 0
        self._bodies: dict[Attempt, float] = {}
        """The time at which each body that is in a thread began."""
        self._waiting: int = 0
        self._work: float = 0.0
        """Expected seconds of the bodies of the attempts that have not begun."""
        self._waited: deque[float] = deque()
        """The estimates of attempts that ceased to wait and are still counted. A thread appends without the lock."""
        self._moving: int = threads
        self._counted_at: float = -math.inf

    @property
    def crowded(self) -> bool:
        """True if it holds more attempts than it has threads."""
        self._discount()
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
        """Returns the capacity for any body; the loop has ``tasks``, abandoned ones included."""
        spare = max(0, min(ASYNC_SPARE, self._coroutines - tasks)) if async_seen else 0
        return self._for_threads(self._durations.overall) + spare

    def capacity_of(self, body: str) -> int:
        """Returns the capacity for one sync body."""
        return self._for_threads(self._durations.of(body))

    def capacity_on_loop(self, *, live: int, tasks: int, queued: int) -> int:
        """Returns the capacity for async bodies, with ``live`` attempts of any kind, ``queued`` of them before the
        loop."""
        return live + max(0, self._coroutines - tasks - queued)

    def _for_threads(self, average: DurationAverage) -> int:
        self._discount()
        threads = self._threads - self._stuck
        waiting = self._waiting
        backlog = average.backlog(min(threads, self._moving_now()), max(0, self._max_backlog - waiting), self._work)
        return threads + (waiting + backlog if backlog else 0) + self._on_loop

    def _moving_now(self) -> int:
        """Returns the number of threads that are idle, or in a body that began less than ``HORIZON`` ago."""
        now = self._clock()
        if now - self._counted_at > COUNT_INTERVAL:
            self._counted_at = now
            long_ago = now - HORIZON
            self._moving = self._threads - sum(began < long_ago for began in list(self._bodies.values()))
        return self._moving

    def seconds_of(self, attempts: Iterable[Attempt]) -> float:
        """Returns the estimated seconds until these have begun; infinite while all threads are in long bodies."""
        moving = self._moving_now()
        if moving < 1:
            return math.inf
        counts = Counter([attempt.event.body or attempt.event.task_name for attempt in attempts])
        return sum(self._durations.of(body).mean * count for body, count in counts.items()) / moving

    # -- attempts that have not begun -------------------------------------------------------------------------------
    def wait(self, attempts: Sequence[Attempt], *, for_thread: bool) -> None:
        """Called when these begin to wait for a thread, or for a slot of the loop."""
        work = 0.0
        if for_thread:
            body, estimate, quick = "", 0.0, False
            for attempt in attempts:
                event = attempt.event
                if (other := event.body or event.task_name) != body:
                    body, estimate = other, self._durations.of(other).mean
                    quick = 0.0 < estimate < QUICK_SECONDS
                attempt.estimate, attempt.quick = estimate, quick
                work += estimate
        self._discount()
        with self._lock:
            self._waiting += len(attempts)
            self._work += work

    def waited(self, attempt: Attempt) -> None:
        """Called when this attempt begins, or never will."""
        self._waited.append(attempt.estimate)

    def _discount(self) -> None:
        """Ceases to count the attempts that have waited."""
        waited = self._waited
        if waited:
            with self._lock:
                for _ in range(len(waited)):
                    self._waiting -= 1
                    self._work -= waited.popleft()
                if not self._waiting:
                    self._work = 0.0  # sums of floats drift

    # -- bodies -----------------------------------------------------------------------------------------------------
    def enter_thread(self, attempt: Attempt) -> float:
        """Called when a body begins in a thread. Returns the time of its begin, for ``leave``."""
        self._bodies[attempt] = now = self._clock()
        return now

    def enter_loop(self) -> None:
        with self._lock:
            self._on_loop += 1

    def abandon(self, attempt: Attempt) -> Location:
        """Called when the attempt has ended before its body. Returns where the body is."""
        with self._lock:
            if attempt.location is IN_THREAD:
                attempt.abandoned = True
                self._stuck += 1
            elif attempt.location is ON_LOOP:
                attempt.abandoned = True
                self._on_loop -= 1
            return attempt.location

    def leave_thread(self, attempt: Attempt, began: float, *, ended_early: bool) -> float:
        """Called when a body in a thread has returned. Returns the seconds that it took, for ``measured``.

        ``ended_early``: the attempt has ended before, and ``abandon`` was or is about to be called."""
        self._bodies.pop(attempt, None)
        if ended_early:
            with self._lock:
                self._stuck -= attempt.abandoned
                attempt.location = NOWHERE
        return self._clock() - began

    def leave_loop(self, attempt: Attempt) -> None:
        """Called when a body on the event loop has returned."""
        with self._lock:
            self._on_loop -= not attempt.abandoned
            attempt.location = NOWHERE

    def measured(self, body: str, seconds: float, count: int = 1) -> None:
        """Called when a body has returned so often in threads, after so many seconds on average."""
        with self._lock:
            self._durations.add(body, seconds, count)
