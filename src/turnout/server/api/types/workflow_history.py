"""Bodies of answers about the newest runs of a workflow, task by task, and about the graphs that it has had."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from turnout.model.graph import Graph
from turnout.model.percentiles import Spread, spread
from turnout.model.rows import StoredRun
from turnout.model.states import RunState, TaskState
from turnout.model.task_lists import GraphTask
from turnout.rendering.placed_graph import placed
from turnout.server.api.types.tasks import GraphEdge, edges_of
from turnout.server.api.types.workflows import WorkflowParameter, WorkflowTask

MAX_SLOWEST = 10


class PastRun(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A column of the history: one run."""

    run_id: str
    state: RunState
    version: str
    created_at: float
    started_at: float | None = None
    finished_at: float | None = None
    duration: float | None = None
    """Seconds from submission to end."""
    rerun_of: str | None = None


class PastTask(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A cell of the history: one task of one run."""

    state: TaskState
    attempt: int = 0
    """The ordinal of its newest attempt."""
    duration: float | None = None
    """Seconds of its last attempt; of a mapped task, from its start to its end."""
    reused: bool = False
    """True: the result of an earlier run was reused."""
    items: dict[TaskState, int] | None = None
    """Of a mapped task: its items by state."""


class TaskHistory(msgspec.Struct, frozen=True, kw_only=True):
    """A row of the history: one task in every run, in the order of the runs; null where a run does not have it."""

    name: str
    cells: list[PastTask | None]
    duration: Spread
    """Of the runs shown in which it completed."""


class WorkflowHistory(msgspec.Struct, frozen=True, kw_only=True):
    """The newest runs of a workflow, task by task. ``next`` is the cursor of the runs before."""

    workflow: str
    runs: list[PastRun]
    """Newest first."""
    tasks: list[TaskHistory]
    """Those of the newest run first, in the order of its graph."""
    slowest: list[str]
    """The tasks with the longest median duration, the slowest first."""
    duration: Spread
    """Of the runs shown that completed."""
    next: str | None = None


class GraphVersion(msgspec.Struct, frozen=True, kw_only=True):
    """A version of the graph of a workflow that runs have had."""

    version: str
    number: int
    """Versions of a workflow are numbered from 1 in the order in which they were first used."""
    created_at: float
    used_at: float | None
    current: bool
    """True: new runs have it."""


class GraphVersions(msgspec.Struct, frozen=True, kw_only=True):
    """Versions, newest first."""

    workflow: str
    versions: list[GraphVersion]


class PlacedTask(WorkflowTask, frozen=True, kw_only=True):
    """A task of a workflow, with its place in a picture."""

    column: int
    row: float


class WorkflowGraph(msgspec.Struct, frozen=True, kw_only=True):
    """One version of the graph of a workflow, with the places of its tasks in a picture."""

    workflow: str
    version: str
    tasks: list[PlacedTask]
    edges: list[GraphEdge]
    columns: int
    rows: int
    parameters: list[WorkflowParameter]


def history_of(
    workflow: str,
    runs: Sequence[StoredRun],
    tasks: Mapping[str, Sequence[GraphTask]],
    items: Mapping[str, Mapping[int, dict[TaskState, int]]],
    following: str | None,
) -> WorkflowHistory:
    """Returns the history of these runs, newest first; ``tasks`` and ``items`` are by run."""
    cells: dict[str, list[PastTask | None]] = {}
    for number, run in enumerate(runs):
        counts = items.get(run.new.run_id, {})
        for task in tasks.get(run.new.run_id, ()):
            cells.setdefault(task.name, [None] * len(runs))[number] = _cell(task, counts.get(task.pos))
    rows = [TaskHistory(name=name, cells=row, duration=_spread_of(row)) for name, row in cells.items()]
    by_median = sorted((row for row in rows if row.duration.p50), key=lambda row: -(row.duration.p50 or 0.0))
    past = [_past_run(run) for run in runs]
    done = [run.duration for run in past if run.state is RunState.COMPLETED and run.duration is not None]
    return WorkflowHistory(
        workflow=workflow,
        runs=past,
        tasks=rows,
        slowest=[row.name for row in by_median[:MAX_SLOWEST]],
        duration=spread(done),
        next=following,
    )


def _past_run(run: StoredRun) -> PastRun:
    ended = run.row.finished_at
    return PastRun(
        run_id=run.new.run_id,
        state=run.row.state,
        version=run.new.version,
        created_at=run.new.created_at,
        started_at=run.row.started_at,
        finished_at=ended,
        duration=None if ended is None else max(0.0, ended - run.new.created_at),
        rerun_of=run.new.rerun_of,
    )


def _cell(task: GraphTask, items: dict[TaskState, int] | None) -> PastTask:
    began = task.started_at if task.started_at is not None else task.dispatched_at
    ended = task.finished_at
    return PastTask(
        state=task.state,
        attempt=task.attempt,
        duration=None if began is None or ended is None else max(0.0, ended - began),
        reused=(task.reason or "").startswith("reused:"),
        items=items,
    )


def _spread_of(cells: Sequence[PastTask | None]) -> Spread:
    done = (each for each in cells if each is not None and each.state is TaskState.COMPLETED and not each.reused)
    return spread([each.duration for each in done if each.duration is not None])


def graph_version(graph: Graph, tasks: Sequence[WorkflowTask], parameters: list[WorkflowParameter]) -> WorkflowGraph:
    """Returns a graph with the places of its tasks."""
    layout = placed(graph.tasks)
    return WorkflowGraph(
        workflow=graph.spec.full_name,
        version=graph.version,
        tasks=[
            PlacedTask(
                **msgspec.structs.asdict(task),
                column=layout.tasks[task.name].column,
                row=layout.tasks[task.name].row,
            )
            for task in tasks
        ],
        edges=edges_of(graph.tasks, layout),
        columns=layout.columns,
        rows=layout.rows,
        parameters=parameters,
    )
