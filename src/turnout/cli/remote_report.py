"""Makes of the answers of a server what commands print of a run: the same values as from a database."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from turnout.cli.api_client import ApiClient
from turnout.cli.run_report import HistoryEntry, RunFacts
from turnout.model.driver import Driver
from turnout.model.rows import HistoryRow, TaskRow
from turnout.model.slots import HeldLimit
from turnout.model.spec import Body, TaskSpec, WorkflowSpec
from turnout.runner.views import RunView, TaskView, attempts_of
from turnout.server.api.types.runs import Run
from turnout.server.api.types.tasks import Move, RunGraph, TaskPage

PAGE = 1_000
"""Entries of one page."""


def view_of(run: Run, input: Any = None) -> RunView:
    """Returns the run as it is shown."""
    known = {name: getattr(run, name) for name in RunView.__struct_fields__ if name != "input"}
    return RunView(**known, input=input)


def entries_of(moves: Iterable[Move]) -> list[HistoryEntry]:
    """Returns the history, in its order."""
    return [HistoryEntry(move.at, move.task, move.old, move.new, move.attempt, move.detail) for move in moves]


def tasks_of(client: ApiClient, run_id: str) -> tuple[list[TaskView], dict[str, str]]:
    """Reads all tasks of a run, and the latest progress of those that are running."""
    tasks: list[TaskView] = []
    progress: dict[str, str] = {}
    cursor = None
    while True:
        page = client.get(f"/runs/{run_id}/tasks", TaskPage, {"limit": PAGE, "cursor": cursor})
        tasks += page.tasks
        progress |= page.progress
        if (cursor := page.next) is None:
            return tasks, progress


def facts_of(
    run: Run,
    input: Mapping[str, Any],
    graph: RunGraph,
    tasks: Sequence[TaskView],
    moves: Sequence[Move],
    result: Any,
    progress: Mapping[str, str],
    limits: Sequence[HeldLimit] = (),
) -> RunFacts:
    """Returns everything about one run."""
    rows = [_row(pos, task) for pos, task in enumerate(tasks)]
    positions = {task.name: pos for pos, task in enumerate(tasks)}
    history = [(move.at, _history_row(move, positions)) for move in moves]
    attempts = attempts_of(history, rows)
    begun = {attempt.task: attempt.number for attempt in attempts if attempt.number is not None}
    return RunFacts(
        view_of(run, input),
        input,
        [msgspec.structs.replace(task, begun=begun.get(task.name, task.begun)) for task in tasks],
        spec_of(graph),
        run.driver or Driver.DRIVEN,
        attempts,
        result,
        progress=progress,
        limits=limits,
    )


def _row(pos: int, task: TaskView) -> TaskRow:
    return TaskRow(
        pos=pos,
        name=task.name,
        state=task.state,
        attempt=task.attempt,
        executor=task.executor,
        decision=task.decision,
        error=task.error,
        started_at=task.started_at,
    )


def _history_row(move: Move, positions: Mapping[str, int]) -> HistoryRow:
    pos = -1 if move.task is None else positions.get(move.task, len(positions))
    detail = None if move.detail is None else msgspec.json.encode(move.detail).decode()
    return HistoryRow(move.seq, pos, move.old, move.new, move.attempt, detail)


def spec_of(graph: RunGraph) -> WorkflowSpec:
    """Returns as much of the workflow as its tree needs."""
    tenant, package, name = graph.workflow.split("::")
    tasks = tuple(
        TaskSpec(
            node.name,
            Body(node.kind, node.ref),
            full_name=f"{graph.workflow}::{node.name}",
            depends_on=tuple(edge.source for edge in graph.edges if edge.target == node.name),
        )
        for node in graph.nodes
    )
    return WorkflowSpec(name, tasks, tenant=tenant, package=package)
