"""Reads what Linux knows of processes: their identity and the memory that they hold. Elsewhere nothing is known."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from turnout.errors import InvalidSetting
from turnout.runtime.supervisor import descendants, processes


def boot_id() -> str:
    """Returns what all processes of a machine have in common until it starts again."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def pid_namespace() -> str:
    """Returns the namespace that process ids of this process belong to."""
    try:
        return os.readlink("/proc/self/ns/pid")
    except OSError:
        return ""


def process_started(pid: int) -> str | None:
    """Returns when a process started, in clock ticks since boot: with its pid, an identity that is not used twice."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return None
    # A zombie has ended; its parent has not read its exit status yet.
    return None if fields[0] in (b"Z", b"X") else fields[19].decode()


MEASURABLE = Path("/proc/self/stat").exists()

_UNITS = {"": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "kib": 2**10, "mib": 2**20, "gib": 2**30}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmg]i?b)?", re.IGNORECASE)


def resident(pids: Iterable[int]) -> dict[int, int]:
    """Returns the resident bytes of each of these processes and all below it. Pages that they share count for each."""
    table = processes()
    page = os.sysconf("SC_PAGE_SIZE")
    return {
        pid: page * sum(table[each][1] for each in (pid, *descendants(pid, table)) if each in table) for pid in pids
    }


@cache
def machine_amounts() -> dict[str, float]:
    """Returns the cores and the bytes of memory of this machine; memory is without a limit where it is not known."""
    try:
        memory: float = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        memory = math.inf
    return {"cpu": float(os.cpu_count() or 1), "memory": memory}


def parse_size(value: int | str | None, what: str) -> int | None:
    """Returns ``"512MB"`` in bytes. Raises InvalidSetting also where memory cannot be measured."""
    if value is None:
        return None
    match = _SIZE.fullmatch(value.strip()) if isinstance(value, str) else None
    number = int(float(match[1]) * _UNITS[(match[2] or "").lower()]) if match else value
    if not isinstance(number, int) or isinstance(number, bool) or number < 1:
        raise InvalidSetting(f'{what} is {value!r}: write a number of bytes, or text such as "512MB" or "2GiB"')
    if not MEASURABLE:
        raise InvalidSetting(f"{what} needs /proc to measure memory, which this system does not have")
    return number


def format_size(number: int) -> str:
    """Returns a number of bytes as text."""
    return f"{number / 10**6:,.0f} MB" if number >= 10**6 else f"{number:,} bytes"
