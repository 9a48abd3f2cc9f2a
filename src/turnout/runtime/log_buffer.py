"""Which lines of which attempts are kept, and which give way when there are too many?

Pieces of text come in, whole lines go out, in the order in which they were said. Three bounds hold whatever bodies do:
the length of a line, what is kept of one attempt, and what waits in memory.
"""

from __future__ import annotations

import heapq
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from itertools import islice, takewhile
from typing import Any

import msgspec

from turnout.model.checks import at_least, positive_seconds
from turnout.model.logs import Stream, storable
from turnout.runtime.log_lines import Line, Piece, Voice

MAX_ATTEMPTS = 10_000
"""Attempts whose count of bytes is remembered; one that so many others have overtaken since is counted anew."""
SHED = 0.125
"""The share of the memory that is freed at once when it is full, so that this does not happen at every line."""
TAKE = 0.25
"""The share of it that is taken at once, and is in memory beside what waits while it is being written."""
OVERHEAD = 100
"""Bytes that a waiting line takes beside its text."""


class LogSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What is kept of the lines that attempts print and log."""

    capture: bool = True
    echo: bool = True
    """What bodies print also appears on the program's own stdout and stderr."""
    log_flush: float = 0.2
    """Seconds that a line waits at most before it is written, while the database can be reached."""
    max_line: int = 16_384
    """Characters of one line or log record; the rest of it is cut off."""
    max_attempt_logs: int = 1_048_576
    """Bytes kept of one attempt; its last line says that more was not kept."""
    max_waiting_logs: int = 8_388_608
    """Bytes in memory, waiting for the database. Above it, the oldest lines of the noisiest attempt are dropped."""

    def check(self, path: str = "orchestration.logs") -> None:
        positive_seconds(self.log_flush, f"{path}.log_flush")
        for name in ("max_line", "max_attempt_logs", "max_waiting_logs"):
            at_least(getattr(self, name), 1, f"{path}.{name}")


