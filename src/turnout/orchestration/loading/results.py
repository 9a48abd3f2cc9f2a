"""The result of a completed run, from its owner's memory as far as it is there, else from the store."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from turnout.model.bindings import ABSENT, result_of
from turnout.model.graph import Graph
from turnout.model.mapping import Outputs, items_of
from turnout.model.rows import TaskRow
from turnout.model.states import TaskState

Fetch = Callable[[Sequence[int]], Mapping[int, str]]
"""Reads the outputs of these positions from the store."""


def run_result(graph: Graph, input: str, rows: Mapping[int, TaskRow], fetch: Fetch, *, one_by_one: bool = False) -> Any:
    """The value of a completed run. Outputs that are not in the rows are fetched: all at once, or when they are asked
    for."""
    outputs = Outputs(graph, rows.__getitem__, items_of(rows.values()) if graph.mapped else {})
    texts = {pos: row.output for pos, row in rows.items() if row.output is not None}

    def output_of(name: str) -> Any:
        pos = graph.position[name]
        if not outputs.completed(pos):
            return ABSENT
        lacking = [each for each in outputs.behind(pos) if each not in texts]
        if lacking:
            missing = [p for p, row in rows.items() if row.state is TaskState.COMPLETED and p not in texts]
            texts.update(fetch(lacking if one_by_one else missing))
        return outputs.value(pos, texts)

    states = {task.name: rows[pos].state for pos, task in enumerate(graph.tasks)}
    return result_of(graph.spec, msgspec.json.decode(input), output_of, states)


def task_output(graph: Graph, rows: Mapping[int, TaskRow], row: TaskRow, fetch: Fetch) -> Any:
    """The value of one completed task, or of one item of a mapped task."""
    outputs = Outputs(graph, rows.__getitem__, items_of(rows.values()) if graph.mapped else {})
    if row.group is not None:
        return outputs.item(row.pos, fetch([row.pos]))
    behind = outputs.behind(row.pos)
    return outputs.value(row.pos, fetch(behind) if behind else {})
