"""Makes and checks ids and identifiers, and suggests known names for an unknown one."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable
from difflib import get_close_matches

MAX_COMPARED = 200
"""Names that an unknown one is compared with; of more, only those that begin alike."""

DELIVERY = "notify"
"""The name of the workflows that deliver notifications. Their package is that of the workflow that notifies, and its
name."""

IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,127}")

_HOOK = re.compile(r"(?:.+\.)?on_(?:success|failure|cancel|exit|stuck)\..+")


def is_identifier(name: str) -> bool:
    return IDENTIFIER.fullmatch(name) is not None


def hook_name(on: str, function: str, of: str = "") -> str:
    """Returns the name of a hook in its run: ``on_failure.notify``, or ``charge.on_exit.tidy_up`` for a task's."""
    return f"{of}.on_{on}.{function}" if of else f"on_{on}.{function}"


def made_at(run_id: str) -> float:
    """Returns the time at which the id of a run was made, in seconds since 1970; that of a child run is its parent's.

    >>> made_at("0199c82c-c000-7000-8000-000000000000")
    1760000000.0
    """
    return int(run_id.replace("-", "")[:12], 16) / 1_000


def is_hook(name: str) -> bool:
    """True if a task of this name is a hook; no other task may be named like one."""
    return _HOOK.fullmatch(name) is not None


class _RunIds:
    """Makes version 7 UUIDs that ascend within this process, also within one millisecond."""

    _RANDOM_BITS = 74
    _STEP_BITS = 66

    def __init__(self) -> None:
        self._last = 0

    def next(self) -> str:
        stamp, drawn = time.time_ns() // 1_000_000, int.from_bytes(os.urandom(10), "big")
        fresh = (stamp << self._RANDOM_BITS) | drawn >> (80 - self._RANDOM_BITS)
        # A random step: the next id cannot be guessed, and concurrent threads get different ids.
        if fresh <= self._last:
            # It is large, so that the beginning of an id, which is what people see, differs too.
            fresh = self._last + 1 + (drawn >> (80 - self._STEP_BITS))
        self._last = fresh
        high, low = fresh >> 62, fresh & ((1 << 62) - 1)
        number = (high >> 12 << 80) | (0x7 << 76) | ((high & 0xFFF) << 64) | (0x2 << 62) | low
        text = f"{number:032x}"
        return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


new_run_id = _RunIds().next
"""Returns a time-ordered UUID: new runs are adjacent in every index, and sorted by their submission."""


def task_id(run_id: str, pos: int) -> str:
    return f"{run_id}.{pos}"


def split_task_id(task: str) -> tuple[str, int]:
    run_id, _, pos = task.rpartition(".")
    return run_id, int(pos)


def position_in(run_id: str, task: str) -> int:
    """Returns the position of a task of this run."""
    return int(task[len(run_id) + 1 :])


def suggest_similar(name: str, known: Iterable[str]) -> str:
    """Returns the end of a message about an unknown name: similar names, or nothing."""
    names = sorted(set(known))
    if len(names) > MAX_COMPARED:
        names = [each for each in names if each[:1] == name[:1]][:MAX_COMPARED]
    found = get_close_matches(name, names, n=3)
    return f": did you mean {' or '.join(map(repr, found))}?" if found else ""


def suggest(name: str, known: Iterable[str]) -> str:
    """Returns the end of a message about an unknown name: similar names, or some of the known ones."""
    names = sorted(set(known))
    if similar := suggest_similar(name, names):
        return similar
    known_names = ", ".join(map(repr, names[:10])) + (", …" if len(names) > 10 else "")
    return f": there are {known_names}" if names else ": there are none"
