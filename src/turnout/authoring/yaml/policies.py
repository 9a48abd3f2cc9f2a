"""Holds and reads the policies of workflows and steps: time limits, retries and repetitions."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from turnout.authoring.yaml.conditions import ExitCode, ExpectedText
from turnout.authoring.yaml.forms import Form, Number, Schema
from turnout.authoring.yaml.nodes import Node, Scalar
from turnout.authoring.yaml.read_state import Reading
from turnout.authoring.yaml.tables import Key, TableForm

MAX_RETRIES = 1_000
MAX_REPEATS = 100_000
MAX_SECONDS = 10 * 366 * 86_400
MAX_BACKOFF = 100
DEFAULT_BACKOFF = 2.0

Seconds = Annotated[float, Meta(ge=0, le=MAX_SECONDS)]


class BackoffForm(Form[float]):
    """A factor, or a flag."""

    text = f"true, false or a factor from 1 to {MAX_BACKOFF}"

    def read(self, node: Node, where: str, reading: Reading) -> float:
        match node:
            case Scalar(value=bool() as flag):
                return DEFAULT_BACKOFF if flag else 1.0
            case Scalar(value=int() | float() as factor) if 1 <= factor <= MAX_BACKOFF:
                return float(factor)
            case _:
                raise self.misfit(node, where, reading)

    def schema(self, definitions: dict[str, Schema]) -> Schema:
        return {"anyOf": [{"type": "boolean"}, {"type": "number", "minimum": 1, "maximum": MAX_BACKOFF}]}


class TimeLimit(Number):
    """A number of seconds; 0 is no limit."""

    def __init__(self) -> None:
        super().__init__(0, MAX_SECONDS)

    def read(self, node: Node, where: str, reading: Reading) -> Any:
        return super().read(node, where, reading) or None


BACKOFF, TIME_LIMIT = BackoffForm(), TimeLimit()
Backoff = Annotated[float, Key(example="backoff: true", form=BACKOFF)]
Interval = Annotated[float, Meta(ge=0, le=MAX_SECONDS), Key(example="interval_sec: 5")]
MaxInterval = Annotated[float | None, Meta(ge=0, le=MAX_SECONDS), Key(example="max_interval_sec: 60")]
Retries = Annotated[int, Meta(ge=0, le=MAX_RETRIES), Key(example="limit: 3")]


class RetryPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """Further attempts of a failed step."""

    limit: Retries
    """The number of retries after the first attempt."""
    interval_sec: Interval = 0
    """Seconds before the first retry."""
    backoff: Backoff = 1.0
    """The factor by which each further interval grows; ``true`` is 2, ``false`` is 1."""
    max_interval_sec: MaxInterval = None
    """The longest interval."""
    exit_code: Annotated[tuple[ExitCode, ...], Key(example="exit_code: [75]")] = ()
    """The exit codes that are retried; without it all."""


class RunRetryPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """Further runs of a failed workflow."""

    limit: Retries
    """The number of further runs."""
    interval_sec: Interval = 0
    """Seconds before the first further run."""
    backoff: Backoff = 1.0
    """The factor by which each further interval grows; ``true`` is 2, ``false`` is 1."""
    max_interval_sec: MaxInterval = None
    """The longest interval."""


class RepeatMode(Form[str]):
    """A word; ``true`` is ``while``, ``false`` is none."""

    text = "`while`, `until`, true or false"

    def read(self, node: Node, where: str, reading: Reading) -> str:
        match node:
            case Scalar(value=bool() as flag):
                return "while" if flag else ""
            case Scalar(value="while" | "until" as word):
                return word
            case _:
                raise self.misfit(node, where, reading)

    def schema(self, definitions: dict[str, Schema]) -> Schema:
        return {"enum": ["while", "until", True, False]}


class RepeatPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """Repetitions of a step that has completed."""

    repeat: Annotated[Literal["while", "until"], Key(example="repeat: until", form=RepeatMode(), derived=True)]
    """``while`` the condition holds, or ``until`` it does; ``true`` is ``while``. Without it ``until`` if there is an
    ``expected``, else ``while``; without a condition ``while`` the step succeeds."""
    condition: Annotated[str | None, Meta(min_length=1), Key(example="condition: test -f ready")] = None
    """A command, or with ``expected`` a text with variables and command substitutions."""
    expected: Annotated[str | None, Key(example="expected: done", form=ExpectedText())] = None
    """The text that the condition must have, or ``re:`` and a regular expression."""
    exit_code: Annotated[tuple[ExitCode, ...], Key(example="exit_code: 1")] = ()
    """The exit codes that count as the condition, if there is no ``condition``."""
    interval_sec: Interval = 0
    """Seconds between two executions."""
    backoff: Backoff = 1.0
    """The factor by which each further interval grows; ``true`` is 2, ``false`` is 1."""
    max_interval_sec: MaxInterval = None
    """The longest interval."""
    limit: Annotated[int | None, Meta(ge=1, le=MAX_REPEATS), Key(example="limit: 10")] = None
    """The greatest number of executions, the first included."""


class RepeatForm(Form[RepeatPolicy | None]):
    """A table. Without ``repeat`` the other keys say the mode."""

    text = "a table with `repeat`, or with a `condition` or `exit_code`"

    def __init__(self) -> None:
        self.table = TableForm(RepeatPolicy)

    def read(self, node: Node, where: str, reading: Reading) -> RepeatPolicy | None:
        fields = self.table.read_fields(node, where, reading)
        guarded = "condition" in fields or "exit_code" in fields
        mode = fields.pop("repeat", None)
        if mode == "":
            return None
        if mode is None and not guarded:
            raise reading.reject("missing_key", f"{where} has no `repeat`: write {self.text}", node.mark, where)
        if mode == "until" and not guarded:
            why = f"{where} repeats until nothing: write a `condition` or an `exit_code`"
            raise reading.reject("missing_key", why, node.mark, where)
        return RepeatPolicy(repeat=mode or ("until" if "expected" in fields else "while"), **fields)

    def schema(self, definitions: dict[str, Schema]) -> Schema:
        return self.table.schema(definitions)


REPEAT = RepeatForm()
