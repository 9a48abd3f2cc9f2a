"""Which lines has a process written? Bytes in, as they come; text out, a line at a time."""

from __future__ import annotations

import codecs
from collections.abc import Callable

MAX_LINE_LENGTH = 16_384
"""Characters; a longer line is handed on in pieces."""


class Lines:
    """Calls ``emit(line)``, without its end, for each line that is complete; ``flush`` for what was begun."""

    def __init__(self, emit: Callable[[str], None]) -> None:
        self._emit = emit
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._begun = ""

    def feed(self, data: bytes) -> None:
        *whole, self._begun = (self._begun + self._decoder.decode(data)).split("\n")
        for line in whole:
            self._pieces(line.removesuffix("\r"))
        while len(self._begun) > MAX_LINE_LENGTH:
            self._emit(self._begun[:MAX_LINE_LENGTH])
            self._begun = self._begun[MAX_LINE_LENGTH:]

    def flush(self) -> None:
        rest = self._begun + self._decoder.decode(b"", final=True)
        self._decoder.reset()
        self._begun = ""
        if rest:
            self._pieces(rest)

    def _pieces(self, line: str) -> None:
        for start in range(0, max(len(line), 1), MAX_LINE_LENGTH):
            self._emit(line[start : start + MAX_LINE_LENGTH])
