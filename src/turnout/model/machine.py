"""What is known of a run: its committed state in its owner's memory. No I/O, no clock, no randomness of its own.

A ``Turn`` (turn.py) collects the changes of one commit on top of it; when the ledger reports them applied, ``adopt``
makes them the new truth. A turn that did not apply is simply forgotten.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from turnout.model.events import TaskReadyEvent
from turnout.model.graph import Graph
from turnout.model.names import task_id
from turnout.model.rows import NewRun, RunRow, TaskRow
from turnout.model.states import RUN_RUNNING, TASK_COMPLETED, TASK_READY, TASK_RUNNING, TASK_TERMINAL
from turnout.model.verdict import Limits

if TYPE_CHECKING:
    from turnout.model.turn import Turn


class RunMachine:
    """The committed state of one run in its owner's memory."""

    __slots__ = ("epoch", "graph", "limits", "new", "open", "ready", "remaining", "row", "seq", "tasks")

    def __init__(
        self, graph: Graph, new: NewRun, row: RunRow, tasks: list[TaskRow], *, epoch: int, seq: int, limits: Limits
    ) -> None:
        self.graph = graph
        self.new = new
        self.row = row
        self.tasks = tasks
        self.epoch = epoch
        self.seq = seq
        self.limits = limits
        ended = {task.pos for task in tasks if task.state in TASK_TERMINAL}
        self.remaining = list(graph.dep_counts)
        for pos in ended:
            for dependent in graph.dependents[pos]:
                self.remaining[dependent] -= 1
        self.open = len(tasks) - len(ended)
        self.ready: dict[int, None] = dict.fromkeys([task.pos for task in tasks if placeable(task)])
        """Positions of tasks that could start at once, in the order in which they became ready."""

    @classmethod
    def fresh(cls, graph: Graph, new: NewRun, limits: Limits, reuse: Sequence[TaskRow] = ()) -> RunMachine:
        """A run that is not stored yet. ``reuse`` are finished rows of another run whose outputs count here."""
        tasks = list(graph.waiting)
        for row in reuse:
            tasks[row.pos] = row
        return cls(graph, new, RunRow(state=RUN_RUNNING), tasks, epoch=1, seq=0, limits=limits)

    def event(self, pos: int, row: TaskRow | None = None, *, shadow: bool = False) -> TaskReadyEvent:
        task = self.graph.tasks[pos]
        row = row or self.tasks[pos]
        return TaskReadyEvent(
            run_id=self.new.run_id,
            task_id=task_id(self.new.run_id, pos),
            task_name=task.full_name,
            attempt=row.attempt,
            max_attempts=row.attempt + max(0, task.retry.attempts - 1 - row.failures),
            shadow=shadow,
        )

    def due(self, pos: int) -> None:
        """A ready task's waiting time is over. Nothing to commit: the stored time says the same."""
        row = self.tasks[pos]
        if row.state is TASK_READY and row.retry_in:
            self.tasks[pos] = msgspec.structs.replace(row, retry_in=None)
            if row.poll_key is None:
                self.ready[pos] = None

    def completed(self, pos: int) -> bool:
        return self.tasks[pos].state is TASK_COMPLETED

    def observe_claim(self, pos: int, attempt: int, holder: str, at: float | None = None) -> None:
        """A poller has claimed this task, as its result shows: the database has moved it, memory follows."""
        row = self.tasks[pos]
        if row.state is TASK_READY and row.poll_key is not None and attempt == row.attempt + 1:
            self.tasks[pos] = msgspec.structs.replace(
                row,
                state=TASK_RUNNING,
                attempt=attempt,
                holder=holder,
                poll_key=None,
                reason=None,
                dispatched_at=at,
            )

    def adopt(self, turn: Turn) -> None:
        """The turn was committed: its rows are now the state."""
        graph, tasks, ready, remaining = self.graph, self.tasks, self.ready, self.remaining
        for pos, row in turn.rows.items():
            if row.state in TASK_TERMINAL:
                if tasks[pos].state not in TASK_TERMINAL:
                    self.open -= 1
                    for dependent in graph.dependents[pos]:
                        remaining[dependent] -= 1
                output = row.output
                if output is not None and len(output) > self.limits.inline_output and pos not in graph.rule_context:
                    row = msgspec.structs.replace(row, output=None)  # noqa: PLW2901 - what memory keeps of it
            if placeable(row):
                ready[pos] = None
            elif ready:
                ready.pop(pos, None)
            tasks[pos] = row
        if turn.run is not None:
            self.row = turn.run
        self.seq = turn.seq


def placeable(row: TaskRow) -> bool:
    """Ready, its waiting time over, and not left to pollers."""
    return row.state is TASK_READY and row.poll_key is None and not row.retry_in
