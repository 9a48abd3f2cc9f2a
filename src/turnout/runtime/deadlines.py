"""Expires attempts at their deadlines, in one thread that sleeps until the next."""

from __future__ import annotations

import heapq
import logging
import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

log = logging.getLogger(__name__)

T = TypeVar("T")


class Deadlines(Generic[T]):
    """Calls ``expire(item)`` for each item whose time came before it was discarded. ``expire`` must not block."""

    def __init__(self, expire: Callable[[T], None], name: str = "turnout-deadlines") -> None:
        self._expire = expire
        self._name = name
        self._heap: list[tuple[float, int, T]] = []
        self._alive: set[int] = set()
        """Numbers of the entries that still count; the heap keeps discarded ones until they are many."""
        self._number = 0
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None

    def __len__(self) -> int:
        return len(self._alive)

    def add(self, seconds: float, item: T) -> int:
        """Expires the item in so many seconds, unless the number returned is discarded before."""
        when = time.monotonic() + seconds
        with self._changed:
            self._number += 1
            number = self._number
            self._alive.add(number)
            heapq.heappush(self._heap, (when, number, item))
            if self._thread is None:
                self._thread = threading.Thread(target=self._watch, name=self._name, daemon=True)
                self._thread.start()
            elif self._heap[0][1] == number:
                self._changed.notify()
        return number

    def discard(self, number: int) -> None:
        with self._changed:
            self._alive.discard(number)
            if len(self._heap) > 64 + 2 * len(self._alive):
                self._heap = [entry for entry in self._heap if entry[1] in self._alive]
                heapq.heapify(self._heap)

    def close(self) -> None:
        """Forgets all deadlines and ends the thread."""
        with self._changed:
            self._heap.clear()
            self._alive.clear()
            self._thread = None
            self._changed.notify()

    def _watch(self) -> None:
        while True:
            with self._changed:
                if self._thread is not threading.current_thread():
                    return
                due = self._take_due()
                if not due:
                    self._changed.wait(self._heap[0][0] - time.monotonic() if self._heap else None)
                    continue
            for item in due:
                try:
                    self._expire(item)
                except Exception:
                    log.exception("an attempt's deadline could not be applied")

    def _take_due(self) -> list[T]:
        now = time.monotonic()
        due: list[T] = []
        while self._heap and (self._heap[0][0] <= now or self._heap[0][1] not in self._alive):
            _, number, item = heapq.heappop(self._heap)
            if number in self._alive:
                self._alive.discard(number)
                due.append(item)
        return due
