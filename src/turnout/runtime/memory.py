"""How much memory does a child hold, with everything that it has started?"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

from turnout.errors import InvalidSetting
from turnout.runtime.supervisor import descendants, processes

MEASURABLE = Path("/proc/self/stat").exists()

_UNITS = {"": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "kib": 2**10, "mib": 2**20, "gib": 2**30}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmg]i?b)?", re.IGNORECASE)


def resident(pids: Iterable[int]) -> dict[int, int]:
    """Resident bytes of each of these processes and all below it. Pages that they share count for each."""
    table = processes()
    page = os.sysconf("SC_PAGE_SIZE")
    return {
        pid: page * sum(table[each][1] for each in (pid, *descendants(pid, table)) if each in table) for pid in pids
    }


def size(value: int | str | None, what: str) -> int | None:
    """``"512MB"`` in bytes, for a limit that can be kept on this machine."""
    if value is None:
        return None
    match = _SIZE.fullmatch(value.strip()) if isinstance(value, str) else None
    number = int(float(match[1]) * _UNITS[(match[2] or "").lower()]) if match else value
    if not isinstance(number, int) or isinstance(number, bool) or number < 1:
        raise InvalidSetting(f'{what} is {value!r}: write a number of bytes, or text such as "512MB" or "2GiB"')
    if not MEASURABLE:
        raise InvalidSetting(f"{what} needs /proc to measure memory, which this system does not have")
    return number


def shown(number: int) -> str:
    """A number of bytes as people say it."""
    return f"{number / 10**6:,.0f} MB" if number >= 10**6 else f"{number:,} bytes"
