"""Decides how a run ends once all of its tasks have ended. Hooks do not count."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from turnout.model.branches import accepted_end
from turnout.model.events import ErrorInfo
from turnout.model.graph import Graph
from turnout.model.reasons import FAILING_REASONS
from turnout.model.rows import RunRow, TaskRow
from turnout.model.states import RunState, TaskState

RowOf = Callable[[int], TaskRow]


class End(NamedTuple):
    state: RunState
    reason: str | None = None
    error: ErrorInfo | None = None


def end_of(graph: Graph, run: RunRow, row_of: RowOf) -> End:
    """Returns the end of a run in which at most hooks are open."""
    if run.state is RunState.CANCELLING:
        return End(RunState.FAILED if run.reason in FAILING_REASONS else RunState.CANCELLED, run.reason, run.error)
    for pos in range(len(graph.tasks)):
        row = row_of(pos)
        if row.state is not TaskState.FAILED or pos in graph.hooks:
            continue
        # A mapped task fails also where the items piped into it failed: then it is not the cause.
        followed = pos in graph.mapped and (row.reason or "").startswith("dependency_")
        tolerated = accepted_end(row, graph.tasks[pos]) is not None
        if not followed and not tolerated and not _excused(graph, pos, row_of):
            return End(RunState.FAILED, f"task_failed:{row.name}", row.error)
    if graph.spec.gate:
        gate = row_of(graph.position[graph.spec.gate])
        return End(RunState.COMPLETED, gate.reason if gate.state is TaskState.SKIPPED else None)
    return End(RunState.COMPLETED)


def failed_tasks(graph: Graph, row_of: RowOf) -> Iterator[TaskRow]:
    """Yields the tasks that failed, handled or not, without hooks."""
    for pos in range(len(graph.tasks)):
        row = row_of(pos)
        if row.state is TaskState.FAILED and pos not in graph.hooks:
            yield row


def _excused(graph: Graph, pos: int, row_of: RowOf) -> bool:
    """True if a dependent whose rule names this failure has completed."""
    return any(
        pos in graph.excuses[dependent] and row_of(dependent).state is TaskState.COMPLETED
        for dependent in graph.dependents[pos]
    )
