"""Runs items in daemon threads, at the least cost per item."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Hashable
from queue import SimpleQueue
from typing import TypeVar

from turnout.runtime.priority_queue import QueueConsumer, Rank

log = logging.getLogger(__name__)

T = TypeVar("T", bound=Hashable)

YIELD_EVERY, YIELD_SECONDS = 128, 0.00002
"""A thread that runs quick items releases the interpreter after so many: otherwise other threads, a commit among them,
would get it only every 5 ms."""
STANDBY_INTERVAL, MAX_STANDBY_INTERVAL = 0.001, 0.004
"""Seconds after which a thread that has taken no further item counts as held up; doubles while it goes on."""


class ThreadPool(QueueConsumer[T]):
    """Daemon threads, started on demand up to ``limit``, that call ``run(item)`` for each item: the highest rank
    first, in order of arrival within a rank. ``run`` must not raise.

    At most one thread is being woken at a time, and the one that wakes wakes the next if there is more to do. While
    items hold the interpreter, a single thread therefore drains the queue without switches between threads; as soon
    as one waits for something, the next is at work.

    Items that are ``quick`` are left to one thread. The one that it wakes stands by, and goes to work only if the first
    is held up. ``settle`` is called when a thread has nothing left to run, before an item that is not quick, and when
    the first thread is held up: until then, ``run`` may leave to it what can be done for several items together.
    """

    def __init__(
        self,
        limit: int,
        run: Callable[[T], None],
        name: str = "turnout",
        rank: Callable[[T], Rank] = lambda _: (0, 0),
        *,
        quick: Callable[[T], bool] = lambda _: False,
        settle: Callable[[], None] = lambda: None,
    ) -> None:
        super().__init__(limit, name, rank)
        self._run = run
        self._quick = quick
        self._settle = settle
        self._parked: SimpleQueue[bool] = SimpleQueue()
        """Idle threads wait on it: True is a call to look for work, False to end."""
        self._lock = threading.Lock()
        self._threads = 0
        self._idle = 0
        self._waking = False
        self._closed = False
        self._standby = False
        """True while a thread stands by."""
        self._working = 0
        """Threads that are neither idle, nor being woken, nor standing by."""
        self._taken = 0
        """Items taken so far, roughly: it changes as long as a thread goes on."""
        self._on_quick = False
        """True if the item that was taken last is quick."""

    def close(self) -> None:
        """Lets the threads end as soon as they have nothing to run."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, 0
            self._threads -= idle
        for _ in range(idle):
            self._parked.put(False)

    def open(self) -> None:
        """Takes items again after ``close``."""
        self._closed = False

    def held_up(self) -> None:
        """Called by ``run`` before it waits for something: other threads go on without it at once."""
        self._on_quick = False
        self._settled()
        self._wake()

    @property
    def guarded(self) -> bool:
        """True if a thread stands by, or is on its way: it calls ``settle`` if the one at work is held up."""
        return self._waking or self._standby

    @property
    def _has_spare(self) -> bool:
        return self._idle > 0 or self._threads < self._limit

    def _wake(self) -> None:
        with self._lock:
            # A thread that is on its way sees every item put before it clears the flag: it need not be woken twice.
            if self._waking or not self._items:
                return
            if self._standby and self._working and self._on_quick:
                return
            if self._idle:
                self._idle -= 1
                self._waking = True
                self._parked.put(True)
            elif self._threads < self._limit:
                self._threads += 1
                self._waking = True
                threading.Thread(target=self._work, name=f"{self._name}-{self._threads}", daemon=True).start()

    def _work(self) -> None:
        items, run, quick = self._items, self._run, self._quick
        done = 0
        self._woken()
        while True:
            try:
                item = items.popleft()
            except IndexError:
                self._settled()
                with self._lock:
                    if items:
                        continue
                    self._working -= 1
                    if self._closed:
                        self._threads -= 1
                        return
                    self._idle += 1
                if not self._parked.get():
                    return
                self._woken()
                continue
            self._taken += 1
            done += 1
            if not done % YIELD_EVERY:
                self._settled()
                time.sleep(YIELD_SECONDS)
            self._on_quick = is_quick = quick(item)
            if not is_quick:
                self._settled()
            # Read without the lock: a thread that changes these looks at the items afterwards itself.
            if not self._waking and not (self._standby and is_quick) and self._has_spare and items:
                self._wake()
            try:
                run(item)
            except BaseException:
                log.exception("a thread of %s survived an error outside of any body", self._name)
            del item  # a thread that waits for work would keep the last one, with all that it was given

    def _woken(self) -> None:
        """Called by a thread that was woken. Returns when it is to look for work."""
        with self._lock:
            self._waking = False
            stands_by = self._working > 0 and self._on_quick and not self._standby
            self._standby = self._standby or stands_by
            self._working += not stands_by
        if stands_by:
            taken, interval = -1, STANDBY_INTERVAL
            while self._on_quick and taken != self._taken:
                taken = self._taken
                time.sleep(interval)
                interval = min(2 * interval, MAX_STANDBY_INTERVAL)
            with self._lock:
                self._standby = False
                self._working += 1
        self._settled()

    def _settled(self) -> None:
        try:
            self._settle()
        except BaseException:
            log.exception("a thread of %s survived an error outside of any body", self._name)
