"""Shows what a schedule does at times of the test's choosing, without a server and without waiting."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from itertools import count, islice

import msgspec

from turnout.authoring.schedules import DEFAULT_TIMEZONE, Schedule, instant
from turnout.model import schedules
from turnout.model.schedule_decisions import Facts, Outcome, decide

KEY = "workflow/schedule"


class SimulatedDecision(msgspec.Struct, frozen=True):
    """A decision about a due time, or about several in a row that are skipped for one reason."""

    due_at: str
    """The first of them, in the time zone of the schedule."""
    due_times: int
    outcome: Outcome
    reason: str
    run: str | None
    """The run that it would start: ``run-1``, ``run-2``, …"""

    def __str__(self) -> str:
        return f"{self.due_times} {self.outcome}: {self.reason}"


def due_times(schedule: Schedule, after: str | datetime, limit: int = 10) -> list[str]:
    """Returns the due times after a local time of the schedule, with their offsets.

    >>> due_times(Schedule("30 2 * * *", timezone="Europe/Rome"), "2026-03-28T12:00", 2)
    ['2026-03-29T03:00:00+02:00', '2026-03-30T02:30:00+02:00']
    """
    spec = schedule.spec("schedule")
    zone = spec.timezone
    return [schedules.iso_time(due, zone) for due in islice(schedules.due_times(spec, instant(after, zone)), limit)]


def decisions(
    schedule: Schedule, since: str | datetime, now: str | datetime, *, unfinished: Sequence[str] = ()
) -> list[SimulatedDecision]:
    """Returns what a server decides at ``now`` about the due times after ``since``, if none was there between.
    ``unfinished`` are runs of the schedule that have not ended. Both times are local times of the schedule.

    >>> hourly = Schedule(every="1h", catch_up="latest")
    >>> [str(each) for each in decisions(hourly, "2026-03-01", "2026-03-01T05:30")]
    ['4 skipped: missed', '1 fired: caught_up']
    """
    spec = schedule.spec("schedule", DEFAULT_TIMEZONE)
    ids = (f"run-{number}" for number in count(1))
    facts = Facts(now=instant(now, spec.timezone), unfinished=unfinished)
    turn = decide(spec, KEY, instant(since, spec.timezone), facts, lambda: next(ids))
    return [
        SimulatedDecision(
            schedules.iso_time(each.due_at, spec.timezone), each.due_times, each.outcome, each.reason, each.run_id
        )
        for each in turn.decisions
    ]
