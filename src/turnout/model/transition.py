"""Collects the changes of one run that results and commands cause. No I/O, no clock, no randomness of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise

import msgspec

from turnout.model.bindings import merge_contexts
from turnout.model.branches import accepted_end, checked_choice, restore_choices, skip_reason, skip_unchosen
from turnout.model.events import STATUS_COMPLETED, DispatchDecision, ErrorInfo, ExecutionResult, TaskReadyEvent
from turnout.model.expansion import (
    advance_groups,
    evaluate_item,
    finish_group,
    items_of_group,
    offerable_within_limits,
    open_group,
    open_piped_group,
    ready_within_limits,
    resume_groups,
    steps_within_limit,
    value_in,
)
from turnout.model.groups import Expansion, startable
from turnout.model.hooks import call_hooks, call_stuck, only_hooks_open, open_hooks
from turnout.model.moves import AddItems, End, MakeReady, Move, StartGroup, Stop
from turnout.model.reasons import (
    PAUSED,
    RUN_TIMED_OUT,
    STORE_REJECTED,
    end_detail,
    reason_detail,
    start_detail,
    success_detail,
)
from turnout.model.row_changes import (
    answer_to_parent,
    completed,
    ended,
    group_started,
    insertion,
    moved_run,
    offered,
    retried,
    started,
)
from turnout.model.rows import HistoryRow, RunRow, RunWrite, TaskRow
from turnout.model.rules import default_rule, evaluate, needs_context
from turnout.model.run_machine import RunMachine
from turnout.model.run_outcome import end_of
from turnout.model.states import (
    RUN_CANCELLING,
    RUN_FOLDED,
    RUN_PAUSED,
    RUN_RUNNING,
    TASK_COMPLETED,
    TASK_PENDING,
    TASK_READY,
    TASK_RUNNING,
    TASK_TERMINAL,
    RunState,
    TaskState,
)
from turnout.model.verdict import Verdict, verdict, verdict_when_cancelling

NO_ITEMS: list[TaskRow] = []
MAX_EXPLAINED = 256
"""Ready tasks that get the reason when a run is paused: thousands of items are not written for that alone."""


def _no_jitter() -> float:
    return 0.0


class Transition(msgspec.Struct, gc=False, eq=False):
    """The changes of one run that are to be committed together."""

    machine: RunMachine
    now: float
    jitter: Callable[[], float] = _no_jitter
    tasks: Sequence[TaskRow] = ()
    """The rows as they were before this transition; those that it adds come last."""
    rows: dict[int, TaskRow] = {}
    run: RunRow | None = None
    history: list[HistoryRow] = []
    seq: int = 0
    expansion: Expansion | None = None
    """The changes to mapped tasks, if any."""
    _ended: int = 0
    awaits_claim_check: bool = False
    """True if a task was ended that a poller may have claimed meanwhile: the run ends only once that has applied."""
    _to_advance: list[int] | None = None
    """Ended tasks whose dependents are to be evaluated, and tasks that end by that; ``~pos`` for mapped tasks that got
    their items."""
    _open_dependencies: dict[int, int] | None = None
    """Open dependencies of a task after this transition, where the number has changed and is not zero."""
    due: list[int] = []
    """Pending tasks of a plain workflow whose dependencies have completed. They start in this transition, which is one
    move, or ``settle`` makes them ready."""
    has_ready: bool = False
    """True if this transition has made a task ready that may still be so."""

    def __post_init__(self) -> None:
        self.seq = self.machine.seq
        self.tasks = self.machine.tasks

    # -- reading ------------------------------------------------------------------------------------------------
    def task(self, pos: int) -> TaskRow:
        if self.due:
            self.settle()
        return self.rows.get(pos) or self.tasks[pos]

    def _row(self, pos: int) -> TaskRow:
        """Returns the row as it is so far: a task that is due is still pending."""
        return self.rows.get(pos) or self.tasks[pos]

    @property
    def run_row(self) -> RunRow:
        return self.run or self.machine.row

    @property
    def open_after(self) -> int:
        """The number of open tasks after this transition, with hooks and the items that it adds."""
        added = 0 if self.expansion is None else len(self.expansion.added)
        return self.machine.open + added - self._ended

    @property
    def empty(self) -> bool:
        return not self.rows and self.run is None

    def items_in(self, pos: int) -> range:
        """Returns the positions of a mapped task's items; empty before it has any."""
        group = self.machine.groups.get(pos)
        if group is not None:
            return group.items
        return range(0) if self.expansion is None else self.expansion.opened.get(pos, range(0))

    def ready(self) -> list[int]:
        """Returns the tasks that may be dispatched now, oldest first; those made ready by this transition last."""
        if self.due:
            self.settle()
        machine = self.machine
        state = (self.run or machine.row).state
        # While a run is being cancelled only its hooks can be ready.
        if state is not RUN_RUNNING and not (state is RUN_CANCELLING and machine.graph.hooks):
            return []
        if machine.graph.max_active_steps is not None:
            return steps_within_limit(self, ready_within_limits(self))
        if machine.graph.limited:
            return list(ready_within_limits(self))
        rows, before = self.rows, machine.ready
        found = [pos for pos in before if pos not in rows or startable(rows[pos])] if before else []
        for pos, row in rows.items():
            if row.state is TASK_READY and pos not in before and startable(row):
                found.append(pos)
        return found

    def made_ready(self) -> list[int]:
        """Returns the tasks that this transition makes ready, also those with a delay."""
        if self.due:
            self.settle()
        return [pos for pos, row in self.rows.items() if row.state is TASK_READY]

    def offerable(self) -> Iterable[int]:
        """Returns the ready tasks that may be offered to pollers, also those whose delay is not over."""
        if self.machine.graph.max_active_steps is not None:
            return steps_within_limit(self, offerable_within_limits(self))
        if self.machine.graph.limited:
            return offerable_within_limits(self)
        return {**self.machine.ready, **dict.fromkeys(self.made_ready())}

    # -- moving -------------------------------------------------------------------------------------------------
    def begin(self) -> None:
        """Makes ready, or skips, the tasks that wait for nothing: a new run's roots, a claimed run's open tasks."""
        hooks = self.machine.graph.hooks
        if self.machine.new.rerun_of is not None:
            self._apply(restore_choices(self))
        for pos, left in enumerate(self.machine.remaining):
            if left == 0 and self._row(pos).state is TASK_PENDING and pos not in hooks:
                self._evaluate_trigger(pos)
        if self.machine.graph.pipes:
            self._apply(resume_groups(self))

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

    def set_wait_reason(self, pos: int, reason: str) -> None:
        """Sets the waiting reason of a task that this transition makes ready; the reason alone causes no commit."""
        if self.due:
            self.settle()
        row = self.rows.get(pos)
        if row is not None and row.state is TASK_READY and row.reason != reason:
            self.rows[pos] = msgspec.structs.replace(row, reason=reason)

    def update_wait_reason(self, pos: int, reason: str | None) -> None:
        """Sets the waiting reason of a ready task, also if it was ready before; this alone causes a commit."""
        row = self.task(pos)
        if row.state is TASK_READY and row.reason != reason:
            was = self.tasks[pos]
            if pos not in self.rows:
                row = msgspec.structs.replace(row, was=was.state, was_attempt=was.attempt)
            self.rows[pos] = msgspec.structs.replace(row, reason=reason)

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
            self._complete(pos, row, result)
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
            self._schedule_retry(pos, result, outcome)
        else:
            self.end(pos, outcome.state, result, outcome)
        return True

    def cancel(self, reason: str, error: ErrorInfo | None = None) -> list[int]:
        """Begins to cancel: tasks that have not started end now. Returns the running tasks, which are to be stopped.

        Hooks continue. A second command to cancel ends them too.
        """
        state, hooks = self.run_row.state, self.machine.graph.hooks
        if state is RUN_CANCELLING and hooks and reason != RUN_TIMED_OUT:
            return self._end_hooks(reason)
        if state in (RUN_CANCELLING, RunState.COMPLETED, RunState.FAILED, RunState.CANCELLED):
            return []
        if hooks and reason == RUN_TIMED_OUT and only_hooks_open(self):
            return []  # Only hooks are late, and they do not affect how the run ends.
        self._move_run(RUN_CANCELLING, reason=reason, error=error)
        return self.go_on_cancelling()

    def go_on_cancelling(self) -> list[int]:
        """Ends tasks that have not started in a run that is being cancelled, except hooks; returns the running ones."""
        reason, hooks, mapped = self.run_row.reason, self.machine.graph.hooks, self.machine.graph.mapped
        running: list[int] = []
        for pos in range(len(self.tasks)):
            if pos in hooks:
                continue
            row = self.task(pos)
            if row.state is TASK_RUNNING:
                if pos not in mapped:  # A mapped task ends with the last of its items.
                    running.append(pos)
            elif row.state not in TASK_TERMINAL:
                self.stop(pos, TaskState.CANCELLED, reason)
        return running

    def call_stuck(self, hook: str) -> None:
        """Calls a hook because the run should have ended by now."""
        self._apply(call_stuck(self, self.machine.graph.position[hook]))

    def stop_running(self, pos: int, reason: str) -> None:
        """Ends a running attempt without a result: a poller's, or one that does not answer a cancellation."""
        if self.task(pos).state is TASK_RUNNING:
            self.stop(pos, TaskState.CANCELLED, reason)

    def pause(self, reason: str = "paused") -> None:
        if self.due:
            self.settle()
        if self.run_row.state in (RUN_RUNNING, RunState.PENDING):
            self._move_run(RunState.PAUSED, reason=reason)
            for pos in list(self.machine.ready)[:MAX_EXPLAINED]:
                self.update_wait_reason(pos, PAUSED)

    def resume(self) -> None:
        if self.run_row.state is RunState.PAUSED:
            self._move_run(RUN_RUNNING)
            for pos in self.machine.ready:
                if self.task(pos).reason == PAUSED:
                    self.update_wait_reason(pos, None)

    def reject(self, error: ErrorInfo, reason: str = STORE_REJECTED) -> None:
        """Fails the run because its data cannot be stored or used: cancels open tasks, and drops the data."""
        self.cancel(reason, error)
        for pos in range(len(self.tasks)):
            self.stop_running(pos, reason)
        self._end_hooks(reason)
        if not self.awaits_claim_check:
            self._move_run(RunState.FAILED, reason=reason, error=error)

    def finish(self) -> None:
        """Makes due tasks that did not start ready, and ends the run if no task is open."""
        if self.due:
            self.settle()
        graph = self.machine.graph
        for pos in self.machine.finished_groups:
            self._apply(finish_group(self, pos))
        if graph.hooks:
            self._apply(call_hooks(self))
        if self.open_after or self.awaits_claim_check:
            return
        if self.run_row.state in (RUN_RUNNING, RUN_CANCELLING):
            end = end_of(graph, self.run_row, self.task)
            self._move_run(end.state, reason=end.reason, error=end.error)

    def write(self) -> RunWrite:
        if self.due:
            self.settle()
        new = self.machine.new
        return RunWrite(
            run_id=new.run_id,
            epoch=self.machine.epoch,
            run=self.run,
            tasks=list(self.rows.values()) if self.expansion is None else self._rows_to_change(),
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
        if self.due:
            self.settle()
        rows = [self.rows.get(row.pos, row) for row in self.tasks] if owner else self.machine.tasks
        self.run = self.run or RunRow(state=state, reason=reason, started_at=self.now if owner else None)
        return insertion(self.machine, owner, self.run, rows, self.history)

    # -- one row ------------------------------------------------------------------------------------------------
    def _complete(self, pos: int, row: TaskRow, result: ExecutionResult) -> None:
        """Ends a committed attempt of a plain workflow with its output: ``end``, without what others need besides."""
        graph, remaining, version = self.machine.graph, self.machine.remaining, result.handler_version
        seq = self.log(
            pos, TASK_RUNNING, TASK_COMPLETED, row.attempt, success_detail(None, version) if version else None
        )
        self.rows[pos] = completed(row, row, result, self.now, seq)
        self._ended += 1
        for dependent in graph.dependents[pos]:
            known = self._open_dependencies
            left = remaining[dependent] if known is None else known.get(dependent, remaining[dependent])
            if left > 1:
                if known is None:
                    known = self._open_dependencies = {}
                known[dependent] = left - 1
            elif self.tasks[dependent].state is TASK_PENDING and dependent not in self.rows:
                if graph.dep_counts[dependent] == 1:
                    self.due.append(dependent)
                else:
                    self._evaluate_trigger(dependent)

    def settle(self) -> None:
        """Makes the due tasks ready that did not start."""
        due, self.due = self.due, []
        for pos in due:
            if self._row(pos).state is TASK_PENDING:
                self.make_ready(pos)

    def _schedule_retry(self, pos: int, result: ExecutionResult, outcome: Verdict) -> None:
        """Moves a task from running to ready: it is retried."""
        row = self.task(pos)
        detail = end_detail(result, outcome.reason, outcome.delay)
        seq = self.log(pos, TASK_RUNNING, TASK_READY, row.attempt, detail)
        self.rows[pos] = retried(row, self.tasks[pos], result, outcome, seq)
        self.has_ready = True

    def end(self, pos: int, state: TaskState, result: ExecutionResult | None, outcome: Verdict) -> None:
        """Moves a task to a terminal state, with a result or without one."""
        committed = self.tasks[pos]
        row = self.rows.get(pos, committed)
        chosen = None
        if result is not None and state is TASK_COMPLETED:
            chosen, version = result.chosen, result.handler_version
            detail = success_detail(chosen, version) if chosen is not None or version else None
            seq = self.log(pos, row.state, state, row.attempt, detail)
            self.rows[pos] = completed(row, committed, result, self.now, seq)
        else:
            detail = reason_detail(outcome.reason) if result is None else end_detail(result, outcome.reason, None)
            seq = self.log(pos, row.state, state, row.attempt, detail)
            self.rows[pos] = ended(row, committed, state, result, outcome, self.now, seq)
        self._ended += 1
        if committed.state is TASK_READY and committed.poll_key is not None:
            self.awaits_claim_check = True
        if chosen is not None and self.run_row.state is not RUN_CANCELLING:
            self._apply(skip_unchosen(self, pos, chosen))
        self.advance_dependents(pos)
        if row.group is not None:
            self._item_ended(row.group)

    def stop(self, pos: int, state: TaskState, reason: str | None) -> None:
        """Moves a task to a terminal state without a result."""
        self.end(pos, state, None, Verdict(state, reason))

    # -- moves of branches, hooks and mapped tasks --------------------------------------------------------------
    def _apply(self, moves: Iterable[Move]) -> None:
        """Makes these moves, each before the next is decided."""
        for move in moves:
            match move:
                case MakeReady():
                    self.make_ready(move.pos, move.reason)
                case Stop():
                    self.stop(move.pos, move.state, move.reason)
                case End():
                    self.end(move.pos, move.verdict.state, move.result, move.verdict)
                case StartGroup():
                    self._start_group(move.pos)
                case AddItems():
                    self._add_items(move.pos, move.count)

    def _start_group(self, pos: int) -> None:
        seq = self.log(pos, TASK_PENDING, TASK_RUNNING, 1, reason_detail("mapped"))
        self.rows[pos] = group_started(self.task(pos), self.now, seq)

    def _add_items(self, pos: int, count: int) -> None:
        if self.expansion is None:
            self.expansion = Expansion()
        expansion, first = self.expansion, len(self.tasks)
        added = items_of_group(pos, self.task(pos), first, count)
        expansion.opened[pos] = range(first, first + count)
        expansion.open_items[pos] = count
        expansion.added += added
        self.tasks = [*self.tasks, *added]
        for item in added:
            self._apply(evaluate_item(self, item))
        self.advance_dependents(~pos)

    def _item_ended(self, group: int) -> None:
        """Ends the mapped task with its last item, unless a claim of a poller may prevent this transition."""
        if self.expansion is None:
            self.expansion = Expansion()
        open_items = self.expansion.open_items
        known = open_items.get(group)
        open_items[group] = (self.machine.groups[group].open if known is None else known) - 1
        if open_items[group] == 0 and not self.awaits_claim_check:
            self._apply(finish_group(self, group))

    def _end_hooks(self, reason: str) -> list[int]:
        """Ends all open hooks, the running ones without waiting for their answer. Returns those that ran."""
        open_ = open_hooks(self)
        running = [pos for pos in open_ if self.task(pos).state is TASK_RUNNING]
        for pos in open_:
            self.stop(pos, TaskState.CANCELLED, reason)
        return running

    # -- readiness ----------------------------------------------------------------------------------------------
    def advance_dependents(self, pos: int) -> None:
        """Evaluates the triggers of dependents that waited only for this task, which has ended."""
        machine = self.machine
        if (self.run or machine.row).state is RUN_CANCELLING:
            return
        # A skip ends a further task: a loop, not recursion, as a chain may be longer than the stack is deep.
        if self._to_advance is not None:
            self._to_advance.append(pos)
            return
        graph, remaining = machine.graph, machine.remaining
        self._to_advance = [pos]
        for done in self._to_advance:
            if done < 0 or done >= len(graph.tasks):
                self._apply(advance_groups(self, done))
                continue
            for dependent in graph.dependents[done]:
                known = self._open_dependencies
                left = remaining[dependent] if known is None else known.get(dependent, remaining[dependent])
                if left > 1:
                    if known is None:
                        known = self._open_dependencies = {}
                    known[dependent] = left - 1
                    if dependent in graph.pipes:
                        self._apply(open_piped_group(self, dependent))
                elif (self.rows.get(dependent) or self.tasks[dependent]).state is TASK_PENDING:
                    self._evaluate_trigger(dependent)
        self._to_advance = None

    def _evaluate_trigger(self, pos: int) -> None:
        graph = self.machine.graph
        task, deps = graph.tasks[pos], graph.deps[pos]
        if task.rule is None:
            go = self._all_completed(deps) or default_rule(
                (row.state, accepted_end(row, graph.tasks[row.pos])) for row in map(self._row, deps)
            )
        else:
            states = {graph.tasks[dep].name: self._row(dep).state for dep in deps}
            go = evaluate(task.rule, states, self._context(deps) if needs_context(task.rule) else {})
        if go and pos in graph.mapped:
            self._apply(open_group(self, pos))
        elif go and graph.plain and (self.run or self.machine.row).state is RUN_RUNNING:
            self.due.append(pos)
        elif go:
            self.make_ready(pos)
        else:
            self.stop(pos, TaskState.SKIPPED, skip_reason((self._row(dep), graph.tasks[dep]) for dep in deps))

    def make_ready(self, pos: int, reason: str | None = None) -> None:
        """Moves a task from pending to ready."""
        row = self.rows.get(pos) or self.tasks[pos]
        seq = self.log(pos, TASK_PENDING, TASK_READY, 0, None)
        if reason is None and (self.run or self.machine.row).state is RUN_PAUSED:
            reason = PAUSED
        self.rows[pos] = msgspec.structs.replace(row, state=TASK_READY, reason=reason, seq=seq, was=TASK_PENDING)
        self.has_ready = True

    def _all_completed(self, positions: tuple[int, ...]) -> bool:
        rows, tasks = self.rows, self.tasks
        for pos in positions:  # noqa: SIM110 - a generator for each task is slower
            if rows.get(pos, tasks[pos]).state is not TASK_COMPLETED:
                return False
        return True

    def _context(self, deps: tuple[int, ...]) -> dict[str, object]:
        """Returns the context of a trigger rule: the run's input, then the outputs of the dependencies."""
        contexts = [msgspec.json.decode(self.machine.new.input)]
        for dep in deps:
            row = self.task(dep)
            if row.output is not None:
                mapped = dep in self.machine.graph.mapped
                value = value_in(self, dep) if mapped else msgspec.json.decode(row.output)
                contexts.append(value if isinstance(value, dict) else {self.machine.graph.tasks[dep].name: value})
        return merge_contexts(contexts)

    # -- writing ------------------------------------------------------------------------------------------------
    def log(self, pos: int, old: str, new: str, attempt: int, detail: str | None) -> int:
        seq = self.seq = self.seq + 1
        self.history.append(HistoryRow(seq, pos, old, new, attempt, detail))
        return seq

    def _move_run(self, state: RunState, *, reason: str | None = None, error: ErrorInfo | None = None) -> None:
        row = self.run_row
        path = RUN_FOLDED.get((row.state, state), (row.state, state))
        for old, new in pairwise(path):
            self.log(-1, old, new, 0, reason_detail(reason))
        self.run = moved_run(row, self.machine.row.state, state, self.now, reason, error)
