"""Makes the moves of tasks in one transition, and those that follow for their dependents, their items and their run."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from turnout.model.bindings import merge_contexts
from turnout.model.branches import accepted_end, skip_reason, skip_unchosen
from turnout.model.change_set import ChangeSet
from turnout.model.events import ExecutionResult
from turnout.model.expansion import (
    advance_groups,
    evaluate_item,
    finish_group,
    items_of_group,
    open_group,
    open_piped_group,
    value_in,
)
from turnout.model.groups import Expansion
from turnout.model.moves import AddItems, End, MakeReady, Move, StartGroup, Stop
from turnout.model.reasons import PAUSED, end_detail, reason_detail, success_detail
from turnout.model.row_changes import completed, ended, group_started, retried
from turnout.model.rows import TaskRow
from turnout.model.rules import default_rule, evaluate, needs_context
from turnout.model.states import (
    RUN_CANCELLING,
    RUN_PAUSED,
    RUN_RUNNING,
    TASK_COMPLETED,
    TASK_PENDING,
    TASK_READY,
    TASK_RUNNING,
    TaskState,
)
from turnout.model.verdict import Verdict


class TaskMoves(ChangeSet, gc=False, eq=False):
    """The moves of single tasks, whatever causes them."""

    def settled(self) -> dict[int, TaskRow]:
        """Returns the rows so far, after the due tasks that did not start were made ready. Every reader of what a task
        comes to takes the rows from here."""
        if self.due:
            due, self.due = self.due, []
            for pos in due:
                if self.row(pos).state is TASK_PENDING:
                    self.make_ready(pos)
        return self.rows

    def task(self, pos: int) -> TaskRow:
        return self.settled().get(pos) or self.tasks[pos]

    def made_ready(self) -> list[int]:
        """Returns the tasks that this transition makes ready, also those with a delay."""
        return [pos for pos, row in self.settled().items() if row.state is TASK_READY]

    def complete(self, pos: int, row: TaskRow, result: ExecutionResult) -> None:
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
                    self.evaluate_trigger(dependent)

    def retry(self, pos: int, result: ExecutionResult, outcome: Verdict) -> None:
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
            self.make(skip_unchosen(self, pos, chosen))
        self.advance_dependents(pos)
        if row.group is not None:
            self._item_ended(row.group)

    def stop(self, pos: int, state: TaskState, reason: str | None) -> None:
        """Moves a task to a terminal state without a result."""
        self.end(pos, state, None, Verdict(state, reason))

    def make_ready(self, pos: int, reason: str | None = None) -> None:
        """Moves a task from pending to ready."""
        row = self.rows.get(pos) or self.tasks[pos]
        seq = self.log(pos, TASK_PENDING, TASK_READY, 0, None)
        if reason is None and (self.run or self.machine.row).state is RUN_PAUSED:
            reason = PAUSED
        self.rows[pos] = msgspec.structs.replace(row, state=TASK_READY, reason=reason, seq=seq, was=TASK_PENDING)
        self.has_ready = True

    # -- dependents ---------------------------------------------------------------------------------------------
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
                self.make(advance_groups(self, done))
                continue
            for dependent in graph.dependents[done]:
                known = self._open_dependencies
                left = remaining[dependent] if known is None else known.get(dependent, remaining[dependent])
                if left > 1:
                    if known is None:
                        known = self._open_dependencies = {}
                    known[dependent] = left - 1
                    if dependent in graph.pipes:
                        self.make(open_piped_group(self, dependent))
                elif (self.rows.get(dependent) or self.tasks[dependent]).state is TASK_PENDING:
                    self.evaluate_trigger(dependent)
        self._to_advance = None

    def evaluate_trigger(self, pos: int) -> None:
        graph = self.machine.graph
        task, deps = graph.tasks[pos], graph.deps[pos]
        if task.rule is None:
            go = self.all_completed(deps) or default_rule(
                (row.state, accepted_end(row, graph.tasks[row.pos])) for row in map(self.row, deps)
            )
        else:
            states = {graph.tasks[dep].name: self.row(dep).state for dep in deps}
            go = evaluate(task.rule, states, self._context(deps) if needs_context(task.rule) else {})
        if go and pos in graph.mapped:
            self.make(open_group(self, pos))
        elif go and graph.plain and (self.run or self.machine.row).state is RUN_RUNNING:
            self.due.append(pos)
        elif go:
            self.make_ready(pos)
        else:
            self.stop(pos, TaskState.SKIPPED, skip_reason((self.row(dep), graph.tasks[dep]) for dep in deps))

    def all_completed(self, positions: Iterable[int]) -> bool:
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

    # -- moves of branches, hooks and mapped tasks --------------------------------------------------------------
    def make(self, moves: Iterable[Move]) -> None:
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
            self.make(evaluate_item(self, item))
        self.advance_dependents(~pos)

    def _item_ended(self, group: int) -> None:
        """Ends the mapped task with its last item, unless a claim of a poller may prevent this transition."""
        if self.expansion is None:
            self.expansion = Expansion()
        open_items = self.expansion.open_items
        known = open_items.get(group)
        open_items[group] = (self.machine.groups[group].open if known is None else known) - 1
        if open_items[group] == 0 and not self.awaits_claim_check:
            self.make(finish_group(self, group))
