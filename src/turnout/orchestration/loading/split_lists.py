"""Long lists, split once, from which each item of a mapped task takes its part."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, TypeAlias

import msgspec

from turnout.model.spec import FromParam, FromTask

Source: TypeAlias = FromParam | FromTask
Split: TypeAlias = Sequence[bytes]
"""A list as the JSON text of each of its items."""

KEPT_BYTES = 32 * 1024 * 1024
"""Beyond it the lists that were used least recently are forgotten, and read again when they are needed."""

ENTRY, ITEM = 512, 48
"""Bytes that a list and each of its items take beside their text, roughly."""

_encode = msgspec.json.Encoder().encode


class SplitLists:
    """Lists that items of mapped tasks take their arguments from, by run and source. For any thread."""

    def __init__(self, limit: int = KEPT_BYTES) -> None:
        self._limit = limit
        self._lists: OrderedDict[tuple[str, Source], tuple[Split, int]] = OrderedDict()
        self._size = 0
        self._lock = threading.Lock()

    def get(self, run_id: str, source: Source) -> Split | None:
        with self._lock:
            found = self._lists.get((run_id, source))
            if found is None:
                return None
            self._lists.move_to_end((run_id, source))
            return found[0]

    def split(self, run_id: str, source: Source, value: list[Any]) -> Split:
        """Take the list apart and keep it."""
        parts = [_encode(item) for item in value]
        size = ENTRY + sum(len(part) + ITEM for part in parts)
        with self._lock:
            before = self._lists.pop((run_id, source), None)
            self._lists[run_id, source] = (parts, size)
            self._size += size - (before[1] if before is not None else 0)
            while self._size > self._limit and len(self._lists) > 1:
                _, (_, dropped) = self._lists.popitem(last=False)
                self._size -= dropped
        return parts
