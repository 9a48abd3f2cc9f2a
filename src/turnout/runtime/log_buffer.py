"""Holds the lines of attempts until they are written, and decides which are dropped when there are too many.

Pieces of text come in, complete lines go out, in the order in which they were written. Three limits always hold: the
length of a line, the bytes kept of one attempt, and the bytes that wait in memory.
"""

from __future__ import annotations

import heapq
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from itertools import islice, takewhile
from typing import Any, ClassVar, Generic

from turnout.model.logs import Stream, storable
from turnout.model.setting_types import Count, Seconds, Settings
from turnout.runtime.log_lines import AttemptLog, K, Line, PartialLine

MAX_ATTEMPTS = 10_000
"""Attempts whose count of bytes is kept; the count of the least recently used one is dropped first."""
SHED_SHARE = 0.125
"""The share of the memory that is freed at once when it is full, so that it is not freed line by line."""
TAKE_SHARE = 0.25
"""The share of the memory that is taken at once; it stays in memory until it is written."""
OVERHEAD = 100
"""Bytes that a waiting line takes beside its text."""


class LogSettings(Settings, frozen=True, kw_only=True):
    """Settings of the lines that attempts print and log: which are kept, and how many bytes."""

    table: ClassVar[str] = "orchestration.logs"

    capture: bool = True
    """Whether what attempts print and log is kept."""
    echo: bool = True
    """Whether what bodies print also appears on the program's own stdout and stderr."""
    log_flush: Seconds = 0.2
    """Seconds that a line waits at most before it is written, while the database can be reached."""
    max_line: Count = 16_384
    """Characters of one line or log record; the rest of it is cut off."""
    max_attempt_logs: Count = 1_048_576
    """Bytes kept of one attempt; its last line says that more was not kept."""
    max_waiting_logs: Count = 8_388_608
    """Bytes in memory, waiting for the database. Above it, the oldest lines of the noisiest attempt are dropped."""


