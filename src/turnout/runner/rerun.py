"""Which finished outputs does a rerun keep?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

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
    tasks = range(len(graph.tasks))
    undone = {pos for pos in tasks if rows[pos].state is not TaskState.COMPLETED and not by_branch(rows[pos])}
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
    completed = (pos for pos in tasks if rows[pos].state is TaskState.COMPLETED)
    kept = {pos: None for pos in completed if pos not in again and pos not in graph.hooks}
    # Items go with their mapped task: all of them, or none.
    return [*kept, *(pos for pos in sorted(rows) if rows[pos].group in kept)]


def reused(run_id: str, rows: Mapping[int, TaskRow], kept: Sequence[int], outputs: Mapping[int, str]) -> list[TaskRow]:
    """These rows as the new run begins with them. An item that failed in a task that completed stays what it was."""
    return [
        TaskRow(
            pos=pos,
            name=rows[pos].name,
            priority=rows[pos].priority,
            state=rows[pos].state,
            reason=f"reused:{run_id}",
            output=outputs.get(pos),
            error=rows[pos].error if rows[pos].state is TaskState.FAILED else None,
            finished_at=rows[pos].finished_at,
            memo=rows[pos].memo,
            group=rows[pos].group,
            index=rows[pos].index,
        )
        for pos in kept
    ]
