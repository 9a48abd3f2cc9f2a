"""Finds the run that a request names, and holds the run of the examples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from turnout.errors import InvalidInput, RunNotFound
from turnout.model.graph import Graph
from turnout.model.names import suggest
from turnout.model.rows import StoredRun
from turnout.model.run_filter import RunFilter
from turnout.model.states import RunState
from turnout.server.api.types.runs import Run
from turnout.server.context import ServerContext
from turnout.server.responses import RUN_ID
from turnout.server.workflow_views import WorkflowViews

EXAMPLE = Run(
    id=RUN_ID,
    workflow="public::embedded::fulfil",
    name="fulfil",
    version="b1946ac92492d2347c6235b4d2611184",
    state=RunState.RUNNING,
    created_at=1_760_000_000.0,
    started_at=1_760_000_000.1,
)


def find(context: ServerContext, run_id: str) -> StoredRun:
    """Returns the run with this id. Raises RunNotFound. Blocks."""
    run = context.store.run(run_id)
    if run is None:
        raise RunNotFound(f"there is no run {run_id[:64]!a}", run_id=run_id[:64])
    return run


def mapped_position(run_id: str, graph: Graph, name: str) -> int:
    """Returns the position of a mapped task. Raises InvalidInput if the run has none of this name."""
    pos = graph.position.get(name)
    if pos is None or pos not in graph.mapped:
        names = [graph.tasks[each].name for each in sorted(graph.mapped)]
        raise InvalidInput(
            f"run {run_id} has no mapped task {name[:100]!a}{suggest(name, names)}",
            code="unknown_task",
            task=name[:400],
        )
    return pos


def run_filter(context: ServerContext, *, tags: Sequence[str] = (), **conditions: Any) -> RunFilter:
    """Returns the filter with these conditions; None is no condition. Blocks."""
    given = {name: value for name, value in conditions.items() if value is not None}
    if tags:
        given["among"] = WorkflowViews(context.core).tagged(tags)
    return RunFilter(**given)
