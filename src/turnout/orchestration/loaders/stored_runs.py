"""Reads stored runs: graphs of their versions, their results, and the rows that a rerun reuses."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from turnout.contracts.store import ReadStore
from turnout.errors import RunNotFound
from turnout.model.bindings import ABSENT, result_of
from turnout.model.graph import Graph
from turnout.model.mapping import Outputs, items_of
from turnout.model.rerun import changed_parameters, kept_tasks
from turnout.model.rows import StoredRun, TaskRow
from turnout.model.spec import decode_spec
from turnout.model.states import TaskState

Fetch = Callable[[Sequence[int]], Mapping[int, str]]
"""Reads the outputs of these positions from the store."""


class GraphCache:
    """Graphs by version. May be used from any thread."""

    def __init__(self, store: ReadStore) -> None:
        self._store = store
        self._graphs: dict[str, Graph] = {}

    def add(self, graph: Graph) -> None:
        self._graphs[graph.version] = graph

    def decoded(self, version: str, spec: str) -> Graph:
        """Returns the graph of this version, decoded from its stored text if it is not cached."""
        graph = self._graphs.get(version)
        if graph is None:
            graph = self._graphs[version] = Graph(decode_spec(spec), version)
        return graph

    def stored(self, version: str) -> Graph:
        """Returns the graph of this version. Reads the store if it is not cached. Blocks."""
        graph = self._graphs.get(version)
        if graph is not None:
            return graph
        text = self._store.workflow(version)
        if text is None:
            raise RunNotFound(f"workflow version {version} is not stored", version=version)
        return self.decoded(version, text)


def run_result(graph: Graph, input: str, rows: Mapping[int, TaskRow], fetch: Fetch, *, one_by_one: bool = False) -> Any:
    """Returns the value of a completed run. Outputs that are not in the rows are fetched: all at once, or one by one as
    they are needed."""
    outputs = Outputs(graph, rows.__getitem__, items_of(rows.values()) if graph.mapped else {})
    texts = {pos: row.output for pos, row in rows.items() if row.output is not None}

    def output_of(name: str) -> Any:
        pos = graph.position[name]
        if not outputs.has_value(pos):
            return ABSENT
        needed = [each for each in outputs.behind(pos) if each not in texts]
        if needed:
            missing = [p for p, row in rows.items() if row.state is TaskState.COMPLETED and p not in texts]
            texts.update(fetch(needed if one_by_one else missing))
        return outputs.value(pos, texts)

    return result_of(graph.spec, msgspec.json.decode(input), output_of, _states(outputs))


def _states(outputs: Outputs) -> dict[str, TaskState]:
    """Returns the states of the tasks by name; one that has a value counts as completed."""
    return {
        task.name: TaskState.COMPLETED if outputs.has_value(pos) else outputs.row_of(pos).state
        for pos, task in enumerate(outputs.graph.tasks)
    }


def task_output(graph: Graph, rows: Mapping[int, TaskRow], row: TaskRow, fetch: Fetch) -> Any:
    """Returns the value of one completed task, or of one item of a mapped task."""
    outputs = Outputs(graph, rows.__getitem__, items_of(rows.values()) if graph.mapped else {})
    if row.group is not None:
        return outputs.item(row.pos, fetch([row.pos]))
    behind = outputs.behind(row.pos)
    return outputs.value(row.pos, fetch(behind) if behind else {})


def reused_rows(
    store: ReadStore,
    graphs: GraphCache,
    run: StoredRun,
    graph: Graph,
    input: Mapping[str, Any],
    from_task: str | None = None,
) -> list[TaskRow]:
    """Returns the rows that count as finished in a rerun of ``run`` with the current graph and this input. Blocks."""
    run_id = run.new.run_id
    old = graph if graph.version == run.new.version else graphs.stored(run.new.version)
    rows = {row.pos: row for row in store.tasks(run_id, outputs=False)}
    changed = changed_parameters(msgspec.json.decode(run.new.input), input)
    kept = kept_tasks(old, rows, graph, changed=changed, from_task=from_task)
    # The items of a mapped task are reused all together, or none.
    positions = {was: pos for pos, was in kept.items()}
    items = sorted((row for row in rows.values() if row.group in positions), key=lambda row: row.pos)
    outputs = store.outputs(run_id, [*positions, *(row.pos for row in items)])
    return [
        *(_reused(graph, pos, rows[was], outputs.get(was), run_id) for pos, was in kept.items()),
        *(_reused(graph, positions[row.group or 0], row, outputs.get(row.pos), run_id) for row in items),
    ]


def _reused(graph: Graph, pos: int, row: TaskRow, output: str | None, run_id: str) -> TaskRow:
    """Returns the row of the task at this position, or of one of its items, as the new run begins with it."""
    item = row.group is not None
    return TaskRow(
        pos=row.pos if item else pos,
        name=row.name if item else graph.tasks[pos].name,
        priority=graph.tasks[pos].priority,
        state=row.state,
        # Trigger rules of dependents use the reason of a skip, so it stays.
        reason=row.reason if row.state is TaskState.SKIPPED else f"reused:{run_id}",
        output=output,
        # An item that failed in a task that completed stays failed.
        error=row.error if row.state is TaskState.FAILED else None,
        finished_at=row.finished_at,
        memo=row.memo,
        group=pos if item else None,
        index=row.index,
    )
