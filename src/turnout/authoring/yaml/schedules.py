"""Holds and reads schedules."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from turnout.authoring import schedules
from turnout.authoring.yaml.forms import Anything, Form, Schema, Several, Text
from turnout.authoring.yaml.nodes import Node, Scalar, Table
from turnout.authoring.yaml.read_state import Reading
from turnout.authoring.yaml.tables import Key, TableForm
from turnout.errors import InvalidWorkflow
from turnout.model.cron import zone_problem
from turnout.model.durations import UNITS
from turnout.model.names import IDENTIFIER
from turnout.model.schedules import DEFAULT_MAX_CATCH_UP, MAX_CATCH_UP, Action, CatchUp, Overlap


class DurationForm(Text):
    """A number of seconds, or text with units."""

    def __init__(self) -> None:
        part = rf"[0-9]+(?:\.[0-9]+)?\s*(?:{'|'.join(UNITS)})\s*"
        super().__init__(
            "a number of seconds, or text such as `30s`, `5m` or `1h30m`", pattern=rf"[0-9]+(?:\.[0-9]+)?|(?:{part})+"
        )

    def schema(self, definitions: dict[str, Schema]) -> Schema:
        return {"anyOf": [{"type": "number", "minimum": 0}, super().schema(definitions)]}


class ZoneForm(Text):
    """The name of a time zone."""

    def __init__(self) -> None:
        super().__init__("the name of a time zone, such as `Europe/Rome`", least=1)

    def read(self, node: Node, where: str, reading: Reading) -> str:
        zone = super().read(node, where, reading)
        if problem := zone_problem(zone):
            raise reading.reject(problem.code, f"{where} is {zone[:60]!r}: {problem.message}", node.mark, where)
        return zone


DURATION = DurationForm()
ZONE = ZoneForm()
_NAME = Text("letters, digits, _, . and -, a letter or _ first", pattern=IDENTIFIER.pattern)


class ParamsForm(Form[dict[str, Any]]):
    text = "a table of names and values"

    def read(self, node: Node, where: str, reading: Reading) -> dict[str, Any]:
        if not isinstance(node, Table):
            raise self.misfit(node, where, reading)
        return Anything().read(node, where, reading)

    def schema(self, definitions: dict[str, Schema]) -> Schema:
        return {"type": "object"}


class ScheduleEntry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One schedule: a table with one of ``cron``, ``every`` and ``at``."""

    cron: Annotated[str | None, Key(example='cron: "0 8 * * 1-5"', also=("expression",))] = None
    """Minute, hour, day of the month, month and day of the week; ``CRON_TZ=Europe/Berlin`` may precede them."""
    every: Annotated[str | None, Key(example="every: 5m", form=DURATION)] = None
    """The time between two due times, counted from the epoch: ``1h`` is every full hour of UTC."""
    at: Annotated[str | None, Key(example='at: "2026-12-01T03:00"')] = None
    """The only due time: local time, or a time with an offset."""
    timezone: Annotated[str | None, Key(example="timezone: Europe/Rome")] = None
    """The time zone of ``cron`` and ``at``; without one that of the workflow, else UTC."""
    name: Annotated[str | None, Key(example="name: nightly", form=_NAME)] = None
    """Identifies the schedule; without one its action and position, such as ``start-1``."""
    params: Annotated[dict[str, Any], Key(example='params: {DATE: "${due_date}"}', form=ParamsForm())] = {}
    """The parameters of the runs; ``${due_at}`` and ``${due_date}`` are the local time and date of the due time."""
    catch_up: Annotated[CatchUp, Key(example="catch_up: latest")] = "skip"
    """The missed due times that start a run all the same."""
    max_catch_up: Annotated[int, Meta(ge=1, le=MAX_CATCH_UP), Key(example="max_catch_up: 24")] = DEFAULT_MAX_CATCH_UP
    """With ``catch_up: all``, the number of missed due times that are caught up."""
    overlap: Annotated[Overlap, Key(example="overlap: queue")] = "skip"
    """What is done if an earlier run of the schedule has not ended."""
    jitter: Annotated[str, Key(example="jitter: 30s", form=DURATION)] = "0"
    """Each due time is acted on later by up to this long."""
    skip_if_successful: Annotated[bool, Key(example="skip_if_successful: true")] = False
    """True: a due time is skipped if a run that was started otherwise has completed since the previous one."""
    kind: Annotated[str, Meta(pattern="cron|at"), Key(example="kind: cron")] = ""
    """``cron`` or ``at``, which the other keys say as well."""

    def schedule(self, action: Action = "start") -> schedules.Schedule:
        """Returns the schedule as an author of a Python workflow would write it."""
        return schedules.Schedule(
            self.cron,
            every=duration_of(self.every),
            at=self.at,
            timezone=self.timezone,
            name=self.name,
            action=action,
            params=self.params,
            catch_up=self.catch_up,
            max_catch_up=self.max_catch_up,
            overlap=self.overlap,
            jitter=duration_of(self.jitter) or 0,
            skip_if_successful=self.skip_if_successful,
        )


