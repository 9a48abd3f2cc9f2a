"""Shows schedules, their next due times and past decisions: for the API and for commands."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, cast, get_args

import msgspec

from turnout.contracts.store import ScheduleStore
from turnout.errors import InvalidInput, ScheduleNotFound
from turnout.model.schedule_decisions import ON_TIME, Outcome
from turnout.model.schedule_rows import DecisionRow, StoredSchedule
from turnout.model.schedules import Action, CatchUp, Overlap, ScheduleSpec, acted_on_at, due_times, iso_time

MAX_NEXT = 1_000
MAX_ID_LENGTH = 18
PAGE = 1_000


class DeclaredSchedule(msgspec.Struct, frozen=True, kw_only=True):
    """A schedule, as its workflow declares it."""

    name: str
    action: Action
    expression: str
    """The times: five fields of cron, ``every 300s`` or ``at`` with a time."""
    timezone: str
    params: dict[str, Any]
    """The input of its runs."""
    catch_up: CatchUp
    max_catch_up: int
    overlap: Overlap
    jitter: float
    """Seconds."""
    skip_if_successful: bool


class ScheduleView(DeclaredSchedule, frozen=True, kw_only=True):
    """A schedule, as it is shown."""

    id: int
    workflow: str
    """The full name of its workflow."""
    paused: bool
    next_at: float | None
    """When it acts next; null while it is paused, and if there is no further due time."""
    decided_until: float
    """All due times up to this one are decided."""
    changed_at: float
    changed_by: str
    """``definition``, or the operator that paused or resumed it."""


class NextFire(msgspec.Struct, frozen=True, kw_only=True):
    """A due time that has not come yet."""

    schedule_id: int
    workflow: str
    name: str
    action: Action
    due_at: float
    acts_at: float
    """Later than ``due_at`` by the jitter of the schedule."""
    local: str
    """``due_at`` in the time zone of the schedule."""


def declared(spec: ScheduleSpec) -> DeclaredSchedule:
    """Returns the schedule of a workflow as it is shown."""
    return DeclaredSchedule(**_declared_fields(spec))


def view(schedule: StoredSchedule) -> ScheduleView:
    """Returns the schedule as it is shown."""
    return ScheduleView(
        **_declared_fields(schedule.spec),
        id=schedule.id,
        workflow=schedule.workflow,
        paused=schedule.paused,
        next_at=schedule.next_at,
        decided_until=schedule.decided_until,
        changed_at=schedule.changed_at,
        changed_by=schedule.changed_by,
    )


def _declared_fields(spec: ScheduleSpec) -> dict[str, Any]:
    return {field: getattr(spec, field) for field in DeclaredSchedule.__struct_fields__}


def find(store: ScheduleStore, wanted: str) -> StoredSchedule:
    """Returns the schedule with this id, this ``workflow/name``, or the only one of this workflow."""
    if wanted.isascii() and wanted.isdigit() and len(wanted) <= MAX_ID_LENGTH:
        found = [each for each in store.schedules_by_id([int(wanted)]) if not each.removed]
    else:
        workflow, _, name = wanted.partition("/")
        found = store.schedules_page(workflow=workflow or wanted, name=name or None, limit=10)
    if len(found) > 1:
        names = ", ".join(each.key for each in found)
        raise ScheduleNotFound(f"several schedules are {wanted!r}: give one of {names}", code="ambiguous_schedule")
    if not found:
        raise ScheduleNotFound(f"there is no schedule {wanted[:200]!r}")
    return found[0]


def all_schedules(store: ScheduleStore, workflow: str | None = None) -> list[ScheduleView]:
    """Returns all schedules, or those of one workflow, by id."""
    found: list[StoredSchedule] = []
    while page := store.schedules_page(after=found[-1].id if found else 0, limit=PAGE, workflow=workflow):
        found += page
    return [view(each) for each in found]


def next_fires(
    store: ScheduleStore,
    wanted: str | None,
    limit: int,
    *,
    first: float = 0.0,
    last: float = math.inf,
    each_at_most: int | None = None,
) -> list[NextFire]:
    """Returns the due times that come next, from the first to the last of these times: of one schedule, or of all, with
    ``each_at_most`` of each.

    With a first time in the future, the schedules that are looked at are the MAX_NEXT that are due first."""
    now = store.clock()
    if first > now:
        found = store.upcoming_schedules(MAX_NEXT, since=now - ON_TIME) if wanted is None else [find(store, wanted)]
        return _earliest(found, first, last, limit, each_at_most)
    # A schedule whose first due time is behind that of ``limit`` others has none among the first ``limit``. One that is
    # long overdue has no server.
    schedules = store.upcoming_schedules(limit, since=now - ON_TIME) if wanted is None else [find(store, wanted)]
    return _earliest(schedules, now - ON_TIME, last, limit, each_at_most)


def _earliest(
    schedules: Iterable[StoredSchedule], after: float, until: float, limit: int, each_at_most: int | None
) -> list[NextFire]:
    fires = (islice(_fires(each, after, until), each_at_most) for each in schedules if each.next_at is not None)
    return list(islice(heapq.merge(*fires, key=_acts_at), limit))


def past_decisions(store: ScheduleStore, wanted: str, limit: int, outcome: str | None = None) -> list[DecisionRow]:
    """Returns the newest decisions about the due times of a schedule, newest first."""
    if outcome is not None and outcome not in get_args(Outcome):
        raise InvalidInput(f"outcome is {outcome!r}: write fired or skipped", field="outcome")
    return store.schedule_decisions(find(store, wanted).id, limit=limit, outcome=cast("Outcome | None", outcome))


def _acts_at(fire: NextFire) -> float:
    return fire.acts_at


def _fires(schedule: StoredSchedule, after: float, until: float) -> Iterator[NextFire]:
    spec = schedule.spec
    for due in due_times(spec, max(schedule.decided_until, after), until):
        yield NextFire(
            schedule_id=schedule.id,
            workflow=schedule.workflow,
            name=spec.name,
            action=spec.action,
            due_at=due,
            acts_at=acted_on_at(spec, schedule.key, due) or due,
            local=iso_time(due, spec.timezone),
        )
