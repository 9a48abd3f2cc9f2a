"""Holds one attempt's log and its lines that are not yet written to the store or the hub."""

from __future__ import annotations

from collections import deque
from typing import Generic, TypeVar

K = TypeVar("K")


class Line(Generic[K]):
    """A line that is not written yet. ``lost`` is the number of lines that it stands for, if it reports that they were
    dropped."""

    __slots__ = ("at", "log", "lost", "order", "seq", "shown", "size", "stream", "text")

    def __init__(
        self, log: AttemptLog[K], order: int, at: float, stream: str, text: str, size: int, seq: int | None = None
    ) -> None:
        self.log = log
        self.order = order
        self.at = at
        self.seq = log.number(at) if seq is None else seq
        self.stream = stream
        self.text = text
        self.size = size
        self.lost = 0
        self.shown = False
        """True if an observer has it already."""


class AttemptLog(Generic[K]):
    """One attempt that has printed or logged something, under the key that its owner knows it by."""

    __slots__ = ("cut", "dropped", "kept", "key", "last", "lines", "partial", "received", "size", "task", "writing")

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
        self.received = 0
        """The number behind the newest line that came with a number."""
        self.writing: int | None = None
        """The ``seq`` of the first line that was taken and is not written yet."""

    @property
    def stored(self) -> int:
        """The number behind the last line that came with a number and waits no more: written, or not kept."""
        waiting = self.lines[0].seq if self.lines else self.received
        return min(self.received, waiting if self.writing is None else self.writing)

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
