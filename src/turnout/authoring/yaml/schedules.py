"""Holds and reads schedules."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from turnout.authoring.yaml.forms import Form, Schema, Several
from turnout.authoring.yaml.nodes import Node, Scalar, Table
from turnout.authoring.yaml.read_state import Reading
from turnout.authoring.yaml.tables import Key, TableForm
from turnout.model.cron import cron_problem


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
