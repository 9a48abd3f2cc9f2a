"""What happens to a run: results and orders in, changes out. No I/O, no clock, no randomness of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise

import msgspec

from turnout.model.bindings import merge_contexts
from turnout.model.events import DispatchDecision, ErrorInfo, ExecutionResult, ExecutionStatus, TaskReadyEvent
from turnout.model.expansion import Doors, Expansion
from turnout.model.groups import placeable
from turnout.model.limits import offerable_within_limits, ready_within_limits
from turnout.model.machine import RunMachine
from turnout.model.reasons import (
    FOR_POLLERS,
    NOT_CHOSEN,
    RULE_SAID_NO,
    RUN_TIMED_OUT,
    STORE_REJECTED,
    because,
    by_choice,
    decided,
    ended,
)
from turnout.model.rows import HistoryRow, RunRow, RunWrite, TaskRow
from turnout.model.rules import default_rule, evaluate, needs_context
from turnout.model.states import RUN_FOLDED, TASK_TERMINAL, RunState, TaskState
from turnout.model.verdict import Verdict, verdict, verdict_when_cancelling


class Turn:
    """The changes of one run that are to be committed together."""

    __slots__ = (
        "_contested",
        "_ended",
        "_lefts",
        "_to_follow",
        "answered",
        "expansion",
        "history",
        "jitter",
        "machine",
        "now",
        "rows",
        "run",
        "seq",
        "tasks",
    )

    def __init__(self, machine: RunMachine, now: float, jitter: Callable[[], float] = lambda: 0.0) -> None:
        self.machine = machine
        self.now = now
        self.jitter = jitter
        self.tasks: Sequence[TaskRow] = machine.tasks
        """The rows as they were before this turn; those that it adds come last."""
        self.rows: dict[int, TaskRow] = {}
        self.run: RunRow | None = None
        self.history: list[HistoryRow] = []
        self.seq = machine.seq
        self.answered: list[int] = []
        """Positions whose running attempt ended by a result."""
        self.expansion: Expansion | None = None
        """What happens to mapped tasks; see ``_groups``."""
        self._ended = 0
        self._contested = False
        """A task was ended that a poller may have claimed meanwhile: the run ends only once that has applied."""
        self._to_follow: list[int] = []
        """Ended tasks whose dependents are still to be looked at, and ``~pos`` of mapped tasks that got their items."""
        self._lefts: dict[int, int] = {}
        """How many dependencies of a task are open after this turn, where that has changed."""

    # -- looking ------------------------------------------------------------------------------------------------
    def task(self, pos: int) -> TaskRow:
        return self.rows.get(pos) or self.tasks[pos]

    @property
    def run_row(self) -> RunRow:
        return self.run or self.machine.row

    @property
    def empty(self) -> bool:
        return not self.rows and self.run is None

    def ready(self) -> Iterator[int]:
        """Tasks that may be placed now, oldest first, those that this turn made ready last."""
        if self.run_row.state is not RunState.RUNNING:
            return
        if self.machine.graph.limited:
            yield from list(ready_within_limits(self))
            return
        for pos in list(self.machine.ready):
            if pos not in self.rows or placeable(self.rows[pos]):
                yield pos
        for pos, row in list(self.rows.items()):
            if pos not in self.machine.ready and placeable(row):
                yield pos

    def made_ready(self) -> list[int]:
        """Tasks that this turn makes ready, now or later."""
        return [pos for pos, row in self.rows.items() if row.state is TaskState.READY]

    def offerable(self) -> Iterable[int]:
        """Ready tasks that may be left to pollers, also those whose time has not come."""
        if self.machine.graph.limited:
            return offerable_within_limits(self)
        return {**self.machine.ready, **dict.fromkeys(self.made_ready())}

    # -- moving -------------------------------------------------------------------------------------------------
    def begin(self) -> None:
        """Make ready, or skip, what waits for nothing: a new run's roots, or what an adopted run left undone."""
        for pos, left in enumerate(self.machine.remaining):
            if left == 0 and self.task(pos).state is TaskState.PENDING:
                self._judge(pos)
        if self.machine.graph.pipes:
            self._groups().resume()

    def place(self, pos: int, decision: DispatchDecision, holder: str) -> TaskReadyEvent:
        """Ready to running: the one door in."""
        row = self.task(pos)
        attempt = row.attempt + 1
        seq = self._log(
            pos, TaskState.READY, TaskState.RUNNING, attempt, decided(decision.executor_key, decision.reason)
        )
        placed = TaskRow(
            pos=pos,
            name=row.name,
            state=TaskState.RUNNING,
            priority=row.priority,
            attempt=attempt,
            failures=row.failures,
            crashes=row.crashes,
            losses=row.losses,
            executor=decision.executor_key,
            decision=decision.reason,
            labels=decision.labels,
            holder=holder,
            error=row.error,
            dispatched_at=self.now,
            seq=seq,
            was=self.tasks[pos].state,
            was_attempt=self.tasks[pos].attempt,
            group=row.group,
            index=row.index,
        )
        self.rows[pos] = placed
        return self.machine.event(pos, placed)

    def offer(self, pos: int, decision: DispatchDecision) -> None:
        """Leave a ready task to the pollers of the decided key."""
        row = self.task(pos)
        self.rows[pos] = msgspec.structs.replace(
            row,
            poll_key=decision.executor_key,
            executor=decision.executor_key,
            decision=decision.reason,
            labels=decision.labels,
            reason=FOR_POLLERS,
            was=self.tasks[pos].state,
            was_attempt=self.tasks[pos].attempt,
        )

    def explain(self, pos: int, reason: str) -> None:
        """Say why a task that this very turn makes ready is not started; no commit is made for the reason alone."""
        row = self.rows.get(pos)
        if row is not None and row.state is TaskState.READY and row.reason != reason:
            self.rows[pos] = msgspec.structs.replace(row, reason=reason)

    def result(self, result: ExecutionResult, pos: int) -> bool:
        """Running to whatever the verdict says: the one door out. False: not this attempt's, or a second answer."""
        row = self.task(pos)
        if row.state is not TaskState.RUNNING or row.attempt != result.attempt or result.shadow:
            return False
        if pos in self.machine.graph.mapped:
            return False
        self.answered.append(pos)
        run = self.run_row
        if run.state is RunState.CANCELLING:
            said = verdict_when_cancelling(result, run.reason)
        else:
            machine = self.machine
            task = machine.graph.tasks[pos if row.group is None else row.group]
            said = verdict(result, row, task, machine.limits, self.jitter)
        if said.state is TaskState.READY:
            self._again(pos, result, said)
        else:
            self._end(pos, said.state, result, said)
        return True

    def cancel(self, reason: str, error: ErrorInfo | None = None) -> list[int]:
        """Begin to cancel: what has not started ends now. Returns the running tasks, which must be asked to stop."""
        if self.run_row.state in (RunState.CANCELLING, RunState.COMPLETED, RunState.FAILED, RunState.CANCELLED):
            return []
        self._move_run(RunState.CANCELLING, reason=reason, error=error)
        return self.go_on_cancelling()

    def go_on_cancelling(self) -> list[int]:
        """End what has not started in a run that is being cancelled; returns the running tasks."""
        reason = self.run_row.reason
        running: list[int] = []
        for pos in range(len(self.tasks)):
            row = self.task(pos)
            if row.state is TaskState.RUNNING:
                # A mapped task ends with the last of its items.
                if pos not in self.machine.graph.mapped:
                    running.append(pos)
            elif row.state not in TASK_TERMINAL:
                self._stop(pos, TaskState.CANCELLED, reason)
        return running

    def stop_running(self, pos: int, reason: str) -> None:
        """End a running attempt without its executor's word: a poller's, or one that does not answer a cancellation."""
        if self.task(pos).state is TaskState.RUNNING:
            self._stop(pos, TaskState.CANCELLED, reason)

    def pause(self) -> None:
        if self.run_row.state in (RunState.RUNNING, RunState.PENDING):
            self._move_run(RunState.PAUSED, reason="paused")

    def resume(self) -> None:
        if self.run_row.state is RunState.PAUSED:
            self._move_run(RunState.RUNNING)

    def reject(self, error: ErrorInfo) -> None:
        """Fail the run because the database refuses its data: what is open is cancelled, nothing of the data kept."""
        self.cancel(STORE_REJECTED, error)
        for pos in range(len(self.tasks)):
            self.stop_running(pos, STORE_REJECTED)
        if not self._contested:
            self._move_run(RunState.FAILED, reason=STORE_REJECTED, error=error)

    def finish(self) -> None:
        """End the run if nothing is left to do."""
        for group in self.machine.settling:
            self._groups().settle(group)
        if self.machine.open - self._ended or self._contested:
            return
        state = self.run_row.state
        if state is RunState.CANCELLING:
            row = self.run_row
            end = RunState.FAILED if row.reason in (RUN_TIMED_OUT, STORE_REJECTED) else RunState.CANCELLED
            self._move_run(end, reason=row.reason, error=row.error)
        elif state is RunState.RUNNING:
            failed = [pos for pos in range(len(self.machine.graph.tasks)) if self._unexcused(pos)]
            if failed:
                first = self.task(failed[0])
                self._move_run(RunState.FAILED, reason=f"task_failed:{first.name}", error=first.error)
            else:
                self._move_run(RunState.COMPLETED)

    def write(self) -> RunWrite:
        new = self.machine.new
        return RunWrite(
            run_id=new.run_id,
            epoch=self.machine.epoch,
            run=self.run,
            tasks=list(self.rows.values()) if self.expansion is None else self._rows_to_change(),
            items=self._rows_to_add() if self.expansion is not None else [],
            history=self.history,
        )

    def _rows_to_change(self) -> list[TaskRow]:
        return [row for pos, row in self.rows.items() if pos < len(self.machine.tasks)]

    def _rows_to_add(self) -> list[TaskRow]:
        return [self.task(row.pos) for row in self.tasks[len(self.machine.tasks) :]]

    def insert(self, owner: str | None) -> RunWrite:
        """The write that stores a new run: owned from the start with this turn's moves, or pending for any claimer."""
        machine = self.machine
        state = RunState.RUNNING if owner else RunState.PENDING
        rows = [self.rows.get(row.pos, row) for row in self.tasks] if owner else machine.tasks
        first = HistoryRow(0, -1, None, state)
        self.run = self.run or RunRow(state=state, started_at=self.now if owner else None)
        return RunWrite(
            run_id=machine.new.run_id,
            epoch=machine.epoch,
            insert=machine.new,
            owner=owner if not self.run.state.terminal else None,
            run=self.run,
            tasks=rows,
            history=[first, *self.history] if owner else [first],
        )

    # -- one row ------------------------------------------------------------------------------------------------
    def _again(self, pos: int, result: ExecutionResult, said: Verdict) -> None:
        """Running to ready: another attempt follows."""
        row = self.task(pos)
        detail = ended(result, said.reason, said.delay)
        self.rows[pos] = TaskRow(
            pos=pos,
            name=row.name,
            priority=row.priority,
            state=TaskState.READY,
            attempt=row.attempt,
            failures=row.failures + said.failures,
            crashes=row.crashes + said.crashes,
            losses=row.losses + said.losses,
            reason=said.reason,
            retry_in=said.delay or None,
            executor=row.executor,
            decision=row.decision,
            labels=row.labels,
            error=result.error if result.status is not ExecutionStatus.RETURNED else row.error,
            seq=self._log(pos, TaskState.RUNNING, TaskState.READY, row.attempt, detail),
            was=self.tasks[pos].state,
            was_attempt=self.tasks[pos].attempt,
            group=row.group,
            index=row.index,
        )

    def _end(self, pos: int, state: TaskState, result: ExecutionResult | None, said: Verdict) -> None:
        """To a terminal state, by a result or without one."""
        row = self.task(pos)
        output = error = detail = finished = None
        started = row.started_at
        if result is None:
            detail = because(said.reason)
        else:
            started, finished = result.started_at, result.finished_at
            if state is TaskState.COMPLETED:
                output = "null" if result.output is None else result.output
            else:
                error = result.error or row.error
                detail = ended(result, said.reason, None)
        self.rows[pos] = TaskRow(
            pos=pos,
            name=row.name,
            priority=row.priority,
            state=state,
            attempt=row.attempt,
            failures=row.failures + said.failures,
            crashes=row.crashes + said.crashes,
            losses=row.losses + said.losses,
            reason=said.reason,
            executor=row.executor,
            decision=row.decision,
            labels=row.labels,
            holder=row.holder,
            output=output,
            error=error,
            dispatched_at=row.dispatched_at,
            started_at=started,
            finished_at=finished or self.now,
            seq=self._log(pos, row.state, state, row.attempt, detail),
            was=self.tasks[pos].state,
            was_attempt=self.tasks[pos].attempt,
            group=row.group,
            index=row.index,
        )
        self._ended += 1
        committed = self.tasks[pos]
        self._contested |= committed.state is TaskState.READY and committed.poll_key is not None
        self._follow(pos)
        if row.group is not None:
            self._groups().item_ended(row.group, contested=self._contested)

    def _stop(self, pos: int, state: TaskState, reason: str | None) -> None:
        """To a terminal state without a result."""
        self._end(pos, state, None, Verdict(state, reason))

    # -- readiness ----------------------------------------------------------------------------------------------
    def _follow(self, pos: int) -> None:
        """A task ended: judge the dependents that waited for nothing else."""
        if self.run_row.state is RunState.CANCELLING:
            return
        # A skip ends a task in its turn: a loop instead of recursion, as a chain may be longer than the stack is deep.
        self._to_follow.append(pos)
        if len(self._to_follow) > 1:
            return
        graph = self.machine.graph
        for done in self._to_follow:
            if graph.mapped and self._follow_in_groups(done):
                continue
            for dependent in graph.dependents[done]:
                left = self._lefts.get(dependent, self.machine.remaining[dependent]) - 1
                self._lefts[dependent] = left
                if left == 0 and self.task(dependent).state is TaskState.PENDING:
                    self._judge(dependent)
                elif dependent in graph.pipes:
                    self._groups().try_open(dependent)
        self._to_follow.clear()

    def _follow_in_groups(self, pos: int) -> bool:
        """Follow an item that ended, or a mapped task that has got its items; False for a task that ended."""
        graph = self.machine.graph
        if pos >= len(graph.tasks):
            self._groups().follow_item(pos)
        elif pos < 0:
            for follower in graph.piped_into.get(~pos, ()):
                self._groups().try_open(follower)
        else:
            return False
        return True

    def _groups(self) -> Expansion:
        if self.expansion is None:
            self.expansion = Expansion(self, Doors(self._end, self._follow, self._log))
        return self.expansion

    def _judge(self, pos: int) -> None:
        graph = self.machine.graph
        task, deps = graph.tasks[pos], graph.deps[pos]
        if task.rule is None:
            rows = [self.task(dep) for dep in deps]
            go = all(row.state is TaskState.COMPLETED for row in rows) or default_rule(
                (row.state, by_choice(row)) for row in rows
            )
        else:
            states = {graph.tasks[dep].name: self.task(dep).state for dep in deps}
            go = evaluate(task.rule, states, self._context(deps) if needs_context(task.rule) else {})
        if pos in graph.mapped:
            self._judge_mapped(pos, go)
        elif go:
            row = self.task(pos)
            seq = self._log(pos, TaskState.PENDING, TaskState.READY, 0, None)
            self.rows[pos] = TaskRow(
                pos=pos, name=row.name, priority=row.priority, state=TaskState.READY, seq=seq, was=TaskState.PENDING
            )
        else:
            self._stop(pos, TaskState.SKIPPED, self._why_skipped(deps))

    def _judge_mapped(self, pos: int, go: bool) -> None:
        groups, graph = self._groups(), self.machine.graph
        if not go:
            self._stop(pos, TaskState.SKIPPED, self._why_skipped(graph.deps[pos]))
        elif graph.tasks[pos].rule is None and groups.lists_skipped(pos):
            self._stop(pos, TaskState.SKIPPED, NOT_CHOSEN)
        else:
            groups.open(pos)

    def _context(self, deps: tuple[int, ...]) -> dict[str, object]:
        """What a trigger rule sees: the run's input, then what the dependencies left."""
        left = [msgspec.json.decode(self.machine.new.input)]
        for dep in deps:
            row = self.task(dep)
            if row.output is not None:
                mapped = dep in self.machine.graph.mapped
                value = self._groups().value(dep) if mapped else msgspec.json.decode(row.output)
                left.append(value if isinstance(value, dict) else {self.machine.graph.tasks[dep].name: value})
        return merge_contexts(left)

    def _why_skipped(self, deps: tuple[int, ...]) -> str:
        reason = RULE_SAID_NO
        for dep in deps:
            row = self.task(dep)
            if by_choice(row):
                reason = NOT_CHOSEN
            elif row.state in (TaskState.FAILED, TaskState.SKIPPED, TaskState.CANCELLED):
                return f"dependency_{row.state.value}:{self.machine.graph.tasks[dep].name}"
        return reason

    def _unexcused(self, pos: int) -> bool:
        row, graph = self.task(pos), self.machine.graph
        if row.state is not TaskState.FAILED or (pos in graph.mapped and (row.reason or "").startswith("dependency_")):
            return False
        return not any(
            pos in graph.excuses[dependent] and self.task(dependent).state is TaskState.COMPLETED
            for dependent in graph.dependents[pos]
        )

    # -- writing ------------------------------------------------------------------------------------------------
    def _log(self, pos: int, old: str, new: str, attempt: int, detail: str | None) -> int:
        self.seq += 1
        self.history.append(HistoryRow(self.seq, pos, old, new, attempt, detail))
        return self.seq

    def _move_run(self, state: RunState, *, reason: str | None = None, error: ErrorInfo | None = None) -> None:
        row = self.run_row
        committed = self.machine.row.state
        path = RUN_FOLDED.get((row.state, state), (row.state, state))
        for old, new in pairwise(path):
            self._log(-1, old, new, 0, because(reason))
        self.run = RunRow(
            state=state,
            was=committed,
            reason=reason,
            error=error,
            started_at=row.started_at or self.now,
            finished_at=self.now if state.terminal else None,
        )
