"""Counts the items that mapped tasks of a rerun run again, as far as that is known before their lists are made."""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Any

import msgspec

from turnout.errors import InvalidInput
from turnout.model.bindings import resolve
from turnout.model.graph import Graph, lists_of
from turnout.model.spec import FromParam, FromTask, ListOf, Literally, Template


class ItemCount(msgspec.Struct, frozen=True):
    """The items of a mapped task in a rerun."""

    count: int
    known: bool = True
    """False: its list is made anew, and had that many items in the earlier run."""


def items_again(
    old: Graph, items: Mapping[int, range], new: Graph, input: Mapping[str, Any], again: Container[int]
) -> dict[int, ItemCount]:
    """Returns the items of the mapped tasks that run again, by position in ``new``; without those that had none before
    and whose list is made anew. ``items`` are those of the old run; items of one task run again all together."""
    found: dict[int, ItemCount] = {}
    for pos in new.mapped:
        if pos in again:
            count = _count(old, items, new, input, again, pos)
            if count is not None:
                found[pos] = count
    return found


def _count(
    old: Graph, items: Mapping[int, range], new: Graph, input: Mapping[str, Any], again: Container[int], pos: int
) -> ItemCount | None:
    task = new.tasks[pos]
    was = old.position.get(task.name)
    before = None if was is None or was not in items else len(items[was])
    templates = lists_of(task)
    for template in templates:
        written = _written(template, input)
        if written is not None:
            return ItemCount(written)
    if before is None:
        return None
    same = was is not None and lists_of(old.tasks[was]) == templates
    reused = any(isinstance(each, FromTask) and new.position[each.name] not in again for each in templates)
    return ItemCount(before, known=same and reused)


def _written(template: Template, input: Mapping[str, Any]) -> int | None:
    """Returns the length of a list that is written in the workflow or in the input of the run; None for any other."""
    match template:
        case Literally(value) if isinstance(value, list):
            return len(value)
        case ListOf(items):
            return len(items)
        case FromParam():
            try:
                value = resolve(template, input, lambda name: None)
            except InvalidInput:
                return None
            return len(value) if isinstance(value, list) else None
        case _:
            return None
