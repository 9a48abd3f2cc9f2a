"""The value of a task: its output; of a mapped task, the list of its items' values.

The list of a mapped task is stored nowhere: its row has only the number of items, and whoever wants the list puts it
together from the items' rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from turnout.model.bindings import ABSENT
from turnout.model.graph import Graph
from turnout.model.rows import TaskRow
from turnout.model.states import TaskState

_decode = msgspec.json.Decoder().decode


class Outputs(NamedTuple):
    """How the rows of one run make up the values of its tasks."""

    graph: Graph
    row_of: Callable[[int], TaskRow]
    items: Mapping[int, range]
    """By the position of a mapped task: where its items' rows are."""

    def completed(self, pos: int) -> bool:
        return self.row_of(pos).state is TaskState.COMPLETED

    def behind(self, pos: int) -> Sequence[int]:
        """The rows whose outputs make up the value of a completed task of the graph."""
        if pos not in self.graph.mapped:
            return (pos,)
        return [each for each in self.items.get(pos, ()) if self.completed(each)]

    def value(self, pos: int, texts: Mapping[int, str]) -> Any:
        """The value of a task of the graph, given the outputs behind it; ABSENT if it did not complete."""
        if not self.completed(pos):
            return ABSENT
        if pos not in self.graph.mapped:
            return _decode(texts[pos])
        return [self.item(each, texts) for each in self.items.get(pos, ())]

    def item(self, pos: int, texts: Mapping[int, str]) -> Any:
        """The value of one item, which has ended: its output, or the error that stands for it."""
        row = self.row_of(pos)
        if row.state is TaskState.COMPLETED:
            return _decode(texts[pos])
        return {"type": row.error.type, "message": row.error.message} if row.error is not None else None


def items_of(rows: Iterable[TaskRow]) -> dict[int, range]:
    """Where the items of each mapped task are. They were added together, so their positions follow one another."""
    found: dict[int, range] = {}
    for row in rows:
        if row.group is not None:
            known = found.get(row.group)
            found[row.group] = range(known.start, row.pos + 1) if known else range(row.pos, row.pos + 1)
    return found
