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

YIELD_EVERY, YIELD_SECONDS = 32, 0.00002
"""A thread that runs quick bodies releases the interpreter after so many: otherwise other threads, a commit among them,
would get it only every 5 ms."""


class ThreadPool(QueueConsumer[T]):
    """Daemon threads, started on demand up to ``limit``, that call ``run(item)`` for each item: the highest rank
    first, in order of arrival within a rank.

    At most one thread is being woken at a time, and the one that wakes wakes the next if there is more to do. While
    bodies hold the interpreter, a single thread therefore drains the queue without switches between threads; as soon
    as one waits for something, the next is at work. ``run`` must not raise.
    """

    def __init__(
        self,
        limit: int,
        run: Callable[[T], None],
        name: str = "turnout",
        rank: Callable[[T], Rank] = lambda _: (0, 0),
    ) -> None:
        super().__init__(limit, name, rank)
        self._run = run
        self._parked: SimpleQueue[bool] = SimpleQueue()
        """Idle threads wait on it: True is a call to look for work, False to end."""
        self._lock = threading.Lock()
        self._threads = 0
        self._idle = 0
        self._waking = False
        self._closed = False

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

    def _wake(self) -> None:
        with self._lock:
            # A thread that is on its way sees every item put before it clears the flag: it need not be woken twice.
            if self._waking or not self._items:
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
        items, run = self._items, self._run
        woken = True
        done = 0
        while True:
            try:
                item = items.popleft()
            except IndexError:
                with self._lock:
                    if items:
                        continue
                    if woken:
                        self._waking = False
                    if self._closed:
                        self._threads -= 1
                        return
                    self._idle += 1
                if not self._parked.get():
                    return
                woken = True
                continue
            done += 1
            if not done % YIELD_EVERY:
                time.sleep(YIELD_SECONDS)
            if woken:
                woken = self._waking = False
            # Read without the lock: a thread that changes these looks at the items afterwards itself.
            if not self._waking and (self._idle or self._threads < self._limit) and items:
                self._wake()
            try:
                run(item)
            except BaseException:
                log.exception("a thread of %s survived an error outside of any body", self._name)
            del item  # a thread that waits for work would keep the last one, with all that it was given
