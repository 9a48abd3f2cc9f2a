"""Holds the committed state of a run in its owner's memory. No I/O, no clock, no randomness of its own.

A ``Transition`` (transition.py) collects the changes of one commit on top of it. When the ledger reports them applied,
``apply`` makes them the state. A transition that did not apply is dropped.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

import msgspec

from turnout.model.deferral import read_memo
from turnout.model.events import TaskReadyEvent
from turnout.model.graph import Graph
from turnout.model.groups import NO_GROUPS, Expansion, Group, keeps_output, restored_groups, startable, takes_slot
from turnout.model.mapping import Outputs
from turnout.model.names import task_id
from turnout.model.retry import last_attempt
from turnout.model.rows import NewRun, RunRow, TaskRow
from turnout.model.spec import TaskSpec
from turnout.model.states import RUN_RUNNING, TASK_COMPLETED, TASK_READY, TASK_RUNNING, TASK_TERMINAL
from turnout.model.verdict import Limits


class Changes(Protocol):
    """The changes of a run that a commit made."""

    @property
    def rows(self) -> dict[int, TaskRow]: ...

    @property
    def run(self) -> RunRow | None: ...

    @property
    def seq(self) -> int: ...

    @property
    def expansion(self) -> Expansion | None: ...


class RunMachine:
    """The committed state of one run in its owner's memory."""

    __slots__ = (
        "busy",
        "epoch",
        "finished_groups",
        "graph",
        "groups",
        "limits",
        "new",
        "open",
        "ready",
        "remaining",
        "row",
        "seq",
        "tasks",
    )

    def __init__(
        self, graph: Graph, new: NewRun, row: RunRow, tasks: list[TaskRow], *, epoch: int, seq: int, limits: Limits
    ) -> None:
        self.graph = graph
        self.new = new
        self.row = row
        self.tasks = tasks
        """The tasks of the graph by position, then the items of its mapped tasks."""
        self.epoch = epoch
        self.seq = seq
        self.limits = limits
        self.remaining = remaining = list(graph.dep_counts)
        self.ready: dict[int, None] = {}
        """Positions of tasks that may start now, in the order in which they became ready."""
        self.open = len(tasks)
        for task in tasks:
            state = task.state
            if state in TASK_TERMINAL:
                self.open -= 1
                if task.pos < len(graph.tasks):
                    for dependent in graph.dependents[task.pos]:
                        remaining[dependent] -= 1
            elif state is TASK_READY and startable(task):
                self.ready[task.pos] = None
        self.busy = sum(map(takes_slot, self._steps(tasks))) if graph.max_active_steps is not None else 0
        """Tasks that run, or that a poller may claim; counted only with ``max_active_steps``."""
        self.groups = NO_GROUPS if len(tasks) == len(graph.tasks) else restored_groups(graph, tasks, self.ready)
        """The items of mapped tasks, by the position of the mapped task."""
        self.finished_groups: Sequence[int] = self._ended_groups() if self.groups else ()
        """Mapped tasks that run although all of their items have ended."""

    @classmethod
    def create(cls, graph: Graph, new: NewRun, limits: Limits, reuse: Sequence[TaskRow] = ()) -> RunMachine:
        """Returns a run that is not stored yet. ``reuse`` are finished rows that it takes over from another run."""
        tasks = list(graph.waiting)
        for row in reuse:
            if row.group is None:
                tasks[row.pos] = row
            else:
                tasks.append(msgspec.structs.replace(row, pos=len(tasks)))
        return cls(graph, new, RunRow(state=RUN_RUNNING), tasks, epoch=1, seq=0, limits=limits)

    def spec_of(self, pos: int) -> TaskSpec:
        """Returns the spec of the task at this position; for an item, that of the mapped task."""
        return self.graph.tasks[self.tasks[pos].task_pos]

    def row_of(self, pos: int) -> TaskRow:
        return self.tasks[pos]

    def outputs(self) -> Outputs:
        return Outputs(self.graph, self.row_of, {pos: group.items for pos, group in self.groups.items()})

    def event(self, pos: int, row: TaskRow | None = None) -> TaskReadyEvent:
        row = row or self.tasks[pos]
        task, new, attempt = self.graph.tasks[row.task_pos], self.new, row.attempt
        run_id = new.run_id
        return TaskReadyEvent(
            run_id=run_id,
            task_id=task_id(run_id, pos),
            task_name=task.full_name,
            attempt=attempt,
            max_attempts=last_attempt(task.retry, attempt, row.failures),
            # A first attempt, of which most are, has none before it.
            begun=begun_before(row) if attempt > 1 or row.memo is not None else 0,
            holder=row.holder or "",
            body=task.body.ref,
            priority=new.priority,
            task_priority=row.priority,
        )

    def clear_delay(self, pos: int) -> None:
        """Makes a ready task startable whose delay is over. Nothing is committed: the stored time is unchanged."""
        row = self.tasks[pos]
        if row.state is TASK_READY and row.retry_in:
            row = self.tasks[pos] = msgspec.structs.replace(row, retry_in=None)
            if row.group is not None and self.groups[row.group].limit is not None:
                self.groups[row.group].change(row, row, self.ready)
                self.groups[row.group].admit(self.ready)
            elif row.poll_key is None:
                self.ready[pos] = None

    def completed(self, pos: int) -> bool:
        return self.tasks[pos].state is TASK_COMPLETED

    def observe_claim(self, pos: int, attempt: int, holder: str, at: float | None = None) -> None:
        """Takes over the claim of a poller, which the database has committed and its result shows."""
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

    def apply(self, changes: Changes) -> None:
        """Makes committed changes the state."""
        graph, tasks, ready, remaining = self.graph, self.tasks, self.ready, self.remaining
        if changes.expansion is not None:
            self._add(changes.expansion)
        if graph.max_active_steps is not None:
            for row in self._steps(changes.rows.values()):
                self.busy += takes_slot(row) - takes_slot(tasks[row.pos])
        for pos, row in changes.rows.items():
            if row.group is not None:
                self._apply_item(row)
                continue
            if row.state in TASK_TERMINAL:
                if tasks[pos].state not in TASK_TERMINAL:
                    self.open -= 1
                    for dependent in graph.dependents[pos]:
                        remaining[dependent] -= 1
                output = row.output
                if (
                    output is not None
                    and len(output) > self.limits.inline_output
                    and not keeps_output(graph, tasks, row)
                ):
                    row = msgspec.structs.replace(row, output=None)  # noqa: PLW2901 - the row without its large output
            if row.state is TASK_READY and startable(row):
                ready[pos] = None
            elif ready:
                ready.pop(pos, None)
            tasks[pos] = row
        if graph.mapped:
            self._settle_groups(changes)
        if changes.run is not None:
            self.row = changes.run
        self.seq = changes.seq

    def _steps(self, rows: Iterable[TaskRow]) -> Iterator[TaskRow]:
        """Yields these rows without those of mapped tasks, whose items do the work."""
        return (row for row in rows if row.pos not in self.graph.mapped)

    # -- mapped tasks -------------------------------------------------------------------------------------------
    def _add(self, expansion: Expansion) -> None:
        """Adds the items of mapped tasks."""
        self.tasks.extend(expansion.added)
        self.open += len(expansion.added)
        opened: dict[int, Group] = {}
        for pos, items in expansion.opened.items():
            mapped = self.graph.tasks[pos].map
            opened[pos] = Group(items, mapped.max_parallel if mapped is not None else None)
        self.groups = {**self.groups, **opened}

    def _apply_item(self, row: TaskRow) -> None:
        pos, before = row.pos, self.tasks[row.pos]
        assert row.group is not None
        group = self.groups[row.group]
        if row.state in TASK_TERMINAL and before.state not in TASK_TERMINAL:
            self.open -= 1
            group.open -= 1
        if group.limit is not None:
            group.change(before, row, self.ready)
        elif startable(row):
            self.ready[pos] = None
        else:
            self.ready.pop(pos, None)
        self.tasks[pos] = row
        self._shed(pos)

    def _settle_groups(self, changes: Changes) -> None:
        for group in self.groups.values():
            if group.limit is not None and group.open:
                group.admit(self.ready)
        self.finished_groups = self._ended_groups()
        if self.graph.counted_by and not self.graph.mapped.isdisjoint(changes.rows):
            # A list that has been counted is no longer needed: large ones are dropped now.
            for source in self.graph.counted_by:
                for pos in (source, *(self.groups[source].items if source in self.groups else ())):
                    self._shed(pos)

    def _ended_groups(self) -> list[int]:
        return [pos for pos, group in self.groups.items() if not group.open and self.tasks[pos].state is TASK_RUNNING]

    def _shed(self, pos: int) -> None:
        """Drops a large output from memory, unless a rule or a count still needs it."""
        row = self.tasks[pos]
        large = row.output is not None and len(row.output) > self.limits.inline_output
        if large and not keeps_output(self.graph, self.tasks, row):
            self.tasks[pos] = msgspec.structs.replace(row, output=None)


def begun_before(row: TaskRow) -> int:
    """Returns the number of earlier attempts that began: they failed, crashed, were lost or deferred."""
    begun = row.failures + row.crashes + row.losses
    if row.memo is None:
        return begun
    memo = read_memo(row.memo)
    return begun + memo.deferrals - memo.unmet
