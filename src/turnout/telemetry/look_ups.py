"""Runs look-ups in a thread of their own, with a bound on those that wait, and ends without waiting for the store."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")

MAX_WAITING = 10_000
"""Look-ups that wait; further ones are given up."""


class LookUps(Generic[T]):
    """A queue of what is to be looked up, and the thread that does it. Used from any thread; ``add`` never waits."""

    def __init__(
        self, look_up: Callable[[T], None], give_up: Callable[[T], None], max_waiting: int = MAX_WAITING
    ) -> None:
        self._look_up = look_up
        self._give_up = give_up
        self._max_waiting = max_waiting
        self._waiting: deque[T] = deque()
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._stopping = False

    def add(self, item: T) -> None:
        with self._changed:
            taken = not self._stopping and len(self._waiting) < self._max_waiting
            if taken:
                self._waiting.append(item)
                if self._thread is None:
                    # A daemon: a read of a store that does not answer keeps no process from ending.
                    self._thread = threading.Thread(target=self._run, name="turnout-telemetry", daemon=True)
                    self._thread.start()
                self._changed.notify()
        if not taken:
            self._give_up(item)

    def stop(self, timeout: float) -> None:
        """Does what waits, for at most this time, and gives up the rest."""
        with self._changed:
            self._stopping = True
            self._changed.notify()
        if self._thread is not None:
            self._thread.join(timeout)
        with self._changed:
            rest = list(self._waiting)
            self._waiting.clear()
        for item in rest:
            self._give_up(item)

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting or self._stopping)
                if not self._waiting:
                    return
                item = self._waiting.popleft()
            self._look_up(item)
