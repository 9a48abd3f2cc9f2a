"""Repeats the first transition of a plain workflow for other runs of a batch, which begin with the same rows.

Runs that begin together differ only in their ids. The rows of the tasks that start, their moves and the run's row are
values that never change, so one of each serves all of them, down to the columns that a store writes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import msgspec

from turnout.model.events import DispatchDecision, TaskReadyEvent
from turnout.model.names import position_in, task_id
from turnout.model.rows import RunWrite, TaskRow
from turnout.model.run_machine import RunMachine
from turnout.model.states import RUN_RUNNING
from turnout.model.transition import Transition

_replace = msgspec.structs.replace


class Start(msgspec.Struct, frozen=True, gc=False):
    """A task that the first transition starts."""

    row: TaskRow
    event: TaskReadyEvent

    def is_by(self, decision: DispatchDecision) -> bool:
        """True if the task was started by this decision."""
        row = self.row
        return (
            row.executor == decision.executor_key
            and row.decision == decision.reason
            and row.labels == decision.labels
            and row.resources == decision.resources
        )


class FirstTransition(msgspec.Struct, frozen=True, gc=False):
    """The first transition of one run, and what it was made from."""

    tasks: list[TaskRow]
    epoch: int
    seq: int
    starts: Sequence[Start]
    transition: Transition
    write: RunWrite

    @classmethod
    def of(
        cls, before: list[TaskRow], transition: Transition, write: RunWrite, events: Iterable[TaskReadyEvent]
    ) -> FirstTransition | None:
        """Returns the transition of a run with these rows, if others can repeat it: it starts tasks of a plain
        workflow, and does nothing else."""
        machine, rows = transition.machine, transition.rows
        starts = [Start(rows[position_in(event.run_id, event.task_id)], event) for event in events]
        alone = len(starts) == len(rows) == len(transition.history) and machine.row.state is RUN_RUNNING
        # A task that was attempted before goes where it went then.
        first = all(before[start.row.pos].executor is None and start.event.attempt == 1 for start in starts)
        if not (machine.graph.plain and starts and alone and first) or write.answer is not None or write.items:
            return None
        return cls(before, machine.epoch, machine.seq, starts, transition, write)

    def fits(self, machine: RunMachine) -> bool:
        """True if a run of the same graph begins in the same way."""
        return (
            machine.seq == self.seq
            and machine.epoch == self.epoch
            and machine.row.state is RUN_RUNNING
            and machine.new.rerun_of is None
            and machine.new.parent_run is None
            and machine.tasks == self.tasks
        )

    def event(self, start: Start, machine: RunMachine) -> TaskReadyEvent:
        """Returns the attempt that this start is for another run."""
        new = machine.new
        return _replace(
            start.event, run_id=new.run_id, task_id=task_id(new.run_id, start.row.pos), priority=new.priority
        )

    def repeated(self, machine: RunMachine, jitter: Callable[[], float]) -> Transition:
        """Returns the transition of another run."""
        first = self.transition
        return Transition(
            machine, first.now, jitter, rows=first.rows, run=first.run, history=first.history, seq=first.seq
        )

    def written(self, machine: RunMachine) -> RunWrite:
        """Returns the write of another run."""
        new, write = machine.new, self.write
        if write.insert is None:
            return _replace(write, run_id=new.run_id)
        return _replace(write, run_id=new.run_id, insert=new)
