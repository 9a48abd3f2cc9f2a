"""Holds the schedules of workflows as authors write them, checks them, and translates them for the store."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from datetime import datetime, tzinfo
from typing import Any, NoReturn, TypeAlias, get_args
from zoneinfo import ZoneInfo

import msgspec

from turnout.errors import InvalidWorkflow
from turnout.model.cron import cron_fields, cron_problem, zone_problem
from turnout.model.durations import Duration, seconds
from turnout.model.names import is_identifier, suggest
from turnout.model.schedules import (
    DEFAULT_MAX_CATCH_UP,
    MAX_CATCH_UP,
    MAX_JITTER,
    Action,
    CatchUp,
    Overlap,
    ScheduleSpec,
)

DEFAULT_TIMEZONE = "UTC"
MAX_SCHEDULES = 100
"""Schedules of one workflow."""
DUE = ("due_at", "due_date")
_REFERENCE = re.compile(r"\$\{([^}]*)\}")
MIN_EVERY, MAX_EVERY = 1.0, 366 * 86_400.0


class Schedule(msgspec.Struct, frozen=True):
    """The times at which a workflow runs by itself: ``Schedule("0 3 * * *")``, ``Schedule(every="5m")`` or
    ``Schedule(at="2026-12-01T03:00")``.

    >>> Schedule("0 3 * * *", timezone="Europe/Rome").spec("start-1").expression
    '0 3 * * *'
    >>> Schedule(every="1h30m", overlap="queue").spec("start-1").every
    5400
    """

    cron: str | None = None
    """Five fields (minute, hour, day of the month, month, day of the week), or a word such as ``@daily``."""
    every: Duration | None = None
    """The time between two due times, in whole seconds. They are counted from the epoch: ``"1h"`` is every full hour of
    UTC."""
    at: str | datetime | None = None
    """The only due time. Text or a datetime without an offset is local time."""
    timezone: str | None = None
    """The time zone of ``cron`` and ``at``, by default that of the workflow, else UTC."""
    name: str | None = None
    """Identifies the schedule within its workflow; by default ``start-1``, ``start-2``, ``stop-1`` by position. Its
    pause and its history stay with the name."""
    action: Action = "start"
    """``"start"`` starts a run, ``"stop"`` cancels the open runs of the workflow, ``"restart"`` cancels them and starts
    a run when they have ended."""
    params: Mapping[str, Any] = {}
    """The input of the runs. ``${due_at}`` and ``${due_date}`` in texts are the local time and date of the due time."""
    catch_up: CatchUp = "skip"
    """Due times that were missed: ``"skip"`` them, start a run for the ``"latest"``, or for ``"all"``."""
    max_catch_up: int = DEFAULT_MAX_CATCH_UP
    """With ``catch_up="all"``: the number of missed due times that are caught up, the newest."""
    overlap: Overlap = "skip"
    """If an earlier run of the schedule has not ended: ``"skip"`` the due time, ``"queue"`` the run behind it,
    ``"cancel_previous"``, or ``"allow"`` both."""
    jitter: Duration = 0
    """Each due time is acted on later by up to this long, the same on all servers."""
    skip_if_successful: bool = False
    """True: a due time is skipped if a run that this schedule did not start has completed since the previous one."""

    def spec(self, name: str, timezone: str = DEFAULT_TIMEZONE) -> ScheduleSpec:
        """Returns the checked schedule; ``name`` and ``timezone`` if it has none of its own. Raises InvalidWorkflow."""
        given = [field for field in ("cron", "every", "at") if getattr(self, field) is not None]
        if len(given) != 1:
            many = f"both {' and '.join(given)}" if given else "no time"
            right = 'write one of cron ("0 3 * * *"), every ("5m") and at ("2026-12-01T03:00")'
            raise InvalidWorkflow(f"the schedule has {many}: {right}", code="bad_schedule", field="schedule")
        fields, zone = "", None
        if self.cron is not None:
            expression = str(self.cron)
            if problem := cron_problem(expression):
                refuse("cron", expression, problem.message, problem.code)
            fields, zone = cron_fields(expression)
        zone = self.timezone or zone or timezone
        if problem := zone_problem(zone):
            refuse("timezone", zone, problem.message, problem.code)
        return ScheduleSpec(
            name=self._name(name),
            cron=fields,
            every=self._every(),
            at=None if self.at is None else instant(self.at, zone),
            timezone=zone,
            action=_choice("action", self.action, Action),
            params=_references(_json(self.params)),
            catch_up=_choice("catch_up", self.catch_up, CatchUp),
            max_catch_up=_whole("max_catch_up", self.max_catch_up, 1, MAX_CATCH_UP),
            overlap=_choice("overlap", self.overlap, Overlap),
            jitter=self._jitter(),
            skip_if_successful=bool(self.skip_if_successful),
        )

    def _name(self, default: str) -> str:
        name = default if self.name is None else self.name
        if not is_identifier(name):
            refuse("name", name, "write letters, digits, _, . and -, a letter or _ first")
        return name

    def _every(self) -> int:
        if self.every is None:
            return 0
        found = seconds(self.every, "every")
        if not (MIN_EVERY <= found <= MAX_EVERY and found == int(found)):
            refuse("every", self.every, "write whole seconds, from 1s to 366d")
        return int(found)

    def _jitter(self) -> float:
        found = seconds(self.jitter, "jitter")
        most = MAX_JITTER if self.every is None else min(MAX_JITTER, seconds(self.every))
        if found > most:
            beyond = "" if self.every is None else "; it cannot be longer than `every`"
            refuse("jitter", self.jitter, f"write at most {most:g}s{beyond}")
        return found


Scheduled: TypeAlias = str | Schedule | Sequence[str | Schedule] | None
"""A cron expression, a schedule, or a list of these."""


def schedule_specs(given: Scheduled, timezone: str, workflow: str = "") -> tuple[ScheduleSpec, ...]:
    """Returns the checked schedules of a workflow, each with a name of its own. Errors begin with the workflow's name,
    if it is given."""
    try:
        return _specs(given, timezone)
    except InvalidWorkflow as error:
        if not workflow:
            raise
        raise InvalidWorkflow(f"workflow {workflow!r}: {error.message}", code=error.code, **error.fields) from None


def _specs(given: Scheduled, timezone: str) -> tuple[ScheduleSpec, ...]:
    entries: list[Any] = [given]
    if given is None or (isinstance(given, Sequence) and not isinstance(given, str)):
        entries = list(given or ())
    if len(entries) > MAX_SCHEDULES:
        refuse("schedule", f"{len(entries):,} schedules", f"write at most {MAX_SCHEDULES} for one workflow")
    found: dict[str, ScheduleSpec] = {}
    count: dict[str, int] = {}
    for entry in entries:
        if not isinstance(entry, str | Schedule):
            refuse("schedule", entry, "write a cron expression, a Schedule(…), or a list of these")
        each = Schedule(entry) if isinstance(entry, str) else entry
        count[each.action] = count.get(each.action, 0) + 1
        spec = each.spec(f"{each.action}-{count[each.action]}", timezone)
        if spec.name in found:
            refuse("name", spec.name, "another schedule of the workflow has this name", "duplicate_schedule")
        found[spec.name] = spec
    return tuple(found.values())


def checked_timezone(zone: Any, workflow: str) -> str:
    """Returns the time zone of a workflow. Raises InvalidWorkflow for one that does not exist."""
    if problem := zone_problem(zone):
        refuse(f"timezone of workflow {workflow!r}", zone, problem.message, problem.code)
    return zone


def instant(value: str | datetime, zone: str) -> float:
    """Returns the instant of a local time, or of one with an offset. A local time that exists twice is the first. One
    that does not exist is the first moment after the gap, as for cron."""
    try:
        found = value if isinstance(value, datetime) else datetime.fromisoformat(value)
        if found.tzinfo is not None:
            return found.timestamp()
        local = found.replace(tzinfo=ZoneInfo(zone), fold=0)
        after, before = local.timestamp(), local.replace(fold=1).timestamp()
        return after if before >= after else _transition(before, after, local.tzinfo)
    except (TypeError, ValueError, OverflowError):
        refuse("at", value, 'write a time such as "2026-12-01T03:00" or "2026-12-01T03:00:00+01:00"')


def _transition(before: float, after: float, zone: tzinfo | None) -> float:
    """Returns the instant between two at which the offset of the zone changes."""
    low, high, offset = math.floor(before), math.ceil(after), datetime.fromtimestamp(before, zone).utcoffset()
    while high - low > 1:
        middle = (low + high) // 2
        if datetime.fromtimestamp(middle, zone).utcoffset() == offset:
            low = middle
        else:
            high = middle
    return float(high)


def refuse(field: str, value: object, right: str, code: str = "bad_schedule") -> NoReturn:
    raise InvalidWorkflow(f"{field} is {str(value)[:60]!r}: {right}", code=code, field=field, value=str(value)[:200])


def _choice(field: str, value: Any, kind: Any) -> Any:
    words = get_args(kind)
    if value not in words:
        refuse(field, value, f"write {', '.join(words[:-1])} or {words[-1]}")
    return value


def _whole(field: str, value: Any, least: int, most: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        refuse(field, value, f"write a whole number from {least} to {most:,}")
    return value


def _references(value: Any) -> Any:
    """Returns the parameters. Raises InvalidWorkflow for a ``${…}`` in a text that is none of a due time: runs would
    get it as it is."""
    match value:
        case str():
            for found in _REFERENCE.finditer(value):
                if found[1] not in DUE:
                    why = f"{found[0]} is not known{suggest(found[1], DUE)}"
                    refuse("params", value, why, "bad_schedule_params")
        case list():
            for each in value:
                _references(each)
        case dict():
            for each in value.values():
                _references(each)
        case _:
            pass
    return value


def _json(params: Mapping[str, Any]) -> dict[str, Any]:
    try:
        return msgspec.json.decode(msgspec.json.encode(dict(params)), type=dict[str, Any])
    except (TypeError, ValueError, RecursionError, msgspec.MsgspecError):
        refuse("params", params, "write a table of names and JSON values")
