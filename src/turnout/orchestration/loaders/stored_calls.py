"""Reads the call of a stored task: the rows around it, the outputs that it needs, and its arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from turnout.contracts.store import ReadStore
from turnout.model.graph import Graph
from turnout.model.mapping import Outputs, rows_near
from turnout.model.rows import StoredRun
from turnout.model.states import TaskState
from turnout.orchestration.loaders.arguments import Call, SplitLists
from turnout.orchestration.loaders.work_builder import Arguments, RunRead, arguments_for


def read_call(
    store: ReadStore,
    stored: StoredRun,
    graph: Graph,
    pos: int,
    items: Mapping[int, range],
    lists: SplitLists | None = None,
) -> tuple[RunRead, Call | None, Sequence[int]]:
    """Returns the run with the rows that the task needs, its call if the workflow maps tasks, and the positions of the
    outputs that the call takes. Blocks.

    ``items``: the positions of items by their mapped task; empty for a workflow without mapped tasks."""
    run_id = stored.new.run_id
    if graph.mapped:
        rows = {row.pos: row for row in store.tasks_at(run_id, rows_near(graph, items, pos))}
        call = Call(run_id, stored.new.input, Outputs(graph, rows.__getitem__, items), rows[pos], lists)
        return RunRead(graph, stored.new, stored.row, rows.__getitem__), call, call.needed
    rows = {row.pos: row for row in store.tasks(run_id, outputs=False)}
    needed = graph.inputs(pos, lambda dep: rows[dep].state is TaskState.COMPLETED)
    return RunRead(graph, stored.new, stored.row, rows.__getitem__), None, needed


def stored_arguments(store: ReadStore, stored: StoredRun, graph: Graph, pos: int) -> Arguments:
    """Returns what the task at this position is called with, as JSON values; of a mapped task, its lists. Blocks."""
    run_id = stored.new.run_id
    items = store.items(run_id) if graph.mapped else {}
    run, call, needed = read_call(store, stored, graph, pos, items)
    texts = store.outputs(run_id, needed) if needed else {}
    task = graph.tasks[pos] if call is None else call.task
    return arguments_for(run_id, pos, task, run, texts, call)
