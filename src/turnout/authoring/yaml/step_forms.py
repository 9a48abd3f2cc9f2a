"""Reads the steps of a workflow file, and its handlers, before their names and dependencies are resolved."""

from __future__ import annotations

from typing import Any

import msgspec

from turnout.authoring.yaml.forms import Form, Schema
from turnout.authoring.yaml.marks import Mark
from turnout.authoring.yaml.nodes import Items, Node, Scalar, Table, is_null
from turnout.authoring.yaml.read_state import Reading, Rejected, unique
from turnout.authoring.yaml.steps import ACTIONS, StepDocument
from turnout.authoring.yaml.tables import TableForm
from turnout.authoring.yaml.unsupported import UNSUPPORTED_STEP_KEYS

MAX_STEPS = 1_000


class RawStep(msgspec.Struct, frozen=True):
    """The keys of a step that were written and could be read."""

    fields: dict[str, Any]
    where: str
    mark: Mark


class StepForm(Form[RawStep]):
    """A command, or a table.

    What can be read of a step with problems is returned, so that its name and dependencies are checked as well; a
    document with an error is not used in the end.
    """

    text = "a command line, or a table"

    def __init__(self) -> None:
        self.table = TableForm(StepDocument, "a step", UNSUPPORTED_STEP_KEYS)

    def read(self, node: Node, where: str, reading: Reading) -> RawStep:
        match node:
            case Scalar(value=str() as line) if line.strip():
                return RawStep({"command": (line,)}, where, node.mark)
            case Table():
                fields, sound = self.table.read_sound(node, where, reading)
                self._check_action(node, where, reading, sound)
                return RawStep(fields, where, node.mark)
            case _:
                raise self.misfit(node, where, reading)

    def _check_action(self, node: Table, where: str, reading: Reading, sound: bool) -> None:
        """Reports a step that does nothing, or several things. One with an unknown key may only be misspelled."""
        written = {entry.key for entry in node.entries if not is_null(entry.node)}
        actions = [each for each in ACTIONS if written.intersection(self.table.fields[each].names)]
        if actions == ["command", "script"] or len(actions) == 1:
            return
        if actions:
            why = f"{where} has {' and '.join(f'`{each}`' for each in actions)}: a step does one of these"
            reading.report("error", "several_actions", why, reading.places[f"{where}.{actions[1]}"], where)
        elif sound:
            why = f"{where} does nothing: write one of {', '.join(f'`{each}`' for each in ACTIONS)}"
            reading.report("error", "no_action", why, node.mark, where)

    def schema(self, definitions: dict[str, Schema]) -> Schema:
        return {"anyOf": [{"type": "string", "pattern": "\\S"}, self.table.schema(definitions)]}


STEP = StepForm()


class StepsForm(Form[tuple[tuple[RawStep, ...], ...]]):
    """A list of steps, or a table of steps by their names. In a chain, the steps of a list inside of it run at once."""

    text = "a list of steps, or a table of steps by their names"

    def read(self, node: Node, where: str, reading: Reading) -> tuple[tuple[RawStep, ...], ...]:
        groups = tuple(self._group(*each, reading) for each in self._entries(node, where, reading))
        count = sum(map(len, groups))
        if not 0 < count <= MAX_STEPS:
            why = f"{where} has {count:,} steps: write 1 to {MAX_STEPS:,}"
            raise reading.reject("bad_value", why, node.mark, where)
        return groups

    def _entries(self, node: Node, where: str, reading: Reading) -> list[tuple[str, Node, str]]:
        """Returns the path, the node and the name of every entry; in a list they have no names."""
        match node:
            case Items(nodes=nodes):
                return [(f"{where}[{number}]", each, "") for number, each in enumerate(nodes)]
            case Table():
                return [(f"{where}.{entry.key}", entry.node, entry.key) for entry in unique(node, where, reading)]
            case Scalar():
                raise self.misfit(node, where, reading)

    def _group(self, where: str, node: Node, name: str, reading: Reading) -> tuple[RawStep, ...]:
        reading.places[where] = node.mark
        if isinstance(node, Items) and node.nodes and not name:
            inner = (self._group(f"{where}[{number}]", each, " ", reading) for number, each in enumerate(node.nodes))
            return tuple(step for group in inner for step in group)
        try:
            step = STEP.read(node, where, reading)
        except Rejected:
            return (RawStep({}, where, node.mark),)
        return (msgspec.structs.replace(step, fields={"name": name, **step.fields}) if name.strip() else step,)

    def schema(self, definitions: dict[str, Schema]) -> Schema:
        step = STEP.schema(definitions)
        item: Schema = {"anyOf": [step, {"type": "array", "items": step, "minItems": 1}]}
        table: Schema = {"type": "object", "additionalProperties": step, "minProperties": 1}
        return {"anyOf": [{"type": "array", "items": item, "minItems": 1}, table]}


STEPS = StepsForm()
