"""Holds schedules as values, and computes their due times.

Due times are instants, in seconds since the epoch. Of a cron expression with fixed hours and minutes, a local time that
a change of daylight saving time leaves out is moved to the first moment after the gap, and of a local time that exists
twice the first one counts: the schedule fires once a day. An expression whose minutes or hours begin with ``*`` follows
elapsed time: it fires in both repeated hours, and not in the hour that is left out. ``every`` counts from the epoch,
so it does not depend on when the schedule was made or which server asks.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from itertools import islice, takewhile
from types import MappingProxyType
from typing import Any, Literal, TypeAlias
from zoneinfo import ZoneInfo

import msgspec

from turnout.model.cron import cron_times

Action: TypeAlias = Literal["start", "stop", "restart"]
CatchUp: TypeAlias = Literal["skip", "latest", "all"]
Overlap: TypeAlias = Literal["skip", "queue", "cancel_previous", "allow"]

DEFAULT_MAX_CATCH_UP = 100
NOTHING: Mapping[str, Any] = MappingProxyType({})
MAX_CATCH_UP = 1_000
"""Missed due times of one schedule that can be caught up at once."""
MAX_COUNTED = 10_000
"""Due times that are counted one by one; a count of that many means at least so many."""
MAX_JITTER = 86_400.0


class ScheduleSpec(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The times at which a workflow runs by itself. Exactly one of ``cron``, ``every`` and ``at`` is set."""

    name: str
    """Identifies the schedule within its workflow. What is stored about it survives other changes."""
    cron: str = ""
    """Five fields: minute, hour, day of the month, month, day of the week."""
    every: int = 0
    """Seconds between two due times."""
    at: float | None = None
    """The only due time."""
    timezone: str = "UTC"
    action: Action = "start"
    params: dict[str, Any] = {}
    """The input of the runs."""
    catch_up: CatchUp = "skip"
    max_catch_up: int = DEFAULT_MAX_CATCH_UP
    overlap: Overlap = "skip"
    jitter: float = 0.0
    """Seconds by which a due time is acted on later, at most."""
    skip_if_successful: bool = False

    @property
    def timing(self) -> tuple[str, int, float | None, str, float]:
        """The fields that determine the due times. If one changes, the schedule begins anew."""
        return self.cron, self.every, self.at, self.timezone, self.jitter

    @property
    def keeps_open(self) -> bool:
        """True if decisions depend on whether earlier runs of the schedule have ended."""
        return self.action == "start" and self.overlap != "allow"

    @property
    def expression(self) -> str:
        """The times as an author would write them."""
        if self.cron:
            return self.cron
        if self.every:
            return f"every {self.every}s"
        return f"at {iso_time(self.at or 0.0, self.timezone)}"


# Built once, at import: two threads that decode a struct for the first time at the same moment crash the process.
decode_schedule = msgspec.json.Decoder(ScheduleSpec).decode


def due_times(spec: ScheduleSpec, after: float, until: float = math.inf) -> Iterator[float]:
    """Yields the due times after the one instant up to the other, ascending."""
    times: Iterator[float]
    if spec.cron:
        times = cron_times(spec.cron, spec.timezone, after)
    elif spec.every:
        times = _multiples(spec.every, after)
    else:
        times = iter(() if spec.at is None or spec.at <= after else (spec.at,))
    for due in times:
        if due > until:
            return
        yield due


def next_due(spec: ScheduleSpec, after: float) -> float | None:
    """Returns the first due time after an instant; None if there is none."""
    return next(due_times(spec, after), None)


def newest_due(spec: ScheduleSpec, after: float, until: float, limit: int) -> list[float]:
    """Returns the last due times after the one instant up to the other, ascending, at most ``limit`` of
    them (from 1). Its cost does not depend on how many there are."""
    if spec.every:
        last = math.floor(until / spec.every) * spec.every
        after = max(after, float(last - limit * spec.every))
    elif spec.cron:
        # Steps backwards may pass over a due time in an hour that exists twice, so they only find where to begin.
        before = takewhile(lambda due: due > after, cron_times(spec.cron, spec.timezone, until, backwards=True))
        found = list(islice(before, limit))
        after = found[-1] - 1.0 if len(found) == limit else after
    return list(due_times(spec, after, until))[-limit:]


def count_due(spec: ScheduleSpec, after: float, until: float, limit: int = MAX_COUNTED) -> int:
    """Returns the number of due times after the one instant up to the other, at most ``limit``."""
    if spec.every:
        return min(limit, max(0, math.floor(until / spec.every) - math.floor(after / spec.every)))
    return sum(1 for _ in islice(due_times(spec, after, until), limit))


def jitter_of(spec: ScheduleSpec, key: str, due: float) -> float:
    """Returns the seconds by which this due time is acted on later: the same on every server."""
    if not spec.jitter:
        return 0.0
    digest = hashlib.sha256(f"{key}@{due!r}".encode()).digest()
    return round(int.from_bytes(digest[:6], "big") / 2**48 * spec.jitter, 3)


def acted_on_at(spec: ScheduleSpec, key: str, due: float | None) -> float | None:
    """Returns when a due time is acted on."""
    return None if due is None else due + jitter_of(spec, key, due)


def iso_time(instant: float, zone: str) -> str:
    """Returns the instant as local time with its offset.

    >>> iso_time(1774746000, "Europe/Rome")
    '2026-03-29T03:00:00+02:00'
    """
    return datetime.fromtimestamp(instant, ZoneInfo(zone)).isoformat()


def past_schedules(schedules: Iterable[ScheduleSpec], now: float) -> list[str]:
    """Returns a sentence for each schedule whose only due time is past: it never acts."""
    return [
        f"schedule {each.name!r} has its only time in the past, {iso_time(each.at, each.timezone)}: it does nothing; "
        "write a later time, or remove it"
        for each in schedules
        if each.at is not None and each.at <= now
    ]


def params_at(spec: ScheduleSpec, due: float, given: Mapping[str, Any] = NOTHING) -> dict[str, Any]:
    """Returns the input of the run of a due time: the parameters of the schedule, or those that an operator has given
    instead. ``${due_at}`` and ``${due_date}`` in texts become its local time and date."""
    local = iso_time(due, spec.timezone)

    def filled(value: Any) -> Any:
        match value:
            case str():
                return value.replace("${due_at}", local).replace("${due_date}", local[:10])
            case list():
                return [filled(each) for each in value]
            case dict():
                return {name: filled(each) for name, each in value.items()}
            case _:
                return value

    return {name: filled(each) for name, each in {**spec.params, **given}.items()}


def _multiples(every: int, after: float) -> Iterator[float]:
    number = math.floor(after / every) + 1
    while True:
        yield float(number * every)
        number += 1
