"""Holds and reads the limits of workflows and steps."""

from __future__ import annotations

from typing import Annotated

import msgspec

from turnout.authoring.yaml.forms import Form, Schema, Several, Text, Whole
from turnout.authoring.yaml.nodes import Node, Scalar, Table
from turnout.authoring.yaml.read_state import Reading
from turnout.authoring.yaml.tables import Key, TableForm
from turnout.errors import InvalidWorkflow
from turnout.model.durations import seconds
from turnout.model.limits import (
    BAD_LIMIT,
    DEFAULT_PERIOD,
    MAX_LIMIT_NAME,
    MAX_LIMITS,
    MAX_RATE_PERIOD,
    MAX_SLOTS,
    LimitSpec,
)

NAME = Text("the name of a limit, such as `database` or `customer-${customer_id}`", least=1, most=MAX_LIMIT_NAME)


class Size(Whole):
    """The size of a limit: the greatest number at once, or within a period."""

    code = BAD_LIMIT

    def __init__(self) -> None:
        super().__init__(1, MAX_SLOTS)


class PeriodForm(Form[float]):
    """A number of seconds, or text with units."""

    code = BAD_LIMIT
    text = "a number of seconds above 0, or text such as `1m`"

    def read(self, node: Node, where: str, reading: Reading) -> float:
        if isinstance(node, Scalar) and isinstance(node.value, str | int | float) and not isinstance(node.value, bool):
            try:
                period = seconds(node.value)
            except InvalidWorkflow:
                period = 0.0
            if 0 < period <= MAX_RATE_PERIOD:
                return period
        raise self.misfit(node, where, reading)

    def schema(self, definitions: dict[str, Schema]) -> Schema:
        return {"type": ["number", "string"], "exclusiveMinimum": 0}


class LimitDocument(msgspec.Struct, frozen=True, kw_only=True):
    """A limit that all workflows and steps with its name share. Without a size it has that of the configuration."""

    name: Annotated[str, Key(example='name: "customer-${customer_id}"', form=NAME)]
    """The name. With ``${parameter}`` in it there is one limit for each value of the parameter."""
    at_most: Annotated[int | None, Key(example="at_most: 3", form=Size())] = None
    """The greatest number at work at once."""
    rate: Annotated[int | None, Key(example="rate: 10", form=Size())] = None
    """The greatest number that begin within ``per``."""
    per: Annotated[float, Key(example="per: 1m", form=PeriodForm())] = DEFAULT_PERIOD
    """The period of ``rate``: seconds, or text such as ``1m``."""

    def spec(self) -> LimitSpec:
        return LimitSpec(self.name, self.at_most, self.rate, self.per)


class LimitForm(Form[LimitDocument]):
    """A name, or a table."""

    text = "the name of a limit, or a table with `name`, `at_most`, `rate` and `per`"

    def __init__(self) -> None:
        self.table = TableForm(LimitDocument)

    def read(self, node: Node, where: str, reading: Reading) -> LimitDocument:
        if isinstance(node, Table):
            return self.table.read(node, where, reading)
        return LimitDocument(name=NAME.read(node, where, reading))

    def schema(self, definitions: dict[str, Schema]) -> Schema:
        return {"anyOf": [NAME.schema(definitions), self.table.schema(definitions)]}


LIMITS = Several(LimitForm(), most=MAX_LIMITS)