def duration_of(text: str | None) -> float | str | None:
    return float(text) if text is not None and text.replace(".", "", 1).isdigit() else text


class EntryForm(Form[ScheduleEntry]):
    """A cron expression, or a table."""

    text = "a cron expression of five fields, such as `0 2 * * *`, or a table with `cron`, `every` or `at`"

    def __init__(self) -> None:
        self.table = TableForm(ScheduleEntry)

    def read(self, node: Node, where: str, reading: Reading) -> ScheduleEntry:
        match node:
            case Scalar(value=str() as expression):
                entry = ScheduleEntry(cron=" ".join(expression.split()))
            case Table():
                entry = self.table.read(node, where, reading)
            case _:
                raise self.misfit(node, where, reading)
        if entry.kind and getattr(entry, entry.kind) is None:
            why = f"{where} has the kind {entry.kind} and no `{entry.kind}`"
            raise reading.reject("bad_schedule", why, node.mark, where)
        try:
            entry.schedule().spec("start-1")
        except InvalidWorkflow as error:
            field = error.fields.get("field", "")
            place = f"{where}.{field}" if f"{where}.{field}" in reading.places else where
            raise reading.reject(
                error.code, f"{where}: {error.message}", reading.places.get(place, node.mark), place
            ) from None
        return entry

    def schema(self, definitions: dict[str, Schema]) -> Schema:
        return {"anyOf": [{"type": "string", "pattern": "\\S"}, self.table.schema(definitions)]}


ENTRIES = Several(EntryForm(), most=schedules.MAX_SCHEDULES)


class Schedule(msgspec.Struct, frozen=True, kw_only=True):
    """Times at which runs start, stop and restart, each a cron expression or a table."""

    start: Annotated[tuple[ScheduleEntry, ...], Key(example='start: "0 8 * * 1-5"', form=ENTRIES)] = ()
    """Times at which a run starts."""
    stop: Annotated[tuple[ScheduleEntry, ...], Key(example='stop: "0 18 * * 1-5"', form=ENTRIES)] = ()
    """Times at which the open runs of the workflow are cancelled."""
    restart: Annotated[tuple[ScheduleEntry, ...], Key(example='restart: "0 0 * * *"', form=ENTRIES)] = ()
    """Times at which the open runs are cancelled, and a new one starts when they have ended."""

    def all(self) -> list[schedules.Schedule]:
        """Returns the schedules of all actions."""
        actions: dict[Action, tuple[ScheduleEntry, ...]] = {
            "start": self.start,
            "stop": self.stop,
            "restart": self.restart,
        }
        return [each.schedule(action) for action, entries in actions.items() for each in entries]


class ScheduleForm(Form[Schedule]):
    """An entry, a list of them, or a table with ``start``, ``stop`` and ``restart``."""

    text = (
        "a cron expression of five fields, a table with `cron`, `every` or `at`, a list of these, or a table with "
        "`start`, `stop` and `restart`"
    )

    def __init__(self) -> None:
        self.table = TableForm(Schedule)

    def read(self, node: Node, where: str, reading: Reading) -> Schedule:
        if isinstance(node, Table) and (
            not node.entries or any(entry.key in self.table.fields for entry in node.entries)
        ):
            return self._named(self.table.read(node, where, reading), node, where, reading)
        return self._named(Schedule(start=ENTRIES.read(node, where, reading)), node, where, reading)

    def _named(self, schedule: Schedule, node: Node, where: str, reading: Reading) -> Schedule:
        try:
            schedules.schedule_specs(schedule.all(), schedules.DEFAULT_TIMEZONE)
        except InvalidWorkflow as error:
            raise reading.reject(error.code, error.message, node.mark, where) from None
        return schedule

    def schema(self, definitions: dict[str, Schema]) -> Schema:
        return {"anyOf": [ENTRIES.schema(definitions), self.table.schema(definitions)]}


SCHEDULE: Form[Any] = ScheduleForm()
