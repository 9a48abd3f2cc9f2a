"""Runs the ledger's commits in threads, one at a time in each."""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import SimpleQueue


class Lanes:
    """Threads that are started on demand, up to ``limit``, and call what they are given.

    A commit needs no future of its own: what it is given calls the event loop when it is done. So a lane costs a third
    of an executor of the standard library, of which every run on an idle engine pays twice.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._work: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._idle = threading.Semaphore(0)
        """Counts the lanes that wait for work, less what was given to them."""

    def submit(self, work: Callable[[], None]) -> None:
        """Calls this in a lane. It must not raise."""
        if not self._idle.acquire(blocking=False) and len(self._threads) < self._limit:
            name = f"turnout-lane_{len(self._threads)}"
            thread = threading.Thread(target=self._run, name=name, daemon=True)
            self._threads.append(thread)
            thread.start()
        self._work.put(work)

    def close(self) -> None:
        """Lets each lane end when it is free."""
        for _ in self._threads:
            self._work.put(None)

    def _run(self) -> None:
        while (work := self._work.get()) is not None:
            work()
            del work
            self._idle.release()
