"""Holds the output streams of attempts, and the log lines that are stored."""

from __future__ import annotations

from enum import StrEnum

import msgspec


class Stream(StrEnum):
    """The stream of a line. The first two arrive in pieces; the others as complete lines."""

    STDOUT = "stdout"
    STDERR = "stderr"
    LOG = "log"
    """A record of ``logging``, and remarks of Turnout itself about an attempt's lines."""
    PROGRESS = "progress"


class LogRow(msgspec.Struct, frozen=True, gc=False):
    """A line to be stored. The lines of an attempt are numbered, so a line written twice is stored once."""

    run_id: str
    pos: int
    attempt: int
    seq: int
    """Microseconds, made to grow, of a line of this machine. Lines of workers have the numbers that the worker gave
    them, from 0."""
    stream: str
    at: float
    """The time at which it was written, by the clock of the attempt's machine."""
    text: str


class StoredLines(msgspec.Struct, frozen=True, gc=False):
    """The state of the lines of an attempt that a worker numbers."""

    task_id: str
    attempt: int
    next: int
    """The number behind the last line that is stored, or never will be."""


class LogLine(msgspec.Struct, frozen=True, gc=False):
    """A line as it is read back."""

    id: int
    """Increases in the order in which a run's lines became readable: a reader that continues after it misses none."""
    task: str
    attempt: int
    stream: str
    at: float
    text: str


def storable(text: str) -> str:
    """Returns text that every database accepts: NUL and lone surrogates are replaced."""
    if text.isascii():
        return text.replace("\x00", "\ufffd") if "\x00" in text else text
    return text.replace("\x00", "\ufffd").encode("utf-8", "replace").decode("utf-8")
