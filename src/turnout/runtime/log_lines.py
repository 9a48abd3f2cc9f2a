"""Holds one attempt's log and its lines that are not yet written to the store or the hub."""

from __future__ import annotations

from collections import deque
from typing import Generic, TypeVar

K = TypeVar("K")


class Line(Generic[K]):
    """A line that is not written yet. ``lost`` is the number of lines that it stands for, if it reports that they were
    dropped."""

    __slots__ = ("at", "log", "lost", "order", "seq", "shown", "size", "stream", "text")

    def __init__(self, log: AttemptLog[K], order: int, at: float, stream: str, text: str, size: int) -> None:
        self.log = log
        self.order = order
        self.at = at
        self.seq = log.number(at)
        self.stream = stream
        self.text = text
        self.size = size
        self.lost = 0
        self.shown = False
        """True if an observer has it already."""


class AttemptLog(Generic[K]):
    """One attempt that has printed or logged something, under the key that its owner knows it by."""

    __slots__ = ("cut", "dropped", "kept", "key", "last", "lines", "partial", "size", "task")

    def __init__(self, key: K, task: str) -> None:
        self.key = key
        self.task = task
        self.lines: deque[Line[K]] = deque()
        self.size = 0
        self.kept = 0
        self.cut = False
        self.last = 0
        self.dropped: Line[K] | None = None
        """The newest line that was dropped; its ``lost`` is their number."""
        self.partial: dict[str, PartialLine] = {}
        """The beginnings of lines, and the newest progress report, by stream."""

    def number(self, at: float) -> int:
        """Returns microseconds, made to grow: an attempt that was forgotten meanwhile does not repeat its numbers."""
        self.last = max(self.last + 1, int(at * 1e6))
        return self.last


class PartialLine:
    """The beginning of a line, and the number of characters of it that were too many to keep."""

    __slots__ = ("at", "over", "text")

    def __init__(self, text: str, over: int, at: float) -> None:
        self.text = text
        self.over = over
        self.at = at
