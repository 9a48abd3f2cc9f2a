"""Which finished rows does a new run take over from an old one? Read from the store, decided by ``model.rerun``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from turnout.contracts.store import Store
from turnout.model.graph import Graph
from turnout.model.rerun import changed_parameters, kept_tasks
from turnout.model.rows import StoredRun, TaskRow
from turnout.model.spec import decode_spec
from turnout.model.states import TaskState


def stored_graph(store: Store, version: str) -> Graph:
    """The graph of a stored run, as it was when the run started."""
    text = store.workflow(version)
    assert text is not None, "a run's workflow version is stored before the run"
    return Graph(decode_spec(text), version)


def reused_rows(
    store: Store, run: StoredRun, graph: Graph, input: Mapping[str, Any], from_task: str | None = None
) -> list[TaskRow]:
    """The rows that count as finished in a rerun of ``run`` with today's graph and this input. Blocks."""
    run_id = run.new.run_id
    old = graph if graph.version == run.new.version else stored_graph(store, run.new.version)
    rows = {row.pos: row for row in store.tasks(run_id, outputs=False)}
    changed = changed_parameters(msgspec.json.decode(run.new.input), input)
    kept = kept_tasks(old, rows, graph, changed=changed, from_task=from_task)
    outputs = store.outputs(run_id, list(kept.values()))
    return [_reused(graph, pos, rows[was], outputs.get(was), run_id) for pos, was in kept.items()]


def _reused(graph: Graph, pos: int, row: TaskRow, output: str | None, run_id: str) -> TaskRow:
    completed = row.state is TaskState.COMPLETED
    return TaskRow(
        pos=pos,
        name=graph.tasks[pos].name,
        priority=graph.tasks[pos].priority,
        state=row.state,
        # Why a task was skipped is what its dependents go by, so that reason stays.
        reason=f"reused:{run_id}" if completed else row.reason,
        output=output,
        finished_at=row.finished_at,
        memo=row.memo,
    )
