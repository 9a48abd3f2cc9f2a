"""Reads the items for each of which a step runs once."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from turnout.authoring.yaml.forms import Anything, Form, Schema
from turnout.authoring.yaml.nodes import Items, Node, Scalar, Table
from turnout.authoring.yaml.read_state import Reading
from turnout.authoring.yaml.tables import DERIVED, Key, TableForm

MAX_ITEMS = 10_000


class ItemsForm(Form[tuple[Any, ...] | str]):
    """A list of items, or a reference to one."""

    text = "a list of items, or a reference such as `${ITEMS}`"

    def read(self, node: Node, where: str, reading: Reading) -> tuple[Any, ...] | str:
        match node:
            case Items(nodes=nodes) if 0 < len(nodes) <= MAX_ITEMS:
                return tuple(Anything().read(node, where, reading))
            case Scalar(value=str() as text) if "$" in text:
                return text
            case _:
                raise self.misfit(node, where, reading)

    def schema(self, definitions: dict[str, Schema]) -> Schema:
        return {
            "anyOf": [{"type": "array", "minItems": 1, "maxItems": MAX_ITEMS}, {"type": "string", "pattern": "\\$"}]
        }


class Parallel(msgspec.Struct, frozen=True, kw_only=True):
    """The step runs once for each item, which it sees as ``${ITEM}``. One of ``items`` and ``variable`` is set."""

    items: Annotated[tuple[Any, ...] | None, Key(example="items: [eu, us]", form=ItemsForm())] = None
    """The items: texts, numbers or tables; or a reference such as ``${ITEMS}``."""
    variable: Annotated[str | None, DERIVED] = None
    """A reference such as ``${ITEMS}`` to a list, to JSON text of one, or to text with an item a line or word."""
    max_concurrent: Annotated[int, Meta(ge=1, le=1_000), Key(example="max_concurrent: 2")] = 10
    """The greatest number of items at work at once."""


class ParallelForm(Form[Parallel]):
    """A list, a reference to one, or a table with ``items`` and ``max_concurrent``."""

    text = "a list of items, a reference such as `${ITEMS}`, or a table with `items` and `max_concurrent`"

    def __init__(self) -> None:
        self.table = TableForm(Parallel)
        self._items = ItemsForm()

    def read(self, node: Node, where: str, reading: Reading) -> Parallel:
        if not isinstance(node, Table):
            found = self._items.read(node, where, reading)
            for number, each in enumerate(node.nodes if isinstance(node, Items) else ()):
                reading.places[f"{where}.items[{number}]"] = each.mark
            return self._made({"items": found})
        fields = self.table.read_fields(node, where, reading)
        if "items" not in fields:
            why = f"{where} has no `items`: write {self._items.text}"
            raise reading.reject("missing_key", why, node.mark, where)
        return self._made(fields)

    def _made(self, fields: dict[str, Any]) -> Parallel:
        items = fields.pop("items")
        return Parallel(variable=items, **fields) if isinstance(items, str) else Parallel(items=items, **fields)

    def schema(self, definitions: dict[str, Schema]) -> Schema:
        return {"anyOf": [self._items.schema(definitions), self.table.schema(definitions)]}


PARALLEL = ParallelForm()
