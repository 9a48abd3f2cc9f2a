"""Holds and reads conditions: those before a step or a run, and those on which a failed step lets others continue."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from turnout.authoring.yaml.forms import Choice, Form, Schema, Several, Text
from turnout.authoring.yaml.nodes import Node, Scalar, Table
from turnout.authoring.yaml.read_state import Reading
from turnout.authoring.yaml.tables import Key, TableForm
from turnout.model.patterns import PatternError, pattern_of
from turnout.model.step_outcome import PATTERN

ExitCode = Annotated[int, Meta(ge=0, le=255)]


def check_pattern(text: str, where: str, node: Node, reading: Reading) -> None:
    """Rejects a text that is no regular expression, or one that takes more than linear time."""
    try:
        pattern_of(text)
    except PatternError as error:
        why = f"{where} is {text[:60]!r}, which is {error}"
        raise reading.reject("bad_pattern", why, node.mark, where) from None


class ExpectedText(Text):
    """Text, or ``re:`` and a regular expression."""

    def __init__(self) -> None:
        super().__init__("text, or `re:` and a regular expression")

    def read(self, node: Node, where: str, reading: Reading) -> str:
        text = super().read(node, where, reading)
        if text.startswith(PATTERN):
            check_pattern(text.removeprefix(PATTERN), where, node, reading)
        return text


class Condition(msgspec.Struct, frozen=True, kw_only=True):
    """A condition of a workflow or a step. Without ``expected`` it is a command that must succeed."""

    condition: Annotated[str, Meta(min_length=1), Key(example='condition: "${ENVIRONMENT}"')]
    """A command, or with ``expected`` a text with variables and command substitutions."""
    expected: Annotated[str | None, Key(example="expected: re:^prod", form=ExpectedText())] = None
    """The text that the condition must have, or ``re:`` and a regular expression."""
    negate: Annotated[bool, Key(example="negate: true")] = False
    """``true``: the condition must not hold."""


class ConditionForm(Form[Condition]):
    """A command, or a table."""

    text = "a command, or a table with `condition` and `expected`"

    def __init__(self) -> None:
        self.table = TableForm(Condition)

    def read(self, node: Node, where: str, reading: Reading) -> Condition:
        match node:
            case Scalar(value=str() as text) if text.strip():
                return Condition(condition=text)
            case Table():
                return self.table.read(node, where, reading)
            case _:
                raise self.misfit(node, where, reading)

    def schema(self, definitions: dict[str, Schema]) -> Schema:
        return {"anyOf": [{"type": "string", "minLength": 1}, self.table.schema(definitions)]}


class ContinueOn(msgspec.Struct, frozen=True, kw_only=True):
    """The ends of a step after which its dependents run all the same."""

    failure: Annotated[bool, Key(example="failure: true", also=("failed",))] = False
    """Continue after a failure."""
    skipped: Annotated[bool, Key(example="skipped: true")] = False
    """Continue if the step was skipped by its preconditions."""
    exit_code: Annotated[tuple[ExitCode, ...], Key(example="exit_code: [1, 3]")] = ()
    """Continue after these exit codes."""
    output: Annotated[tuple[str, ...], Key(example="output: re:no rows$", form=Several(ExpectedText()))] = ()
    """Continue if the output contains one of these texts, or matches one that begins with ``re:``."""
    mark_success: Annotated[bool, Key(example="mark_success: true")] = False
    """Count the step as completed if one of the above applies."""


class ContinueOnForm(Form[ContinueOn]):
    """A word, or a table."""

    text = "`failed`, `skipped`, or a table"

    def __init__(self) -> None:
        self.table = TableForm(ContinueOn)
        self._word = Choice(("failed", "skipped"), {"failure": "failed"})

    def read(self, node: Node, where: str, reading: Reading) -> ContinueOn:
        if isinstance(node, Table):
            return self.table.read(node, where, reading)
        word = self._word.read(node, where, reading)
        return ContinueOn(failure=word == "failed", skipped=word == "skipped")

    def schema(self, definitions: dict[str, Schema]) -> Schema:
        return {"anyOf": [self._word.schema(definitions), self.table.schema(definitions)]}


CONDITIONS = Several(ConditionForm())
CONTINUE_ON = ContinueOnForm()
