"""What is remembered of an attempt that has said something, and of each of its lines on their way?"""

from __future__ import annotations

from collections import deque

from turnout.model.logs import LogRow


class Line:
    """A line on its way. ``lost`` is how many lines it stands for, if it only says that they were dropped."""

    __slots__ = ("at", "lost", "order", "seq", "shown", "size", "stream", "text", "voice")

    def __init__(self, voice: Voice, order: int, at: float, stream: str, text: str, size: int) -> None:
        self.voice = voice
        self.order = order
        self.at = at
        self.seq = voice.number(at)
        self.stream = stream
        self.text = text
        self.size = size
        self.lost = 0
        self.shown = False
        """An observer has had it already."""

    def row(self) -> LogRow:
        voice = self.voice
        return LogRow(voice.run_id, voice.pos, voice.attempt, self.seq, self.stream, self.at, self.text)


class Voice:
    """One attempt that has said something."""

    __slots__ = ("attempt", "cut", "dropped", "kept", "last", "lines", "pieces", "pos", "run_id", "size", "task")

    def __init__(self, run_id: str, pos: int, attempt: int, task: str) -> None:
        self.run_id = run_id
        self.pos = pos
        self.attempt = attempt
        self.task = task
        self.lines: deque[Line] = deque()
        self.size = 0
        self.kept = 0
        self.cut = False
        self.last = 0
        self.dropped: Line | None = None
        """The newest line that was dropped, and in its ``lost`` how many there were."""
        self.pieces: dict[str, Piece] = {}
        """The beginnings of lines, and the newest word on progress, by stream."""

    def number(self, at: float) -> int:
        """Microseconds, made to grow: an attempt that was forgotten meanwhile does not repeat its numbers."""
        self.last = max(self.last + 1, int(at * 1e6))
        return self.last


class Piece:
    """The beginning of a line, and how much of it was too long to keep."""

    __slots__ = ("at", "over", "text")

    def __init__(self, text: str, over: int, at: float) -> None:
        self.text = text
        self.over = over
        self.at = at
