"""Reads the arguments of a step, and the words of ``a NAME=b "c d"``."""

from __future__ import annotations

import re
import shlex
from typing import Any

import msgspec

from turnout.authoring.yaml.forms import Anything, Form, Schema
from turnout.authoring.yaml.marks import Mark
from turnout.authoring.yaml.nodes import Items, Node, Scalar, Table
from turnout.authoring.yaml.read_state import Reading

_NAMED = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(.*)", re.DOTALL)


COMMAND_SUBSTITUTION = re.compile(r"`[^`]+`|\$\([^)]+\)")


def refuse_commands(text: str, where: str, mark: Mark, reading: Reading, *, words: bool) -> None:
    """Reports a command between backticks or in ``$(…)``, which Dagu would run for a value: an error if it is the whole
    value or stands among ``words``, else a warning, since a text may have one."""
    found = COMMAND_SUBSTITUTION.search(text)
    if found is None:
        return
    shown, remedy = found[0][:60], "use it as `${NAME}`"
    if not words:
        remedy += "; a table with `default:` has the text itself"
    why = (
        f"{where} has the command {shown}, and no command is run for a parameter: set a variable under `env:`, where "
        f"{shown} is run with each step, and {remedy}"
    )
    if words or found[0] == text.strip():
        raise reading.reject("command_in_value", why, mark, where)
    reading.report("warning", "command_in_value", why, mark, where)


def tokens(text: str, where: str, mark: Mark, reading: Reading) -> list[tuple[str | None, str]]:
    """Returns the words of ``a B=c "d e"``: each value with its name, or None for one by position."""
    refuse_commands(text, where, mark, reading, words=True)
    try:
        words = shlex.split(text)
    except ValueError as error:
        why = f"{where} is {text[:60]!r}, which cannot be split into words: {str(error).lower()}"
        raise reading.reject("bad_value", why, mark, where) from None
    return [named(word) for word in words]


def named(word: str) -> tuple[str | None, str]:
    """Returns the name and the value of ``NAME=value``; of another text None and the text."""
    match = _NAMED.fullmatch(word)
    return (match[1], match[2]) if match else (None, word)


class Arguments(msgspec.Struct, frozen=True):
    """The ``params`` of a step: what a sub-workflow, a handler or a Python task is called with."""

    positional: tuple[Any, ...] = ()
    named: dict[str, Any] = {}


class ArgumentsForm(Form[Arguments]):
    """Words by position or as ``NAME=value``, a list of these and of tables, or a table."""

    text = "words such as `a NAME=b`, a list of these, or a table of names and values"

    def read(self, node: Node, where: str, reading: Reading) -> Arguments:
        positional: list[Any] = []
        by_name: dict[str, Any] = {}
        entries = [(f"{where}[{n}]", each) for n, each in enumerate(node.nodes)] if isinstance(node, Items) else []
        for path, each in entries or ([] if isinstance(node, Items) else [(where, node)]):
            match each:
                case Scalar(value=str() as text):
                    words = [named(text)] if entries else tokens(text, path, each.mark, reading)
                    for name, value in words:
                        if name is None:
                            positional.append(value)
                        else:
                            by_name[name] = value
                case Scalar(value=value) if value is not None:
                    positional.append(value)
                case Table():
                    by_name |= Anything().read(each, path, reading)
                case _:
                    raise self.misfit(each, path, reading)
        return Arguments(tuple(positional), by_name)

    def schema(self, definitions: dict[str, Schema]) -> Schema:
        word: Schema = {"type": ["string", "number", "boolean"]}
        return {"anyOf": [word, {"type": "object"}, {"type": "array", "items": {"anyOf": [word, {"type": "object"}]}}]}


ARGUMENTS = ArgumentsForm()
