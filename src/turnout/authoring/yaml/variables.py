"""Reads environment variables, and the names of those that get their values from outside of the file."""

from __future__ import annotations

import re

import msgspec

from turnout.authoring.yaml.forms import Form, Schema, Text
from turnout.authoring.yaml.marks import Mark
from turnout.authoring.yaml.nodes import Items, Node, Scalar, Table, is_null
from turnout.authoring.yaml.read_state import Reading, Rejected, unique
from turnout.model.variables import VARIABLE, is_variable, refused_variable


class Variable(msgspec.Struct, frozen=True):
    """One entry of ``env``. Entries are evaluated in order, so a value may use the names before it."""

    name: str
    value: str
    """The text as it was written, with its ``${…}``."""


class ReceivingName(Text):
    """The name of a variable whose value comes from outside of the file."""

    def __init__(self) -> None:
        super().__init__("the name of a variable, such as `REGION`", pattern=VARIABLE)

    def read(self, node: Node, where: str, reading: Reading) -> str:
        name = super().read(node, where, reading)
        check_receiving(name, where, node.mark, reading)
        return name


def check_receiving(name: str, where: str, mark: Mark, reading: Reading) -> None:
    """Reports a name that is no variable, or one that no outside value may set."""
    if not is_variable(name):
        why = f"{where} is {name[:60]!r}: write the name of a variable, letters, digits and _, such as `REGION`"
        raise reading.reject("bad_name", why, mark, where)
    if refused_variable(name):
        why = f"{where} is {name!r}, which changes how programs start: choose another name"
        raise reading.reject("refused_name", why, mark, where)


class OutputName(ReceivingName):
    """The name of the variable that gets an output; ``$NAME`` and ``${NAME}`` are read as ``NAME``."""

    def read(self, node: Node, where: str, reading: Reading) -> str:
        if isinstance(node, Scalar) and (found := re.fullmatch(r"\$(?:\{(\w+)\}|(\w+))", node.text)):
            name = found[1] or found[2]
            return super().read(Scalar(name, name, node.mark), where, reading)
        return super().read(node, where, reading)

    def schema(self, definitions: dict[str, Schema]) -> Schema:
        return {"type": "string", "pattern": f"^(?:{VARIABLE}|\\$\\{{?{VARIABLE}\\}}?)$"}


class EnvForm(Form[tuple[Variable, ...]]):
    """A table, a list of tables, or a list of ``NAME=value``; the order is kept, and a later value wins."""

    text = "a table of variables, or a list of `NAME: value` or `NAME=value`"

    def read(self, node: Node, where: str, reading: Reading) -> tuple[Variable, ...]:
        if not isinstance(node, Items):
            return tuple(self._variables(node, where, where, reading))
        found: list[Variable] = []
        sound = True
        for number, each in enumerate(node.nodes):
            try:
                found += self._variables(each, f"{where}[{number}]", where, reading)
            except Rejected:
                sound = False
        if not sound:
            raise Rejected
        return tuple(found)

    def _variables(self, node: Node, where: str, env: str, reading: Reading) -> list[Variable]:
        found: list[Variable] = []
        pairs = self._pairs(node, where, reading)
        for name, value, mark in pairs:
            try:
                text = "" if is_null(value) else Text().read(value, f"{where}.{name}", reading)
                found.append(Variable(self._name(name, where, mark, reading), text))
                reading.places[f"{env}.{name}"] = value.mark
            except Rejected:
                continue
        if len(found) < len(pairs):
            raise Rejected
        return found

    def _pairs(self, node: Node, where: str, reading: Reading) -> list[tuple[str, Node, Mark]]:
        match node:
            case Scalar(value=str() as text) if "=" in text:
                name, _, value = text.partition("=")
                return [(name.strip(), Scalar(value, value, node.mark), node.mark)]
            case Table():
                return [(entry.key, entry.node, entry.mark) for entry in unique(node, where, reading)]
            case _:
                raise self.misfit(node, where, reading)

    def _name(self, name: str, where: str, mark: Mark, reading: Reading) -> str:
        if not is_variable(name):
            why = f"{where} has the name {name[:60]!r}: write letters, digits and _, such as `REGION`"
            raise reading.reject("bad_name", why, mark, where)
        return name

    def schema(self, definitions: dict[str, Schema]) -> Schema:
        value: Schema = {"type": ["string", "number", "boolean", "null"]}
        table: Schema = {"type": "object", "propertyNames": {"pattern": f"^{VARIABLE}$"}, "additionalProperties": value}
        line: Schema = {"type": "string", "pattern": f"^\\s*{VARIABLE}\\s*="}
        return {"anyOf": [table, line, {"type": "array", "items": {"anyOf": [table, line]}}]}


ENV = EnvForm()
OUTPUT = OutputName()
RECEIVING_NAME = ReceivingName()
