"""Computes the changes of one run that results and commands cause. No I/O, no clock, no randomness of its own."""

from __future__ import annotations

from collections.abc import Iterable

from turnout.model.branches import checked_choice, restore_choices
from turnout.model.change_set import NO_ITEMS
from turnout.model.events import STATUS_COMPLETED, DispatchDecision, ExecutionResult, TaskReadyEvent
from turnout.model.expansion import (
    finish_group,
    offerable_within_limits,
    ready_within_limits,
    resume_groups,
    steps_within_limit,
)
from turnout.model.groups import startable
from turnout.model.hooks import call_hooks
from turnout.model.reasons import (
    start_detail,
)
from turnout.model.row_changes import (
    answer_to_parent,
    insertion,
    offered,
    started,
)
from turnout.model.rows import HistoryRow, RunRow, RunWrite, TaskRow
from turnout.model.run_moves import RunMoves
from turnout.model.run_outcome import end_of
from turnout.model.states import (
    RUN_CANCELLING,
    RUN_COMPLETED,
    RUN_RUNNING,
    TASK_PENDING,
    TASK_READY,
    TASK_RUNNING,
    RunState,
)
from turnout.model.verdict import verdict, verdict_when_cancelling


class Transition(RunMoves, gc=False, eq=False):
    """The changes of one run that are to be committed together, from what has come in for it."""

    def ready(self) -> list[int]:
        """Returns the tasks that may be dispatched now, oldest first; those made ready by this transition last."""
        rows, machine = self.settled(), self.machine
        state = (self.run or machine.row).state
        # While a run is being cancelled only its hooks can be ready.
        if state is not RUN_RUNNING and not (state is RUN_CANCELLING and machine.graph.hooks):
            return []
        if machine.graph.max_active_steps is not None:
            return steps_within_limit(self, ready_within_limits(self))
        if machine.graph.limited:
            return list(ready_within_limits(self))
        before = machine.ready
        found = [pos for pos in before if pos not in rows or startable(rows[pos])] if before else []
        for pos, row in rows.items():
            if row.state is TASK_READY and pos not in before and startable(row):
                found.append(pos)
        return found

    def offerable(self) -> Iterable[int]:
        """Returns the ready tasks that may be offered to pollers, also those whose delay is not over."""
        if self.machine.graph.max_active_steps is not None:
            return steps_within_limit(self, offerable_within_limits(self))
        if self.machine.graph.limited:
            return offerable_within_limits(self)
        return {**self.machine.ready, **dict.fromkeys(self.made_ready())}

    def begin(self) -> None:
        """Makes ready, or skips, the tasks that wait for nothing: a new run's roots, a claimed run's open tasks."""
        hooks = self.machine.graph.hooks
        if self.machine.new.rerun_of is not None:
            self.make(restore_choices(self))
        for pos, left in enumerate(self.machine.remaining):
            if left == 0 and self.row(pos).state is TASK_PENDING and pos not in hooks:
                self.evaluate_trigger(pos)
        if self.machine.graph.pipes:
            self.make(resume_groups(self))

    def start(self, pos: int, decision: DispatchDecision, holder: str, worker: str | None = None) -> TaskReadyEvent:
        """Moves a task from ready to running. ``worker`` is the name of a holder that is not an orchestrator."""
        committed = self.tasks[pos]
        row = self.rows.get(pos, committed)
        detail = start_detail(decision.executor_key, decision.reason, worker)
        if row.state is TASK_PENDING:
            seq = self.log(pos, TASK_PENDING, TASK_RUNNING, row.attempt + 1, detail)
        elif committed.state is TASK_PENDING:
            # It became ready in this transition: one move, in place of the one that made it ready.
            seq = row.seq
            move = HistoryRow(seq, pos, TASK_PENDING, TASK_RUNNING, row.attempt + 1, detail)
            self.history[seq - self.machine.seq - 1] = move
        else:
            seq = self.log(pos, TASK_READY, TASK_RUNNING, row.attempt + 1, detail)
        row = self.rows[pos] = started(row, committed, decision, holder, self.now, seq)
        return self.machine.event(pos, row)

    def offer(self, pos: int, decision: DispatchDecision) -> None:
        """Offers a ready task to the pollers of the decided key."""
        self.rows[pos] = offered(self.task(pos), self.tasks[pos], decision)

    def result(self, result: ExecutionResult, pos: int) -> bool:
        """Applies the verdict on a result. False if the result is of another attempt, or a second one."""
        row = self.rows.get(pos) or self.tasks[pos]
        if row.state is not TASK_RUNNING or row.attempt != result.attempt or result.shadow:
            return False
        machine = self.machine
        graph = machine.graph
        run = self.run or machine.row
        if (
            graph.plain
            and result.status is STATUS_COMPLETED
            and result.chosen is None
            and run.state is RUN_RUNNING
            and pos not in self.rows
        ):
            self.complete(pos, row, result)
            return True
        if pos in graph.mapped:
            return False  # It ends with its items only.
        if result.chosen is not None:
            result = checked_choice(result, graph, pos)
        if run.state is RUN_CANCELLING and pos not in graph.hooks:
            outcome = verdict_when_cancelling(result, run.reason)
        else:
            outcome = verdict(result, row, graph.tasks[row.task_pos], machine.limits, self.jitter, self.now)
        if outcome.state is TASK_READY:
            self.retry(pos, result, outcome)
        else:
            self.end(pos, outcome.state, result, outcome)
        return True

    def finish(self) -> None:
        """Makes due tasks that did not start ready, and ends the run if no task is open."""
        if self.due:
            self.settled()
        machine = self.machine
        graph = machine.graph
        for pos in machine.finished_groups:
            self.make(finish_group(self, pos))
        if graph.hooks:
            self.make(call_hooks(self))
        if self.open_after or self.awaits_claim_check:
            return
        run = self.run or machine.row
        if run.state is RUN_RUNNING and graph.plain and self.all_completed(range(len(self.tasks))):
            self.move_run(RUN_COMPLETED)
        elif run.state in (RUN_RUNNING, RUN_CANCELLING):
            end = end_of(graph, run, self.task)
            self.move_run(end.state, reason=end.reason, error=end.error)

    def write(self) -> RunWrite:
        rows, new = self.settled() if self.due else self.rows, self.machine.new
        return RunWrite(
            run_id=new.run_id,
            epoch=self.machine.epoch,
            run=self.run,
            tasks=list(rows.values()) if self.expansion is None else self._rows_to_change(),
            items=NO_ITEMS if self.expansion is None else [self.task(row.pos) for row in self.expansion.added],
            history=self.history,
            answer=None if new.parent_run is None else answer_to_parent(new, self.run),
        )

    def _rows_to_change(self) -> list[TaskRow]:
        known = len(self.machine.tasks)
        return [row for pos, row in self.rows.items() if pos < known]

    def insert(self, owner: str | None, reason: str | None = None) -> RunWrite:
        """Returns the write of a new run: owned from the start with this transition's moves, or pending for this
        reason."""
        state = RUN_RUNNING if owner else RunState.PENDING
        if owner is None:
            self.machine.epoch = 0  # before that of the first owner
        changed = self.settled()
        rows = [changed.get(row.pos, row) for row in self.tasks] if owner else self.machine.tasks
        self.run = self.run or RunRow(state=state, reason=reason, started_at=self.now if owner else None)
        return insertion(self.machine, owner, self.run, rows, self.history)
