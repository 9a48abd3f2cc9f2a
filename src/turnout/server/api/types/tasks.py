"""Bodies of answers about the tasks, the graph and the history of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec

from turnout.model.graph import Graph
from turnout.model.rows import StoredMove, TaskRow
from turnout.model.spec import TaskSpec
from turnout.model.states import TaskState
from turnout.model.task_lists import ItemGroup
from turnout.rendering.layout import GridPosition, Layout
from turnout.rendering.placed_graph import placed
from turnout.runner.views import TaskView


class TaskPage(msgspec.Struct, frozen=True, kw_only=True):
    """Tasks of a run in the order of its graph, items of mapped tasks last. ``next`` is the cursor of the next page."""

    tasks: list[TaskView]
    next: str | None = None
    progress: dict[str, str] = {}
    """The latest progress of running tasks of the page, by name, as JSON: ``{"done": 3, "total": 10}``."""
    counts: dict[TaskState, int] = {}
    """With ``counts=true``: tasks of the list by state, as they would be without its ``state``."""


class GraphNode(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One task of the graph of a run."""

    name: str
    kind: Literal["python", "shell", "handler", "workflow"]
    ref: str
    """The function, command, handler or workflow that it runs."""
    state: TaskState
    attempt: int = 0
    executor: str | None = None
    reason: str | None = None
    hook: str | None = None
    """``success``, ``failure`` or ``exit``, for a hook."""
    of: str | None = None
    """The task that the hook belongs to."""
    items: dict[TaskState, int] | None = None
    """Of a mapped task: its items by state."""
    started_at: float | None = None
    """When the body of the newest attempt began; of a mapped task, the first of its items."""
    finished_at: float | None = None
    child_run: str | None = None
    """Of a task that starts a child run: the newest of them. The items of a mapped task have one each."""
    column: int = -1
    """Its place in a picture in which tasks are in a column to the right of their dependencies."""
    row: float = 0.0
    """The rows of a column are one apart."""


class GraphEdge(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename={"source": "from", "target": "to"}
):
    """A dependency: ``to`` starts after ``from``."""

    source: str
    target: str
    via: list[GridPosition] = []
    """The places in intermediate columns through which its line passes no task."""


class RunGraph(msgspec.Struct, frozen=True, kw_only=True):
    """The graph of a run, as it was when the run started, with the states of its tasks."""

    run_id: str
    workflow: str
    version: str
    nodes: list[GraphNode]
    edges: list[GraphEdge]
    columns: int = 0
    """The size of the picture."""
    rows: int = 0
    position: str = ""
    """The events of the run behind it bring the graph up to date: ``after`` of the stream."""


class Move(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One change of the state of a run or of one of its tasks."""

    run_id: str
    seq: int
    """Its number in the history of the run."""
    part: int = 0
    """1 for the claim of a poller, which shares its seq with the move before it."""
    at: float
    """When it was committed, by the database's clock."""
    task: str | None = None
    """The task; absent: the run itself."""
    old: str | None = None
    new: str
    attempt: int = 0
    detail: Any = None
    """The decision, the reason or the error."""


class MovePage(msgspec.Struct, frozen=True, kw_only=True):
    """Moves in their order. ``next`` is the cursor of the next page."""

    moves: list[Move]
    next: str | None = None


def move_of(run_id: str, stored: StoredMove, names: Mapping[int, str]) -> Move:
    """Returns the move with the name of its task."""
    move = stored.move
    return Move(
        run_id=run_id,
        seq=move.seq,
        part=stored.part,
        at=stored.at,
        task=names.get(move.pos),
        old=move.old,
        new=move.new,
        attempt=move.attempt,
        detail=None if move.detail is None else msgspec.Raw(move.detail.encode()),
    )


def graph_of(
    run_id: str,
    graph: Graph,
    rows: Sequence[TaskRow],
    items: Mapping[int, ItemGroup],
    children: Mapping[int, str],
    position: str,
) -> RunGraph:
    """Returns the nodes and edges of a run. ``rows`` are those of the graph, ``items`` and ``children`` (the newest
    child run) are by position."""
    layout = placed(graph.tasks)
    empty = ItemGroup({})
    return RunGraph(
        run_id=run_id,
        workflow=graph.spec.full_name,
        version=graph.version,
        nodes=[
            _node(graph, row, items.get(row.pos, empty) if row.pos in graph.mapped else None, children, layout)
            for row in rows
        ],
        edges=edges_of(graph.tasks, layout),
        columns=layout.columns,
        rows=layout.rows,
        position=position,
    )


def edges_of(tasks: Sequence[TaskSpec], layout: Layout) -> list[GraphEdge]:
    """Returns the dependencies among these tasks, with the places that their lines pass."""
    return [
        GraphEdge(source=name, target=task.name, via=layout.lines[name, task.name][1:-1])
        for task in tasks
        for name in task.depends_on
        if (name, task.name) in layout.lines
    ]


def _node(
    graph: Graph, row: TaskRow, items: ItemGroup | None, children: Mapping[int, str], layout: Layout
) -> GraphNode:
    task = graph.tasks[row.pos]
    at = layout.tasks[task.name]
    return GraphNode(
        name=task.name,
        kind=task.body.kind,
        ref=task.body.ref,
        state=row.state,
        attempt=row.attempt,
        executor=row.executor,
        reason=row.reason,
        hook=task.hook.on if task.hook else None,
        of=(task.hook.of or None) if task.hook else None,
        items=None if items is None else items.counts,
        started_at=row.started_at if items is None else items.started_at,
        finished_at=row.finished_at,
        child_run=children.get(row.pos),
        column=at.column,
        row=at.row,
    )
