"""The finished rows that a new run takes over from an old one: read from the store, decided by ``model.rerun``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from turnout.contracts.store import ReadStore
from turnout.model.graph import Graph
from turnout.model.rerun import changed_parameters, kept_tasks
from turnout.model.rows import StoredRun, TaskRow
from turnout.model.states import TaskState
from turnout.orchestration.loading.graph_cache import GraphCache


def reused_rows(
    store: ReadStore,
    graphs: GraphCache,
    run: StoredRun,
    graph: Graph,
    input: Mapping[str, Any],
    from_task: str | None = None,
) -> list[TaskRow]:
    """The rows that count as finished in a rerun of ``run`` with today's graph and this input. Blocks."""
    run_id = run.new.run_id
    old = graph if graph.version == run.new.version else graphs.stored(run.new.version)
    rows = {row.pos: row for row in store.tasks(run_id, outputs=False)}
    changed = changed_parameters(msgspec.json.decode(run.new.input), input)
    kept = kept_tasks(old, rows, graph, changed=changed, from_task=from_task)
    # Items go with their mapped task: all of them, or none.
    positions = {was: pos for pos, was in kept.items()}
    items = sorted((row for row in rows.values() if row.group in positions), key=lambda row: row.pos)
    outputs = store.outputs(run_id, [*positions, *(row.pos for row in items)])
    return [
        *(_reused(graph, pos, rows[was], outputs.get(was), run_id) for pos, was in kept.items()),
        *(_reused(graph, positions[row.group or 0], row, outputs.get(row.pos), run_id) for row in items),
    ]


def _reused(graph: Graph, pos: int, row: TaskRow, output: str | None, run_id: str) -> TaskRow:
    """The row of the task at this position of today's graph, or of one of its items, as the new run begins with it."""
    item = row.group is not None
    return TaskRow(
        pos=row.pos if item else pos,
        name=row.name if item else graph.tasks[pos].name,
        priority=graph.tasks[pos].priority,
        state=row.state,
        # Why a task was skipped is what its dependents go by, so that reason stays.
        reason=row.reason if row.state is TaskState.SKIPPED else f"reused:{run_id}",
        output=output,
        # An item that failed in a task that completed stays what it was.
        error=row.error if row.state is TaskState.FAILED else None,
        finished_at=row.finished_at,
        memo=row.memo,
        group=pos if item else None,
        index=row.index,
    )
