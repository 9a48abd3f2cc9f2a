"""Which finished outputs does a rerun keep?"""

from __future__ import annotations

from collections.abc import Mapping

from turnout.errors import InvalidInput
from turnout.model.choices import by_branch
from turnout.model.graph import Graph
from turnout.model.rows import TaskRow
from turnout.model.states import TaskState
from turnout.model.suggestions import close


def reusable(graph: Graph, rows: Mapping[int, TaskRow], from_task: str | None) -> list[int]:
    """Positions whose outputs count in the new run: all that completed, but the first to run again and what follows.

    By default a rerun starts from the tasks that did not complete. Those that a branch left out are left out again,
    unless the branch itself runs again. Hooks always do.
    """
    undone = {pos for pos, row in rows.items() if row.state is not TaskState.COMPLETED and not by_branch(row)}
    if from_task is None:
        again = undone
    elif from_task in graph.position:
        again = {graph.position[from_task], *undone}
    else:
        raise InvalidInput(
            f"workflow {graph.spec.name!r} has no task {from_task!r}{close(from_task, list(graph.position))}",
            code="unknown_task",
            task=from_task,
        )
    open_ = list(again)
    while open_:
        for dependent in graph.dependents[open_.pop()]:
            if dependent not in again:
                again.add(dependent)
                open_.append(dependent)
    completed = (pos for pos in sorted(rows) if rows[pos].state is TaskState.COMPLETED)
    return [pos for pos in completed if pos not in again and pos not in graph.hooks]
