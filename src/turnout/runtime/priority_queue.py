"""Holds items that wait for a thread or a coroutine: the highest rank first, in order of arrival within a rank."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Collection, Hashable, Iterable
from typing import Generic, TypeAlias, TypeVar

T = TypeVar("T", bound=Hashable)

Rank: TypeAlias = tuple[int, int]

MAX_EMPTY_QUEUES = 64
"""Queues of ranks that nothing waits in; beyond that they are dropped."""


class PriorityQueue(Generic[T]):
    """One queue for each rank in use. ``popleft`` takes no lock, since every attempt passes it right before it begins;
    all other methods do. All methods may be called from any thread."""

    def __init__(self, rank: Callable[[T], Rank]) -> None:
        self._rank = rank
        self._lock = threading.Lock()
        self._queues: dict[Rank, deque[T]] = {}
        self._in_order: tuple[deque[T], ...] = ()

    def __len__(self) -> int:
        return sum(map(len, self._in_order))

    def __bool__(self) -> bool:
        return any(self._in_order)

    def extend(self, items: Iterable[T]) -> None:
        rank = self._rank
        with self._lock:
            for item in items:
                its = rank(item)
                queue = self._queues.get(its)
                if queue is None:
                    queue = self._add_queue(its)
                queue.append(item)

    def popleft(self) -> T:
        """Returns the next item. Raises IndexError if there is none."""
        for queue in self._in_order:
            if queue:
                try:
                    return queue.popleft()
                except IndexError:  # another thread was quicker
                    continue
        raise IndexError("nothing waits")

    def remove(self, gone: Collection[T]) -> None:
        """Removes those of these that are here."""
        with self._lock:
            for queue in self._in_order:
                for _ in range(len(queue)):
                    try:
                        item = queue.popleft()
                    except IndexError:
                        break
                    if item not in gone:
                        queue.append(item)

    def drain(self) -> list[T]:
        """Removes and returns everything."""
        left: list[T] = []
        while True:
            try:
                left.append(self.popleft())
            except IndexError:
                return left

    def _add_queue(self, rank: Rank) -> deque[T]:
        if sum(not queue for queue in self._in_order) > MAX_EMPTY_QUEUES:
            self._queues = {each: queue for each, queue in self._queues.items() if queue}
        made = self._queues[rank] = deque()
        self._in_order = tuple(
            queue for _, queue in sorted(self._queues.items(), key=lambda entry: entry[0], reverse=True)
        )
        return made


class QueueConsumer(ABC, Generic[T]):
    """Runs the items of a priority queue, at most ``limit`` at once. All methods may be called from any thread."""

    def __init__(self, limit: int, name: str, rank: Callable[[T], Rank]) -> None:
        self._limit = limit
        self._name = name
        self._items: PriorityQueue[T] = PriorityQueue(rank)

    @property
    def waiting(self) -> int:
        """Number of items that have not started."""
        return len(self._items)

    def put(self, items: Iterable[T]) -> None:
        """Runs these when there is room."""
        self._items.extend(items)
        self._wake()

    def remove(self, gone: Collection[T]) -> None:
        """Removes those of these that have not started."""
        self._items.remove(gone)

    def drain(self) -> list[T]:
        """Removes and returns what has not started."""
        return self._items.drain()

    @abstractmethod
    def close(self) -> None:
        """Ends what runs the items, without waiting for it."""

    @abstractmethod
    def _wake(self) -> None:
        """Starts what there is room for."""