class LogBuffer:
    """Not safe for threads: its owner has a lock."""

    def __init__(self, settings: LogSettings) -> None:
        self._settings = settings
        self._voices: OrderedDict[tuple[str, int, int], Voice] = OrderedDict()
        self._speaking: dict[Voice, None] = {}
        """Those with lines that wait."""
        self._halting: dict[Voice, None] = {}
        """Those with the beginning of a line."""
        self._order = 0
        self.pending = 0
        """Lines that wait to be taken."""
        self.size = 0
        """Bytes that wait to be taken."""
        self.lost = 0
        """Lines dropped for want of memory."""

    @property
    def unfinished(self) -> bool:
        return bool(self._halting)

    # -- coming in ----------------------------------------------------------------------------------------------
    def knows(self, key: tuple[str, int, int]) -> bool:
        return key in self._voices

    def add(self, key: tuple[str, int, int], task: str, stream: str, text: str, now: float) -> None:
        """An attempt says something; ``task`` is its name for people."""
        voice = self._voices.get(key)
        if voice is None:
            voice = self._voices[key] = Voice(*key, task)
            self._forget()
        else:
            self._voices.move_to_end(key)
        if voice.cut:
            return
        text = storable(text)
        match stream:
            case Stream.STDOUT | Stream.STDERR:
                self._add_pieces(voice, stream, text, now)
            case Stream.PROGRESS:
                # Only the newest counts: a body may report after every item of millions.
                voice.pieces[stream] = Piece(text[: self._settings.max_line], 0, now)
                self._halting[voice] = None
            case _:
                most = self._settings.max_line
                self._accept(voice, stream, text[:most], max(0, len(text) - most), now)

    def settle(self, before: float, run_id: str | None = None) -> None:
        """Lines that were begun before then, and not gone on with, count as they are; so does news of progress. With
        ``run_id``, those of that run only."""
        for voice in list(self._halting):
            if run_id is not None and voice.run_id != run_id:
                continue
            for stream, piece in list(voice.pieces.items()):
                if piece.at <= before or stream == Stream.PROGRESS:
                    del voice.pieces[stream]
                    if piece.text or piece.over:
                        self._accept(voice, stream, piece.text, piece.over, piece.at)
            if not voice.pieces:
                del self._halting[voice]

    def _add_pieces(self, voice: Voice, stream: str, text: str, now: float) -> None:
        *whole, rest = text.split("\n")
        for part in whole:
            piece = voice.pieces.pop(stream, None)
            grown = self._grow(piece, part, now, ended=True)
            self._accept(voice, stream, grown.text, grown.over, now)
        if rest:
            voice.pieces[stream] = self._grow(voice.pieces.get(stream), rest, now)
        if voice.pieces:
            self._halting[voice] = None
        else:
            self._halting.pop(voice, None)

    def _grow(self, piece: Piece | None, part: str, now: float, ended: bool = False) -> Piece:
        """The line so far. After a carriage return it starts over, as on a terminal."""
        text = piece.text + part if piece is not None else part
        over = piece.over if piece is not None else 0
        if ended:
            text = text.removesuffix("\r")
        start = text.rfind("\r", 0, len(text) - (0 if ended else 1)) + 1
        if start:
            text, over = text[start:], 0
        most = self._settings.max_line
        return Piece(text[:most], over + max(0, len(text) - most), now)

    def _accept(self, voice: Voice, stream: str, text: str, over: int, now: float) -> None:
        if voice.cut:
            return
        if over:
            text = f"{text}… ({over:,} characters more)"
        bytes_ = len(text) if text.isascii() else len(text.encode())
        voice.kept += bytes_ + 1
        if voice.kept > self._settings.max_attempt_logs:
            voice.cut = True
            voice.pieces.clear()
            self._halting.pop(voice, None)
            most = self._settings.max_attempt_logs
            stream, text = (
                Stream.LOG.value,
                f"turnout: more than {most:,} bytes: the rest of this attempt's lines is not kept",
            )
            bytes_ = len(text)
        self._append(voice, Line(voice, self._next(), now, stream, text, bytes_ + OVERHEAD))
        if self.size > self._settings.max_waiting_logs:
            self._shed()

    def _append(self, voice: Voice, line: Line) -> None:
        voice.lines.append(line)
        voice.size += line.size
        self.size += line.size
        self.pending += 1
        self._speaking[voice] = None

    def _next(self) -> int:
        self._order += 1
        return self._order

    # -- going out ----------------------------------------------------------------------------------------------
    def take(self, most: int) -> list[Line]:
        """The oldest lines, in order: so many, or less if they are long."""
        for voice in self._speaking:
            if voice.dropped is not None:
                self._say_what_was_dropped(voice, voice.dropped)
        merged: Iterable[Line] = heapq.merge(*(voice.lines for voice in self._speaking), key=_order)
        enough = self._settings.max_waiting_logs * TAKE
        taken: list[Line] = []
        for line in islice(merged, most):
            taken.append(line)
            enough -= line.size
            if enough <= 0:
                break
        for line in taken:
            voice = line.voice
            voice.lines.popleft()
            voice.size -= line.size
            self.size -= line.size
            if not voice.lines:
                del self._speaking[voice]
        self.pending -= len(taken)
        return taken

    def put_back(self, lines: Sequence[Line]) -> None:
        """They could not be written, and wait again, before all others of their attempts."""
        for line in reversed(lines):
            line.voice.lines.appendleft(line)
            line.voice.size += line.size
            self.size += line.size
            self._speaking[line.voice] = None
        self.pending += len(lines)
        if self.size > self._settings.max_waiting_logs:
            self._shed()

    def _shed(self) -> None:
        target = self._settings.max_waiting_logs * (1 - SHED)
        while self.size > target and self._speaking:
            noisiest = max(self._speaking, key=_size)
            enough = noisiest.size / 2
            while noisiest.lines and self.size > target and noisiest.size >= enough:
                self._drop(noisiest)
            if not noisiest.lines:
                del self._speaking[noisiest]

    def _drop(self, voice: Voice) -> None:
        line = voice.lines.popleft()
        voice.size -= line.size
        self.size -= line.size
        self.pending -= 1
        self.lost += not line.lost
        line.lost = max(1, line.lost)
        before = voice.dropped
        if before is not None:
            newest = max(before, line, key=_order)
            newest.lost = before.lost + line.lost
            line = newest
        voice.dropped = line

    def _say_what_was_dropped(self, voice: Voice, line: Line) -> None:
        """In the place of the dropped lines stands how many they were."""
        voice.dropped = None
        line.stream = Stream.LOG.value
        line.text = f"turnout: {line.lost:,} lines were dropped here: they came faster than the database took them"
        line.size = len(line.text) + OVERHEAD
        line.shown = False
        place = sum(1 for _ in takewhile(lambda other: other.order < line.order, voice.lines))
        voice.lines.insert(place, line)
        voice.size += line.size
        self.size += line.size
        self.pending += 1

    def _forget(self) -> None:
        if len(self._voices) > MAX_ATTEMPTS:
            for key, voice in islice(self._voices.items(), 100):
                if not voice.lines and not voice.pieces and voice.dropped is None:
                    del self._voices[key]
                    return


def _order(line: Line) -> int:
    return line.order


def _size(voice: Voice) -> Any:
    return voice.size
