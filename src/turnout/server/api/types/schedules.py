"""Bodies of requests and answers about schedules."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from turnout.model.schedule_rows import DecisionRow
from turnout.runner.schedule_views import NextFire, ScheduleView

Instant = Annotated[float, Meta(ge=0, le=1e11)]
LocalTime = Annotated[str, Meta(min_length=1, max_length=40)]


class SchedulePage(msgspec.Struct, frozen=True):
    """Schedules by id."""

    schedules: list[ScheduleView]
    next: str | None
    """The cursor of the next page; null on the last one."""


class NextFires(msgspec.Struct, frozen=True):
    """Due times that have not come yet, the earliest first."""

    fires: list[NextFire]


class DecisionPage(msgspec.Struct, frozen=True):
    """Decisions about due times, the newest first."""

    decisions: list[DecisionRow]
    next: str | None
    """The cursor of the next page; null on the last one."""


class FireRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The run that a schedule is to start now."""

    params: dict[str, Any] = {}
    """Parameters of the run, instead of those of the schedule with the same names."""


class BackfillRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The time whose due times are to fire."""

    first: Instant | LocalTime
    """Seconds since 1970, or a time such as ``2026-12-01T03:00``, which is local time of the schedule."""
    last: Instant | LocalTime | None = None
    """The same; without it now."""
    dry_run: bool = False
    """True: nothing is started. The answer says what would be."""
