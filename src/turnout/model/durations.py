"""Reads durations as authors write them (``"5m"``), in seconds."""

from __future__ import annotations

import math
import re
from datetime import timedelta
from typing import TypeAlias

from turnout.errors import InvalidWorkflow

Duration: TypeAlias = float | str | timedelta
"""A number of seconds, text such as ``"30s"``, ``"5m"``, ``"1h30m"``, or a timedelta."""

UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
_PART = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h|d|w)\s*")
_WHOLE = re.compile(rf"(?:{_PART.pattern})+")


def seconds(value: Duration, what: str = "duration") -> float:
    """Returns the duration in seconds; raises an error that shows the format."""
    match value:
        case timedelta():
            number = value.total_seconds()
        case int() | float() if not isinstance(value, bool):
            number = float(value)
        case str() if _WHOLE.fullmatch(value.strip()):
            number = sum(float(amount) * UNITS[unit] for amount, unit in _PART.findall(value))
        case _:
            number = math.nan
    if not math.isfinite(number) or number < 0:
        raise InvalidWorkflow(
            f'{what} is {value!r}: write a number of seconds, text such as "30s", "1h30m" or "2w", or a timedelta',
            code="bad_duration",
            value=value,
        )
    return number


def shown(number: float) -> str:
    """Returns a duration as authors write it.

    >>> shown(5400)
    '1h30m'
    """
    parts: list[str] = []
    left = number
    for unit, size in (("d", 86400.0), ("h", 3600.0), ("m", 60.0)):
        count, left = divmod(left, size)
        parts += [f"{count:.0f}{unit}"] if count else []
    return "".join(parts) + (f"{left:g}s" if left or not parts else "")
