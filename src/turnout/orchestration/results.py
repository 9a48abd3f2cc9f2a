"""What did a completed run return? From its owner's memory as far as it is there, else from the store."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from turnout.model.bindings import ABSENT, result_of
from turnout.model.graph import Graph
from turnout.model.rows import TaskRow
from turnout.model.states import TaskState

Fetch = Callable[[Sequence[int]], Mapping[int, str]]
"""Reads the outputs of these positions from the store."""


def run_result(graph: Graph, input: str, rows: Mapping[int, TaskRow], fetch: Fetch, *, one_by_one: bool = False) -> Any:
    """The value of a completed run. Outputs that are not in the rows are fetched: all at once, or when they are asked
    for."""
    fetched: dict[int, str] = {}

    def output_of(name: str) -> Any:
        pos = graph.position[name]
        row = rows[pos]
        if row.state is not TaskState.COMPLETED:
            return ABSENT
        if row.output is not None:
            return msgspec.json.decode(row.output)
        if pos not in fetched:
            missing = [p for p, r in rows.items() if r.state is TaskState.COMPLETED and r.output is None]
            fetched.update(fetch([pos] if one_by_one else missing))
        return msgspec.json.decode(fetched[pos])

    states = {graph.tasks[pos].name: row.state for pos, row in rows.items()}
    return result_of(graph.spec, msgspec.json.decode(input), output_of, states)
