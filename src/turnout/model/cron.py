"""Checks cron expressions and time zones, and steps through the times of an expression.

An expression has five fields. Days match as in Debian's cron: both day fields must match if one of them begins with
``*``, otherwise either may. ``turnout.model.schedules`` documents the rule for changes of daylight saving time.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import lru_cache
from zoneinfo import ZoneInfo

import msgspec
from cronsim import CronSim, CronSimError

BAD_SCHEDULE = "bad_schedule"
CRON_FIELDS = "cron_fields"
UNKNOWN_TIMEZONE = "unknown_timezone"
NEVER_FIRES = "schedule_never_fires"
MACROS = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}

_MONTHS = {name: place for place, name in enumerate(re.findall("...", "janfebmaraprmayjunjulaugsepoctnovdec"), 1)}
_DAYS = {name: place for place, name in enumerate(re.findall("...", "sunmontuewedthufrisat"))}
_FIELDS: tuple[tuple[str, int, int, dict[str, int]], ...] = (
    ("minute", 0, 59, {}),
    ("hour", 0, 23, {}),
    ("day of the month", 1, 31, {}),
    ("month", 1, 12, _MONTHS),
    ("day of the week", 0, 7, _DAYS),
)
_PART = re.compile(r"(\*|\w+)(?:-(\w+))?(?:/(\w+))?")
_ZONE = re.compile(r"(?:CRON_)?TZ=(\S+)\s+")
_START = datetime(2000, 1, 1, tzinfo=UTC)


class Problem(msgspec.Struct, frozen=True):
    """The fault of an expression or of a time zone."""

    code: str
    message: str


def cron_problem(expression: str) -> Problem | None:
    """Returns what is wrong with a cron expression of five fields, which a time zone may precede."""
    if zone := _ZONE.match(expression):
        if problem := zone_problem(zone[1]):
            return problem
        expression = expression[zone.end() :]
    if expression.strip() in MACROS:
        return None
    fields = expression.split()
    if len(fields) != 5:
        right = "write five fields: minute, hour, day of the month, month, day of the week"
        if expression.lstrip().startswith("@"):
            return Problem(CRON_FIELDS, f"the words are {', '.join(MACROS)}; otherwise {right}, or use `every`")
        count = "1 field" if len(fields) == 1 else f"{len(fields)} fields"
        return Problem(CRON_FIELDS, f"it has {count}; {right}")
    for text, (name, least, most, words) in zip(fields, _FIELDS, strict=True):
        for part in text.split(","):
            if problem := _part_problem(part, least, most, words):
                return Problem(BAD_SCHEDULE, f"its {name} is {text!r}; {problem}")
    return _never(" ".join(fields))


def zone_problem(name: str) -> Problem | None:
    """Returns what is wrong with the name of a time zone."""
    try:
        ZoneInfo(name)
    except (KeyError, TypeError, ValueError, OSError):
        name = str(name)
        return Problem(UNKNOWN_TIMEZONE, f"there is no time zone {name[:60]!r}; write one such as Europe/Berlin")
    return None


def cron_fields(expression: str) -> tuple[str, str | None]:
    """Returns the five fields of a sound expression, and the time zone that precedes them.

    >>> cron_fields("CRON_TZ=Asia/Tokyo  5 9 * * *")
    ('5 9 * * *', 'Asia/Tokyo')
    >>> cron_fields("@daily")
    ('0 0 * * *', None)
    """
    zone = _ZONE.match(expression)
    text = " ".join(expression[zone.end() if zone else 0 :].split())
    return MACROS.get(text, text), zone[1] if zone else None


def cron_times(fields: str, zone: str, start: float, *, backwards: bool = False) -> Iterator[float]:
    """Yields the times of the five fields from ``start`` on, without it: ascending, or descending with ``backwards``.
    None is yielded twice."""
    last = start
    # A datetime has microseconds only: an instant less than one before a due time would become that due time.
    second = math.ceil(start) if backwards else math.floor(start)
    for each in CronSim(fields, datetime.fromtimestamp(second, ZoneInfo(zone)), reverse=backwards):
        found = each.timestamp()
        # Of a local time that exists twice the first one is meant, which may be before the start; several local times
        # that do not exist are one moment.
        if found < last if backwards else found > last:
            yield found
            last = found


@lru_cache(maxsize=1_000)
def _never(fields: str) -> Problem | None:
    try:
        next(CronSim(fields, _START))
    except (StopIteration, CronSimError):
        return Problem(NEVER_FIRES, "it never fires: none of its months has that day")
    return None


def _part_problem(part: str, least: int, most: int, words: dict[str, int]) -> str | None:
    right = f"write numbers from {least} to {most}, or *"
    found = _PART.fullmatch(part)
    if found is None:
        return right
    first, last = (_number(each, words) for each in found.group(1, 2))
    if first is None or (found[2] is not None and (found[1] == "*" or last is None)):
        return right
    if found[1] != "*" and not least <= first <= most:
        return right
    if last is not None and not first <= last <= most:
        return f"a range goes upwards, to {most} at most"
    if found[3] is not None and not (found[3].isdecimal() and 1 <= int(found[3][:6]) <= most):
        return f"a step is a number from 1 to {most}"
    return None


def _number(text: str | None, words: dict[str, int]) -> int | None:
    if text == "*":
        return 0
    if text is None:
        return None
    return int(text[:6]) if text.isascii() and text.isdecimal() else words.get(text.lower())