class LogBuffer(Generic[K]):
    """The lines of attempts by keys that its owner chooses. Not safe for threads: its owner has a lock."""

    def __init__(self, settings: LogSettings) -> None:
        self._settings = settings
        self._logs: OrderedDict[K, AttemptLog[K]] = OrderedDict()
        self._waiting: dict[AttemptLog[K], None] = {}
        """Attempts with lines that wait."""
        self._unfinished: dict[AttemptLog[K], None] = {}
        """Attempts with the beginning of a line."""
        self._numbered: dict[AttemptLog[K], None] = {}
        """Attempts whose lines come with numbers, and of which more may be stored than was reported."""
        self._order = 0
        self.pending = 0
        """Lines that wait to be taken."""
        self.size = 0
        """Bytes that wait to be taken."""
        self.lost = 0
        """Number of lines dropped because the memory was full."""

    @property
    def unfinished(self) -> bool:
        return bool(self._unfinished)

    @property
    def idle(self) -> bool:
        """True if no line waits, finished or not."""
        return not self.pending and not self._unfinished

    # -- adding -------------------------------------------------------------------------------------------------
    def knows(self, key: K) -> bool:
        return key in self._logs

    def add(self, key: K, task: str, stream: str, text: str, now: float) -> None:
        """Adds text of an attempt; ``task`` is the name of its task for display."""
        log = self._log_of(key, task)
        if log.cut:
            return
        text = storable(text)
        match stream:
            case Stream.STDOUT | Stream.STDERR:
                self._add_pieces(log, stream, text, now)
            case Stream.PROGRESS:
                # Only the newest counts: a body may report after every item of millions.
                log.partial[stream] = PartialLine(text[: self._settings.max_line], 0, now)
                self._unfinished[log] = None
            case _:
                self._accept_record(log, stream, text, now)

    def add_numbered(self, key: K, task: str, first: int, lines: Sequence[tuple[str, str]], now: float) -> None:
        """Adds lines (stream, text) that their sender numbers, from ``first`` on; those before are stored. Lines that
        were added before are left out."""
        log = self._log_of(key, task)
        self._numbered[log] = None
        log.received = max(log.received, first)
        for number, (stream, text) in enumerate(lines, first):
            if number < log.received:
                continue
            log.received = number + 1
            if stream in (Stream.STDOUT, Stream.STDERR):
                whole = self._grow(None, storable(text), now, ended=True)
                self._accept(log, stream, whole.text, whole.over, now, number)
            else:
                self._accept_record(log, stream, storable(text), now, number)

    def take_stored(self) -> list[tuple[K, int]]:
        """Returns, once, the attempts of numbered lines with the number behind the last line that waits no more."""
        found = [(log.key, log.stored) for log in self._numbered]
        self._numbered.clear()
        return found

    def _log_of(self, key: K, task: str) -> AttemptLog[K]:
        log = self._logs.get(key)
        if log is None:
            log = self._logs[key] = AttemptLog(key, task)
            self._forget()
        else:
            self._logs.move_to_end(key)
        return log

    def settle(self, before: float, of: Callable[[K], bool] | None = None) -> None:
        """Takes lines that were begun before then, and not continued, as they are; progress reports too. With ``of``,
        only those of attempts whose key it accepts."""
        for log in list(self._unfinished):
            if of is not None and not of(log.key):
                continue
            for stream, piece in list(log.partial.items()):
                if piece.at <= before or stream == Stream.PROGRESS:
                    del log.partial[stream]
                    if piece.text or piece.over:
                        self._accept(log, stream, piece.text, piece.over, piece.at)
            if not log.partial:
                del self._unfinished[log]

    def _add_pieces(self, log: AttemptLog[K], stream: str, text: str, now: float) -> None:
        *complete, rest = text.split("\n")
        for part in complete:
            piece = log.partial.pop(stream, None)
            grown = self._grow(piece, part, now, ended=True)
            self._accept(log, stream, grown.text, grown.over, now)
        if rest:
            log.partial[stream] = self._grow(log.partial.get(stream), rest, now)
        if log.partial:
            self._unfinished[log] = None
        else:
            self._unfinished.pop(log, None)

    def _grow(self, piece: PartialLine | None, part: str, now: float, ended: bool = False) -> PartialLine:
        """Returns the line so far. After a carriage return it starts over, as on a terminal."""
        text = piece.text + part if piece is not None else part
        over = piece.over if piece is not None else 0
        if ended:
            text = text.removesuffix("\r")
        start = text.rfind("\r", 0, len(text) - (0 if ended else 1)) + 1
        if start:
            text, over = text[start:], 0
        most = self._settings.max_line
        return PartialLine(text[:most], over + max(0, len(text) - most), now)

    def _accept_record(self, log: AttemptLog[K], stream: str, text: str, now: float, number: int | None = None) -> None:
        most = self._settings.max_line
        self._accept(log, stream, text[:most], max(0, len(text) - most), now, number)

    def _accept(
        self, log: AttemptLog[K], stream: str, text: str, over: int, now: float, number: int | None = None
    ) -> None:
        if log.cut:
            return
        if over:
            text = f"{text}… ({over:,} characters more)"
        bytes_ = len(text) if text.isascii() else len(text.encode())
        log.kept += bytes_ + 1
        if log.kept > self._settings.max_attempt_logs:
            log.cut = True
            log.partial.clear()
            self._unfinished.pop(log, None)
            most = self._settings.max_attempt_logs
            stream, text = (
                Stream.LOG.value,
                f"turnout: more than {most:,} bytes: the rest of this attempt's lines is not kept",
            )
            bytes_ = len(text)
        self._append(log, Line(log, self._next(), now, stream, text, bytes_ + OVERHEAD, number))
        if self.size > self._settings.max_waiting_logs:
            self._shed()

    def _append(self, log: AttemptLog[K], line: Line[K]) -> None:
        log.lines.append(line)
        log.size += line.size
        self.size += line.size
        self.pending += 1
        self._waiting[log] = None

    def _next(self) -> int:
        self._order += 1
        return self._order

    # -- taking -------------------------------------------------------------------------------------------------
    def take(self, most: int) -> list[Line[K]]:
        """Removes and returns the oldest lines, in order: so many, or fewer if they are long."""
        for log in self._waiting:
            if log.dropped is not None:
                self._report_dropped(log, log.dropped)
        merged: Iterable[Line[K]] = heapq.merge(*(log.lines for log in self._waiting), key=_order)
        enough = self._settings.max_waiting_logs * TAKE_SHARE
        taken: list[Line[K]] = []
        for line in islice(merged, most):
            taken.append(line)
            enough -= line.size
            if enough <= 0:
                break
        for line in taken:
            log = line.log
            if log.received and log.writing is None:
                log.writing = line.seq
            log.lines.popleft()
            log.size -= line.size
            self.size -= line.size
            if not log.lines:
                del self._waiting[log]
        self.pending -= len(taken)
        return taken

    def written(self, lines: Sequence[Line[K]]) -> None:
        """Called when lines that were taken are written, or never will be."""
        for line in lines:
            line.log.writing = None
            if line.log.received:
                self._numbered[line.log] = None

    def put_back(self, lines: Sequence[Line[K]]) -> None:
        """Takes back lines that could not be written: they wait before all others of their attempts."""
        for line in reversed(lines):
            line.log.writing = None
            line.log.lines.appendleft(line)
            line.log.size += line.size
            self.size += line.size
            self._waiting[line.log] = None
        self.pending += len(lines)
        if self.size > self._settings.max_waiting_logs:
            self._shed()

    def _shed(self) -> None:
        target = self._settings.max_waiting_logs * (1 - SHED_SHARE)
        while self.size > target and self._waiting:
            largest = max(self._waiting, key=_size)
            enough = largest.size / 2
            while largest.lines and self.size > target and largest.size >= enough:
                self._drop(largest)
            if not largest.lines:
                del self._waiting[largest]

    def _drop(self, log: AttemptLog[K]) -> None:
        line = log.lines.popleft()
        if log.received:
            self._numbered[log] = None
        log.size -= line.size
        self.size -= line.size
        self.pending -= 1
        self.lost += not line.lost
        line.lost = max(1, line.lost)
        before = log.dropped
        if before is not None:
            newest = max(before, line, key=_order)
            newest.lost = before.lost + line.lost
            line = newest
        log.dropped = line

    def _report_dropped(self, log: AttemptLog[K], line: Line[K]) -> None:
        """Puts a line with the number of the dropped lines where they were."""
        log.dropped = None
        line.stream = Stream.LOG.value
        line.text = f"turnout: {line.lost:,} lines were dropped here: they came faster than the database took them"
        line.size = len(line.text) + OVERHEAD
        line.shown = False
        index = sum(1 for _ in takewhile(lambda other: other.order < line.order, log.lines))
        log.lines.insert(index, line)
        log.size += line.size
        self.size += line.size
        self.pending += 1

    def _forget(self) -> None:
        if len(self._logs) > MAX_ATTEMPTS:
            for key, log in islice(self._logs.items(), 100):
                if not log.lines and not log.partial and log.dropped is None and log.writing is None:
                    del self._logs[key]
                    return


def _order(line: Line[Any]) -> int:
    return line.order


def _size(log: AttemptLog[Any]) -> int:
    return log.size
