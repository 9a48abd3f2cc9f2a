"""Reads command lines, programs with their arguments, and shells."""

from __future__ import annotations

import shlex
from typing import TypeAlias

from turnout.authoring.yaml.forms import Form, Schema, Several, Text
from turnout.authoring.yaml.nodes import Items, Node, Scalar, shown
from turnout.authoring.yaml.read_state import Reading

Command: TypeAlias = str | tuple[str, ...]
"""A line for the shell, or a program with its arguments, which no shell sees."""

_LINE = Text("a command line", least=1)
_WORDS = Several(Text("a word"), "a list of words", least=1)


class CommandForm(Form[tuple[Command, ...]]):
    """A line, a program with its arguments, or several of these.

    A list of texts is one program with its arguments if its first text is one word, else a list of lines. A list inside
    of the list is always a program with its arguments, and the texts beside it are lines.
    """

    text = "a command line, a list of a program and its arguments, or a list of command lines"

    def read(self, node: Node, where: str, reading: Reading) -> tuple[Command, ...]:
        if isinstance(node, Scalar):
            return (self._line(node, where, reading),)
        if not isinstance(node, Items) or not node.nodes:
            raise self.misfit(node, where, reading)
        first = node.nodes[0]
        if all(isinstance(each, Scalar) for each in node.nodes) and isinstance(first, Scalar) and not _spaced(first):
            self._note_ambiguity(node, where, reading)
            return (_WORDS.read(node, where, reading),)
        return tuple(
            _WORDS.read(each, f"{where}[{number}]", reading)
            if isinstance(each, Items)
            else self._line(each, f"{where}[{number}]", reading)
            for number, each in enumerate(node.nodes)
        )

    def _line(self, node: Node, where: str, reading: Reading) -> str:
        line = _LINE.read(node, where, reading)
        if not line.strip():
            raise self.misfit(node, where, reading)
        return line

    def _note_ambiguity(self, node: Items, where: str, reading: Reading) -> None:
        rest = [each for each in node.nodes[1:] if isinstance(each, Scalar)]
        if rest and any(map(_spaced, rest)) and not any(each.text.startswith("-") for each in rest):
            why = (
                f"{where} is read as the program {shown(node.nodes[0])} with {len(rest)} arguments; to run several "
                f"commands, write the first as a list, as in `[[make], make test]`"
            )
            reading.report("note", "command_with_arguments", why, node.mark, where)

    def schema(self, definitions: dict[str, Schema]) -> Schema:
        word: Schema = {"type": ["string", "number", "boolean"]}
        words: Schema = {"type": "array", "items": word, "minItems": 1}
        return {"anyOf": [word, {"type": "array", "items": {"anyOf": [word, words]}, "minItems": 1}]}


def _spaced(node: Scalar) -> bool:
    return any(character.isspace() for character in node.text.strip())


class ShellForm(Form[tuple[str, ...]]):
    """A shell with its options, as one line or as a list."""

    text = "a shell with its options, such as `bash -e` or `[bash, -e]`"

    def read(self, node: Node, where: str, reading: Reading) -> tuple[str, ...]:
        if isinstance(node, Items):
            return _WORDS.read(node, where, reading)
        line = _LINE.read(node, where, reading)
        try:
            words = tuple(shlex.split(line))
        except ValueError:
            words = ()
        if not words:
            raise self.misfit(node, where, reading)
        return words

    def schema(self, definitions: dict[str, Schema]) -> Schema:
        return {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}, "minItems": 1}]}


COMMAND = CommandForm()
SHELL = ShellForm()
