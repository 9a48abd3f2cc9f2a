"""Returns memory that large values have used to the operating system.

The allocator keeps what was freed for its next use, in an arena for each thread. After runs with hundreds of megabytes
of values that may be gigabytes of unused memory.
"""

from __future__ import annotations

import asyncio
import ctypes
from collections.abc import Callable
from functools import cache

from turnout.model.rows import RunWrite
from turnout.orchestration.shared_ticks import aligned

CHECK_INTERVAL = 1.0
"""Seconds between two checks."""
MIN_CHARACTERS = 16 * 1024 * 1024
"""Characters of values since the last trim from which on the next one is made, once no more come."""
MAX_CHARACTERS = 8 * MIN_CHARACTERS
"""Characters of values since the last trim from which on the next one is made at once."""


def weight(write: RunWrite) -> int:
    """Returns roughly how many characters of values a write has."""
    total = 0 if write.insert is None else len(write.insert.input)
    for row in [*write.tasks, *write.items] if write.items else write.tasks:
        output, memo = row.output, row.memo
        if output is not None:
            total += len(output)
        if memo is not None:
            total += len(memo)
    return total


class Heap:
    """Counts characters of values that are written, and trims the heap when no more come. Used on one event loop."""

    def __init__(self, trim: Callable[[], None] | None = None) -> None:
        self._trim = trim or trimmer()
        self._passed = 0
        self._last = 0

    def passed(self, characters: int) -> None:
        self._passed += characters

    async def keep_trimmed(self) -> None:
        clock = asyncio.get_running_loop().time
        while True:
            await asyncio.sleep(aligned(CHECK_INTERVAL, clock()))
            # While values come, the allocator would ask for the same memory again, but the heap must stay bounded.
            if self._passed >= MAX_CHARACTERS or (self._passed >= MIN_CHARACTERS and self._passed == self._last):
                self._passed = 0
                await asyncio.to_thread(self._trim)
            self._last = self._passed


@cache
def trimmer() -> Callable[[], None]:
    """Returns ``malloc_trim`` of the C library; a function that does nothing where there is none."""
    try:
        trim = ctypes.CDLL(None).malloc_trim
    except (OSError, AttributeError, TypeError):
        return lambda: None
    trim.argtypes, trim.restype = [ctypes.c_size_t], ctypes.c_int
    return lambda: trim(0)
