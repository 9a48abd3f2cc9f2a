"""Holds and reads schedules, and checks cron expressions."""

from __future__ import annotations

import re
from typing import Annotated, Any
from zoneinfo import ZoneInfo

import msgspec

from turnout.authoring.yaml.forms import Form, Schema, Several
from turnout.authoring.yaml.nodes import Node, Scalar, Table
from turnout.authoring.yaml.read_state import Reading
from turnout.authoring.yaml.tables import Key, TableForm

MACROS = frozenset(["@hourly", "@daily", "@midnight", "@weekly", "@monthly", "@yearly", "@annually"])

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


def cron_problem(expression: str) -> str | None:
    """Returns what is wrong with a cron expression of five fields, which a time zone may precede."""
    if zone := _ZONE.match(expression):
        if not _is_zone(zone[1]):
            return f"there is no time zone {zone[1]!r}; write one such as Europe/Berlin"
        expression = expression[zone.end() :]
    if expression.strip() in MACROS:
        return None
    fields = expression.split()
    if len(fields) != 5:
        return f"it has {len(fields)} fields; write five: minute, hour, day of the month, month, day of the week"
    for text, (name, least, most, words) in zip(fields, _FIELDS, strict=True):
        for part in text.split(","):
            if problem := _part_problem(part, least, most, words):
                return f"its {name} is {text!r}; {problem}"
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


def _is_zone(name: str) -> bool:
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        return False
    return True


class Cron(Form[str]):
    """A cron expression, as text or as a table with ``expression``."""

    text = "a cron expression of five fields, such as `0 2 * * *`"

    def read(self, node: Node, where: str, reading: Reading) -> str:
        match node:
            case Scalar(value=str() as expression):
                pass
            case Table(entries=(entry,)) if entry.key == "expression":
                return self.read(entry.node, f"{where}.expression", reading)
            case Table(entries=(one, two)) if {one.key, two.key} == {"kind", "expression"}:
                return self.read(one.node if one.key == "expression" else two.node, f"{where}.expression", reading)
            case _:
                raise self.misfit(node, where, reading)
        if problem := cron_problem(expression):
            why = f"{where} is {expression[:60]!r}, which is no cron expression: {problem}"
            raise reading.reject("bad_schedule", why, node.mark, where)
        return " ".join(expression.split())

    def schema(self, definitions: dict[str, Schema]) -> Schema:
        table: Schema = {
            "type": "object",
            "properties": {"kind": {"const": "cron"}, "expression": {"type": "string"}},
            "required": ["expression"],
            "additionalProperties": False,
        }
        return {"anyOf": [{"type": "string", "pattern": "\\S"}, table]}


TIMES = Several(Cron())


class Schedule(msgspec.Struct, frozen=True, kw_only=True):
    """Times at which runs start, stop and restart, as cron expressions of five fields."""

    start: Annotated[tuple[str, ...], Key(example='start: "0 8 * * 1-5"', form=TIMES)] = ()
    """Times at which a run starts."""
    stop: Annotated[tuple[str, ...], Key(example='stop: "0 18 * * 1-5"', form=TIMES)] = ()
    """Times at which open runs are cancelled."""
    restart: Annotated[tuple[str, ...], Key(example='restart: "0 0 * * *"', form=TIMES)] = ()
    """Times at which open runs are cancelled and a new one starts."""


class ScheduleForm(Form[Schedule]):
    """A cron expression, a list of them, or a table with ``start``, ``stop`` and ``restart``."""

    text = "a cron expression of five fields, a list of these, or a table with `start`, `stop` and `restart`"

    def __init__(self) -> None:
        self.table = TableForm(Schedule)

    def read(self, node: Node, where: str, reading: Reading) -> Schedule:
        if isinstance(node, Table) and not any(entry.key in ("expression", "kind") for entry in node.entries):
            return self.table.read(node, where, reading)
        return Schedule(start=TIMES.read(node, where, reading))

    def schema(self, definitions: dict[str, Schema]) -> Schema:
        return {"anyOf": [TIMES.schema(definitions), self.table.schema(definitions)]}


SCHEDULE: Form[Any] = ScheduleForm()
