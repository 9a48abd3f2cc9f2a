"""A queue of items that wait for a thread or a coroutine: the highest rank first, in order of arrival within a rank."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Collection, Hashable, Iterable
from typing import Generic, TypeAlias, TypeVar

T = TypeVar("T", bound=Hashable)

Rank: TypeAlias = tuple[int, int]

MAX_EMPTY_LINES = 64
"""Lines of ranks that nothing waits in; beyond that they are dropped."""


class PriorityQueue(Generic[T]):
    """One line for each rank in use. ``popleft`` takes no lock, since every attempt passes it in a thread that wants to
    begin; all else does. All methods may be called from any thread."""

    def __init__(self, rank: Callable[[T], Rank]) -> None:
        self._rank = rank
        self._lock = threading.Lock()
        self._lines: dict[Rank, deque[T]] = {}
        self._in_order: tuple[deque[T], ...] = ()

    def __len__(self) -> int:
        return sum(map(len, self._in_order))

    def __bool__(self) -> bool:
        return any(self._in_order)

    def extend(self, items: Iterable[T]) -> None:
        rank = self._rank
        with self._lock:
            for item in items:
                line = self._lines.get(rank(item))
                if line is None:
                    line = self._add_line(rank(item))
                line.append(item)

    def popleft(self) -> T:
        """The next item; raises IndexError if there is none."""
        for line in self._in_order:
            if line:
                try:
                    return line.popleft()
                except IndexError:  # another thread was quicker
                    continue
        raise IndexError("nothing waits")

    def remove(self, gone: Collection[T]) -> None:
        """Take these out, as far as they are here."""
        with self._lock:
            for line in self._in_order:
                for _ in range(len(line)):
                    try:
                        item = line.popleft()
                    except IndexError:
                        break
                    if item not in gone:
                        line.append(item)

    def drain(self) -> list[T]:
        """Take out everything."""
        left: list[T] = []
        while True:
            try:
                left.append(self.popleft())
            except IndexError:
                return left

    def _add_line(self, rank: Rank) -> deque[T]:
        if sum(not line for line in self._in_order) > MAX_EMPTY_LINES:
            self._lines = {each: line for each, line in self._lines.items() if line}
        made = self._lines[rank] = deque()
        self._in_order = tuple(
            line for _, line in sorted(self._lines.items(), key=lambda entry: entry[0], reverse=True)
        )
        return made
