"""Changes what schedules do, on a store: for the API and for commands.

What an operator asks for is stored as a decision. A server that has the workflow acts on it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import date, timedelta
from itertools import islice
from typing import Any

import msgspec

from turnout.authoring.schedules import instant
from turnout.contracts.store import ScheduleStore
from turnout.errors import InvalidInput, InvalidWorkflow, ScheduleError
from turnout.model.names import new_run_id
from turnout.model.schedule_decisions import PAUSED, skip_until
from turnout.model.schedule_rows import NewFire, StoredSchedule
from turnout.model.schedules import MAX_COUNTED, count_due, due_times, iso_time
from turnout.runner.schedule_views import PAGE, ScheduleView, find, view

MAX_BACKFILL = 1_000
"""Due times of one backfill."""
BEGINNING = "the beginning of the backfill"
END = "the end of the backfill"
RESUME_ATTEMPTS = 5
START_TIMEOUT = 5.0
"""Seconds that a command waits until a server has started what it asked for."""
POLL_INTERVAL = 0.1


class Fired(msgspec.Struct, frozen=True, kw_only=True):
    """A run that was asked for."""

    schedule_id: int
    run_id: str
    due_at: float = 0.0
    """The time that the run stands for."""


class BackfilledTime(msgspec.Struct, frozen=True, kw_only=True):
    """A due time of a backfill."""

    due_at: float
    local: str
    run_id: str | None
    """The run that it starts; null if it has fired before, and in a preview."""
    fired_before: bool


class Backfilled(msgspec.Struct, frozen=True, kw_only=True):
    """A backfill, or the preview of one."""

    schedule_id: int
    dry_run: bool
    runs: int
    """Runs that start, or would."""
    due_times: list[BackfilledTime]


def pause(store: ScheduleStore, wanted: str, actor: str) -> ScheduleView:
    """Pauses a schedule. One that is paused stays so."""
    found = find(store, wanted)
    store.pause_schedule(found.id, actor)
    return view(find(store, str(found.id)))


def resume(store: ScheduleStore, wanted: str, actor: str) -> ScheduleView:
    """Resumes a schedule. The due times of the pause are skipped, and it continues from now."""
    found = find(store, wanted)
    for _ in range(RESUME_ATTEMPTS):
        if not found.paused:
            return view(found)
        turn = skip_until(found.spec, found.key, found.decided_until, round(store.clock(), 3), PAUSED)
        resumed = store.resume_schedule(found.id, found.decided_until, turn, actor)
        found = find(store, str(found.id))
        if resumed:
            return view(found)
    raise ScheduleError(f"schedule {found.key} is being changed: resume it again", code="schedule_error")


def fire(
    store: ScheduleStore,
    wanted: str,
    actor: str,
    *,
    params: Mapping[str, Any] | None = None,
    check: Callable[[StoredSchedule, Mapping[str, Any]], None] = lambda _, __: None,
) -> Fired:
    """Starts a run of the schedule now, whatever its times and policies say, with its parameters or these instead.
    ``check`` raises what the run would be refused for, where the workflow is known."""
    found, given = _starting(store, wanted), dict(params or {})
    check(found, given)
    run_id = new_run_id()
    while True:
        wish = NewFire(due_at=round(store.clock(), 6), run_id=run_id, params=given)
        if store.fire_schedule(found.id, "manual", [wish], actor):
            return Fired(schedule_id=found.id, run_id=run_id, due_at=wish.due_at)
        # Another one was fired at the same microsecond.


def await_start(store: ScheduleStore, fired: Fired, timeout: float = START_TIMEOUT) -> bool:
    """Returns whether a server has started the run of a fire within the time. Raises ScheduleError if it refused it."""
    deadline = time.monotonic() + timeout
    while True:
        newest = store.schedule_decisions(fired.schedule_id, limit=PAGE)
        found = next((each for each in newest if each.kind == "manual" and each.due_at == fired.due_at), None)
        if found is not None and found.outcome == "skipped":
            code, _, detail = found.reason.partition("{")
            raise ScheduleError(f"the run was refused: {detail.removesuffix('}') or code}", code=code)
        if found is None or found.state != "pending":
            return found is not None
        if time.monotonic() >= deadline:
            return False
        time.sleep(POLL_INTERVAL)


def backfill(
    store: ScheduleStore,
    wanted: str,
    first: float | str,
    last: float | str | None = None,
    *,
    actor: str,
    dry_run: bool = False,
) -> Backfilled:
    """Starts runs for the due times from the first to the last that have not fired. Texts are times in the zone of the
    schedule; a date as ``last`` is all of that day, and without it the backfill ends now. Raises ScheduleError for more
    than MAX_BACKFILL of them."""
    found = _starting(store, wanted)
    spec, now = found.spec, store.clock()
    begin = _instant(first, found, "first", BEGINNING)
    end = now if last is None else _last_instant(last, found)
    if begin > min(end, now):
        shown = last if isinstance(last, str) else iso_time(end, spec.timezone)
        why = "which has not come yet: name past times" if begin > now else f"after its end, {shown}: name that first"
        raise ScheduleError(
            f"the backfill begins at {iso_time(begin, spec.timezone)}, {why}", code="bad_backfill_range"
        )
    times = list(islice(due_times(spec, math.nextafter(begin, -math.inf), min(end, now)), MAX_BACKFILL + 1))
    if len(times) > MAX_BACKFILL:
        until, count = iso_time(times[-2], spec.timezone), count_due(spec, begin, min(end, now))
        many = f"{count:,}" if count < MAX_COUNTED else f"at least {MAX_COUNTED:,}"
        raise ScheduleError(
            f"the backfill has {many} due times, and one backfill has at most {MAX_BACKFILL:,}: the first of them end "
            f"at {until}; write that as the last time, and continue from there",
            code="backfill_too_large",
            limit=MAX_BACKFILL,
        )
    before = store.fired_due_times(found.id, times[0], times[-1]) if times else frozenset[float]()
    wanted_times = [due for due in times if due not in before]
    fires = [] if dry_run else _queued(wanted_times, one_by_one=spec.overlap != "allow")
    made = set(store.fire_schedule(found.id, "backfill", fires, actor)) if fires else set[str]()
    runs = {each.due_at: each.run_id for each in fires if each.run_id in made}
    return Backfilled(
        schedule_id=found.id,
        dry_run=dry_run,
        runs=len(wanted_times) if dry_run else len(runs),
        due_times=[
            BackfilledTime(
                due_at=due,
                local=iso_time(due, spec.timezone),
                run_id=runs.get(due),
                fired_before=due in before,
            )
            for due in times
        ],
    )


def _queued(times: Sequence[float], *, one_by_one: bool) -> list[NewFire]:
    """Returns a run for each due time; one by one, each begins when the one before has ended."""
    fires: list[NewFire] = []
    for due in times:
        waits_for = (fires[-1].run_id,) if one_by_one and fires else ()
        fires.append(NewFire(due_at=due, run_id=new_run_id(), waits_for=waits_for))
    return fires


def _starting(store: ScheduleStore, wanted: str) -> StoredSchedule:
    found = find(store, wanted)
    if found.spec.action != "start":
        raise ScheduleError(
            f"schedule {found.key} is there to {found.spec.action} runs: start one of its workflow instead",
            code="schedule_starts_no_runs",
        )
    return found


def _last_instant(value: float | str, schedule: StoredSchedule) -> float:
    """Returns the last instant of a backfill: of a date, the end of that day."""
    try:
        day = date.fromisoformat(value) if isinstance(value, str) else None
        following = None if day is None else day + timedelta(days=1)
    except (ValueError, OverflowError):
        following = None
    if following is None:
        return _instant(value, schedule, "last", END)
    return math.nextafter(_instant(following.isoformat(), schedule, "last", END), -math.inf)


def _instant(value: float | str, schedule: StoredSchedule, field: str, what: str) -> float:
    if not isinstance(value, str):
        return value
    try:
        return instant(value, schedule.spec.timezone)
    except InvalidWorkflow:
        raise InvalidInput(
            f'{what} is {value[:60]!r}: write a time such as "2026-12-01" or "2026-12-01T03:00:00+01:00"',
            code="bad_time",
            field=field,
        ) from None
