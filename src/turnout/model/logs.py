"""What attempts say: the streams that it comes by, and the lines that are kept of it."""

from __future__ import annotations

from enum import StrEnum

import msgspec


class Stream(StrEnum):
    """By which way an attempt said something. The first two come in pieces that make up lines; the others whole."""

    STDOUT = "stdout"
    STDERR = "stderr"
    LOG = "log"
    """A record of ``logging``, and what Turnout itself has to say about an attempt's lines."""
    PROGRESS = "progress"


class LogRow(msgspec.Struct, frozen=True, gc=False):
    """A line to be kept. An attempt's lines have one writer, who numbers them: written twice, they are kept once."""

    run_id: str
    pos: int
    attempt: int
    seq: int
    stream: str
    at: float
    """When it was said, by the clock of the machine that said it."""
    text: str


class LogLine(msgspec.Struct, frozen=True, gc=False):
    """A line as it is read back."""

    id: int
    """Grows in the order in which a run's lines became readable: who has read up to here has missed nothing."""
    task: str
    attempt: int
    stream: str
    at: float
    text: str


def storable(text: str) -> str:
    """Text that every database accepts: NUL and lone surrogates are replaced."""
    if text.isascii():
        return text.replace("\x00", "\ufffd") if "\x00" in text else text
    return text.replace("\x00", "\ufffd").encode("utf-8", "replace").decode("utf-8")
