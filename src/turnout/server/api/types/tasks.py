"""Bodies of answers about the tasks, the graph and the history of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec

from turnout.model.graph import Graph
from turnout.model.rows import StoredMove, TaskRow
from turnout.model.states import TaskState
from turnout.runner.views import TaskView


class TaskPage(msgspec.Struct, frozen=True, kw_only=True):
    """Tasks of a run in the order of its graph, items of mapped tasks last. ``next`` is the cursor of the next page."""

    tasks: list[TaskView]
    next: str | None = None
    progress: dict[str, str] = {}
    """The latest progress of running tasks of the page, by name, as JSON: ``{"done": 3, "total": 10}``."""


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


class GraphEdge(msgspec.Struct, frozen=True, kw_only=True, rename={"source": "from", "target": "to"}):
    """A dependency: ``to`` starts after ``from``."""

    source: str
    target: str


class RunGraph(msgspec.Struct, frozen=True, kw_only=True):
    """The graph of a run, as it was when the run started, with the states of its tasks."""

    run_id: str
    workflow: str
    version: str
    nodes: list[GraphNode]
    edges: list[GraphEdge]


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


def graph_of(run_id: str, graph: Graph, rows: Sequence[TaskRow]) -> RunGraph:
    """Returns the nodes and edges of a run; the items of mapped tasks are counted."""
    items: dict[int, dict[TaskState, int]] = {pos: {} for pos in graph.mapped}
    for row in rows:
        if row.group is not None:
            counts = items.setdefault(row.group, {})
            counts[row.state] = counts.get(row.state, 0) + 1
    return RunGraph(
        run_id=run_id,
        workflow=graph.spec.full_name,
        version=graph.version,
        nodes=[_node(graph, row, items.get(row.pos)) for row in rows if row.group is None],
        edges=[GraphEdge(source=name, target=task.name) for task in graph.tasks for name in task.depends_on],
    )


def _node(graph: Graph, row: TaskRow, items: dict[TaskState, int] | None) -> GraphNode:
    task = graph.tasks[row.pos]
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
        items=items,
    )
