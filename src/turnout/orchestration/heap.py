"""Gives memory that large values have used back to the system.

The allocator keeps what was freed for its next use, in an arena for each thread. After runs with hundreds of megabytes
of values that may be gigabytes which nobody uses.
"""

from __future__ import annotations

import asyncio
import ctypes
from collections.abc import Callable
from functools import cache

from turnout.model.rows import RunWrite

LOOK = 1.0
"""Seconds from one look to the next."""
WORTH = 16 * 1024 * 1024
"""Characters of values that passed since the last time, from which on it is worth the trouble."""
MUCH = 8 * WORTH
"""The same for as long as values keep passing."""


def weight(write: RunWrite) -> int:
    """Roughly how many characters of values a write has."""
    total = 0 if write.insert is None else len(write.insert.input)
    for rows in (write.tasks, write.items):
        for row in rows:
            if row.output is not None:
                total += len(row.output)
            if row.memo is not None:
                total += len(row.memo)
    return total


class Heap:
    """Counts what passes, and trims once it is quiet. Used on one event loop."""

    def __init__(self, trim: Callable[[], None] | None = None) -> None:
        self._trim = trim or trimmer()
        self._passed = 0
        self._last = 0

    def passed(self, characters: int) -> None:
        self._passed += characters

    async def keep_trimmed(self) -> None:
        while True:
            await asyncio.sleep(LOOK)
            # While values pass, the allocator would only ask for the same memory again, but it must not grow for ever.
            if self._passed >= MUCH or (self._passed >= WORTH and self._passed == self._last):
                self._passed = 0
                await asyncio.to_thread(self._trim)
            self._last = self._passed


@cache
def trimmer() -> Callable[[], None]:
    """``malloc_trim`` of the C library; nothing where it has none."""
    try:
        trim = ctypes.CDLL(None).malloc_trim
    except (OSError, AttributeError, TypeError):
        return lambda: None
    trim.argtypes, trim.restype = [ctypes.c_size_t], ctypes.c_int
    return lambda: trim(0)
