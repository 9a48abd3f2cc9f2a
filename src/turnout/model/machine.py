"""What happens to a run: results and commands in, changes out. No I/O, no clock, no randomness of its own.

A ``RunMachine`` holds what is committed. A ``Turn`` collects the changes of one commit on top of it; when the ledger
reports them applied, ``RunMachine.adopt`` makes them the new truth. A turn that did not apply is simply forgotten.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise

import msgspec

from turnout.model.bindings import merge_contexts
from turnout.model.events import DispatchDecision, ErrorInfo, ExecutionResult, ExecutionStatus, TaskReadyEvent
from turnout.model.graph import Graph
from turnout.model.names import task_id
from turnout.model.retry import verdict_retry
from turnout.model.rows import HistoryRow, NewRun, RunRow, RunWrite, TaskRow
from turnout.model.rules import default_rule, evaluate, needs_context
from turnout.model.states import RUN_FOLDED, TASK_TERMINAL, RunState, TaskState

RUN_TIMED_OUT, STORE_REJECTED = "run_timed_out", "store_rejected"
"""Reasons for which a run that is being cancelled ends as failed."""
NOT_CHOSEN, RULE_SAID_NO = "not_chosen", "trigger_rule"
"""Reasons of a skip by choice, by a branch or by a rule, which the default rule of the dependents forgives."""

_encode = msgspec.json.Encoder().encode


class Limits(msgspec.Struct, frozen=True):
    """The two budgets that are not the retry policy's, and what is kept in memory."""

    crashes: int = 3
    losses: int = 20
    refused_delay: float = 0.1
    """Seconds before an attempt that was refused is offered again."""
    code_missing_delay: float = 2.0
    """The same where the process that got it did not have its code."""
    inline_output: int = 1024


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
        self.remaining = [sum(tasks[dep].state not in TASK_TERMINAL for dep in deps) for deps in graph.deps]
        self.open = sum(task.state not in TASK_TERMINAL for task in tasks)
        self.ready: dict[int, None] = dict.fromkeys(t.pos for t in tasks if placeable(t))
        """Positions of tasks that could start at once, in the order in which they became ready."""

    @classmethod
    def fresh(cls, graph: Graph, new: NewRun, limits: Limits, reuse: Sequence[TaskRow] = ()) -> RunMachine:
        """A run that is not stored yet. ``reuse`` are finished rows of another run whose outputs count here."""
        tasks = [
            TaskRow(pos=pos, name=task.name, priority=task.priority, state=TaskState.PENDING)
            for pos, task in enumerate(graph.tasks)
        ]
        for row in reuse:
            tasks[row.pos] = row
        return cls(graph, new, RunRow(state=RunState.RUNNING), tasks, epoch=1, seq=0, limits=limits)

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
        if row.state is TaskState.READY and row.retry_in:
            self.tasks[pos] = msgspec.structs.replace(row, retry_in=None)
            if row.poll_key is None:
                self.ready[pos] = None

    def observe_claim(self, pos: int, attempt: int, holder: str, at: float | None = None) -> None:
        """A poller has claimed this task, as its result shows: the database has moved it, memory follows."""
        row = self.tasks[pos]
        if row.state is TaskState.READY and row.poll_key is not None and attempt == row.attempt + 1:
            self.tasks[pos] = msgspec.structs.replace(
                row,
                state=TaskState.RUNNING,
                attempt=attempt,
                holder=holder,
                poll_key=None,
                reason=None,
                dispatched_at=at,
            )

    def adopt(self, turn: Turn) -> None:
        """The turn was committed: its rows are now the state."""
        graph = self.graph
        for pos, row in turn.rows.items():
            before = self.tasks[pos]
            if row.state in TASK_TERMINAL and before.state not in TASK_TERMINAL:
                self.open -= 1
                for dependent in graph.dependents[pos]:
                    self.remaining[dependent] -= 1
            if placeable(row):
                self.ready[pos] = None
            else:
                self.ready.pop(pos, None)
            if row.output is not None and len(row.output) > self.limits.inline_output and pos not in graph.rule_context:
                self.tasks[pos] = msgspec.structs.replace(row, output=None)
            else:
                self.tasks[pos] = row
        if turn.run is not None:
            self.row = turn.run
        self.seq = turn.seq


class Turn:
    """The changes of one run that are to be committed together."""

    __slots__ = (
        "_contested",
        "_ended",
        "_lefts",
        "_to_follow",
        "answered",
        "history",
        "jitter",
        "machine",
        "now",
        "rows",
        "run",
        "seq",
    )

    def __init__(self, machine: RunMachine, now: float, jitter: Callable[[], float] = lambda: 0.0) -> None:
        self.machine = machine
        self.now = now
        self.jitter = jitter
        self.rows: dict[int, TaskRow] = {}
        self.run: RunRow | None = None
        self.history: list[HistoryRow] = []
        self.seq = machine.seq
        self._ended = 0
        self._contested = False
        """A task was ended that a poller may have claimed meanwhile: the run ends only once that has applied."""
        self._to_follow: list[int] = []
        """Ended tasks whose dependents are still to be looked at."""
        self._lefts: dict[int, int] = {}
        """How many dependencies of a task are open after this turn, where that has changed."""
        self.answered: list[int] = []
        """Positions whose running attempt ended in this turn."""

    # -- looking ------------------------------------------------------------------------------------------------
    def task(self, pos: int) -> TaskRow:
        return self.rows.get(pos) or self.machine.tasks[pos]

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
        for pos in list(self.machine.ready):
            if pos not in self.rows or placeable(self.rows[pos]):
                yield pos
        for pos, row in list(self.rows.items()):
            if pos not in self.machine.ready and placeable(row):
                yield pos

    def made_ready(self) -> list[int]:
        """Tasks that this turn makes ready, now or later."""
        return [pos for pos, row in self.rows.items() if row.state is TaskState.READY]

    # -- moving -------------------------------------------------------------------------------------------------
    def begin(self) -> None:
        """Make ready, or skip, what waits for nothing: a new run's roots, or what an adopted run left undone."""
        for pos, left in enumerate(self.machine.remaining):
            if left == 0 and self.task(pos).state is TaskState.PENDING:
                self._judge(pos)

    def place(self, pos: int, decision: DispatchDecision, holder: str) -> TaskReadyEvent:
        """Ready to running: the one door in."""
        row = self.task(pos)
        attempt = row.attempt + 1
        seq = self._log(
            pos, TaskState.READY, TaskState.RUNNING, attempt, _decided(decision.executor_key, decision.reason)
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
            was=self._was(pos),
            was_attempt=self.machine.tasks[pos].attempt,
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
            reason="waiting_for_poller",
            was=self._was(pos),
            was_attempt=self.machine.tasks[pos].attempt,
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
        self.answered.append(pos)
        match result.status:
            case ExecutionStatus.COMPLETED:
                self._end(
                    pos, TaskState.COMPLETED, result, output=result.output if result.output is not None else "null"
                )
            case ExecutionStatus.RETURNED:
                reason = result.error.message if result.error else "returned"
                limits = self.machine.limits
                delay = limits.code_missing_delay if reason == "code_missing" else limits.refused_delay
                self._again(pos, result, delay, reason)
            case ExecutionStatus.CANCELLED if self.run_row.state is RunState.CANCELLING:
                self._end(pos, TaskState.CANCELLED, result, reason=self.run_row.reason)
            case ExecutionStatus.LOST:
                self._lost(pos, result)
            case ExecutionStatus.CRASHED:
                self._crashed(pos, result)
            case _:
                self._failed(pos, result)
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
        for pos in range(len(self.machine.tasks)):
            row = self.task(pos)
            if row.state is TaskState.RUNNING:
                running.append(pos)
            elif row.state not in TASK_TERMINAL:
                self._end(pos, TaskState.CANCELLED, None, reason=reason)
        return running

    def stop_running(self, pos: int, reason: str) -> None:
        """End a running attempt without its executor's word: a poller's, or one that does not answer a cancellation."""
        if self.task(pos).state is TaskState.RUNNING:
            self._end(pos, TaskState.CANCELLED, None, reason=reason)

    def pause(self) -> None:
        if self.run_row.state in (RunState.RUNNING, RunState.PENDING):
            self._move_run(RunState.PAUSED, reason="paused")

    def resume(self) -> None:
        if self.run_row.state is RunState.PAUSED:
            self._move_run(RunState.RUNNING)

    def reject(self, error: ErrorInfo) -> None:
        """Fail the run because the database refuses its data: what is open is cancelled, nothing of the data kept."""
        self.cancel(STORE_REJECTED, error)
        for pos in range(len(self.machine.tasks)):
            self.stop_running(pos, STORE_REJECTED)
        if not self._contested:
            self._move_run(RunState.FAILED, reason=STORE_REJECTED, error=error)

    def finish(self) -> None:
        """End the run if nothing is left to do."""
        if self.machine.open - self._ended or self._contested:
            return
        state = self.run_row.state
        if state is RunState.CANCELLING:
            row = self.run_row
            end = RunState.FAILED if row.reason in (RUN_TIMED_OUT, STORE_REJECTED) else RunState.CANCELLED
            self._move_run(end, reason=row.reason, error=row.error)
        elif state is RunState.RUNNING:
            failed = [pos for pos in range(len(self.machine.tasks)) if self._unexcused(pos)]
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
            tasks=list(self.rows.values()),
            history=self.history,
        )

    def insert(self, owner: str | None) -> RunWrite:
        """The write that stores a new run: owned from the start with this turn's moves, or pending for any claimer."""
        machine = self.machine
        state = RunState.RUNNING if owner else RunState.PENDING
        rows = [self.rows.get(row.pos, row) for row in machine.tasks] if owner else machine.tasks
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

    # -- verdicts -----------------------------------------------------------------------------------------------
    def _failed(self, pos: int, result: ExecutionResult) -> None:
        row, task = self.task(pos), self.machine.graph.tasks[pos]
        failures = row.failures + 1
        delay = None
        if self.run_row.state is not RunState.CANCELLING:
            delay = verdict_retry(
                task.retry, failures, result.error, result.retryable, result.retry_after, self.jitter()
            )
        if delay is None:
            self._end(pos, TaskState.FAILED, result, failures=failures)
        else:
            self._again(pos, result, delay, "retry_at", failures=failures)

    def _lost(self, pos: int, result: ExecutionResult) -> None:
        row = self.task(pos)
        losses = row.losses + 1
        if self.run_row.state is RunState.CANCELLING:
            self._end(pos, TaskState.CANCELLED, result, losses=losses)
        elif self.machine.graph.tasks[pos].at_most_once:
            self._end(pos, TaskState.FAILED, result, losses=losses, reason="lost_at_most_once")
        elif losses >= self.machine.limits.losses:
            self._end(pos, TaskState.FAILED, result, losses=losses, reason="lost_too_often")
        else:
            self._again(pos, result, 0.0, "lost", losses=losses)

    def _crashed(self, pos: int, result: ExecutionResult) -> None:
        row = self.task(pos)
        crashes = row.crashes + 1
        if self.run_row.state is RunState.CANCELLING:
            self._end(pos, TaskState.CANCELLED, result, crashes=crashes)
        elif crashes >= self.machine.limits.crashes or self.machine.graph.tasks[pos].at_most_once:
            self._end(pos, TaskState.FAILED, result, crashes=crashes, reason="crashed_too_often")
        else:
            self._again(pos, result, 0.0, "crashed", crashes=crashes)

    def _again(
        self,
        pos: int,
        result: ExecutionResult,
        delay: float,
        reason: str,
        *,
        failures: int | None = None,
        crashes: int | None = None,
        losses: int | None = None,
    ) -> None:
        row = self.task(pos)
        if self.run_row.state is RunState.CANCELLING:
            self._end(pos, TaskState.CANCELLED, result, reason=self.run_row.reason)
            return
        seq = self._log(pos, TaskState.RUNNING, TaskState.READY, row.attempt, _ended(result, reason, delay))
        self.rows[pos] = TaskRow(
            pos=pos,
            name=row.name,
            priority=row.priority,
            state=TaskState.READY,
            attempt=row.attempt,
            failures=row.failures if failures is None else failures,
            crashes=row.crashes if crashes is None else crashes,
            losses=row.losses if losses is None else losses,
            reason=reason,
            retry_in=delay or None,
            executor=row.executor,
            decision=row.decision,
            labels=row.labels,
            error=result.error if result.status is not ExecutionStatus.RETURNED else row.error,
            seq=seq,
            was=self._was(pos),
            was_attempt=self.machine.tasks[pos].attempt,
        )

    def _end(
        self,
        pos: int,
        state: TaskState,
        result: ExecutionResult | None,
        *,
        output: str | None = None,
        reason: str | None = None,
        failures: int | None = None,
        crashes: int | None = None,
        losses: int | None = None,
    ) -> None:
        row = self.task(pos)
        detail = None
        if result is None:
            detail = _because(reason)
        elif state is not TaskState.COMPLETED:
            detail = _ended(result, reason or "", None)
        seq = self._log(pos, row.state, state, row.attempt, detail)
        self.rows[pos] = TaskRow(
            pos=pos,
            name=row.name,
            priority=row.priority,
            state=state,
            attempt=row.attempt,
            failures=row.failures if failures is None else failures,
            crashes=row.crashes if crashes is None else crashes,
            losses=row.losses if losses is None else losses,
            reason=reason,
            executor=row.executor,
            decision=row.decision,
            labels=row.labels,
            holder=row.holder,
            output=output,
            error=(result.error or row.error) if result and state is not TaskState.COMPLETED else None,
            dispatched_at=row.dispatched_at,
            started_at=result.started_at if result else None,
            finished_at=(result.finished_at if result else None) or self.now,
            seq=seq,
            was=self._was(pos),
            was_attempt=self.machine.tasks[pos].attempt,
        )
        self._ended += 1
        committed = self.machine.tasks[pos]
        self._contested |= committed.state is TaskState.READY and committed.poll_key is not None
        self._follow(pos)

    # -- readiness ----------------------------------------------------------------------------------------------
    def _follow(self, pos: int) -> None:
        """A task ended: judge the dependents that waited for nothing else."""
        if self.run_row.state is RunState.CANCELLING:
            return
        # A skip ends a task in its turn: a loop instead of recursion, as a chain may be longer than the stack is deep.
        self._to_follow.append(pos)
        if len(self._to_follow) > 1:
            return
        for ended in self._to_follow:
            for dependent in self.machine.graph.dependents[ended]:
                left = self._lefts.get(dependent, self.machine.remaining[dependent]) - 1
                self._lefts[dependent] = left
                if left == 0 and self.task(dependent).state is TaskState.PENDING:
                    self._judge(dependent)
        self._to_follow.clear()

    def _judge(self, pos: int) -> None:
        graph = self.machine.graph
        task, deps = graph.tasks[pos], graph.deps[pos]
        if task.rule is None:
            rows = [self.task(dep) for dep in deps]
            go = all(row.state is TaskState.COMPLETED for row in rows) or default_rule(
                (row.state, _by_choice(row)) for row in rows
            )
        else:
            states = {graph.tasks[dep].name: self.task(dep).state for dep in deps}
            go = evaluate(task.rule, states, self._context(deps) if needs_context(task.rule) else {})
        if go:
            row = self.task(pos)
            seq = self._log(pos, TaskState.PENDING, TaskState.READY, 0, None)
            self.rows[pos] = TaskRow(
                pos=pos, name=row.name, priority=row.priority, state=TaskState.READY, seq=seq, was=TaskState.PENDING
            )
        else:
            self._end(pos, TaskState.SKIPPED, None, reason=self._why_skipped(deps))

    def _context(self, deps: tuple[int, ...]) -> dict[str, object]:
        """What a trigger rule sees: the run's input, then what the dependencies left."""
        left = [msgspec.json.decode(self.machine.new.input)]
        for dep in deps:
            row = self.task(dep)
            if row.output is not None:
                value = msgspec.json.decode(row.output)
                left.append(value if isinstance(value, dict) else {self.machine.graph.tasks[dep].name: value})
        return merge_contexts(left)

    def _why_skipped(self, deps: tuple[int, ...]) -> str:
        by_choice = RULE_SAID_NO
        for dep in deps:
            row = self.task(dep)
            if _by_choice(row):
                by_choice = NOT_CHOSEN
            elif row.state in (TaskState.FAILED, TaskState.SKIPPED, TaskState.CANCELLED):
                return f"dependency_{row.state.value}:{self.machine.graph.tasks[dep].name}"
        return by_choice

    def _unexcused(self, pos: int) -> bool:
        if self.task(pos).state is not TaskState.FAILED:
            return False
        graph = self.machine.graph
        return not any(
            pos in graph.excuses[dependent] and self.task(dependent).state is TaskState.COMPLETED
            for dependent in graph.dependents[pos]
        )

    # -- writing ------------------------------------------------------------------------------------------------
    def _was(self, pos: int) -> TaskState:
        return self.machine.tasks[pos].state

    def _log(self, pos: int, old: str, new: str, attempt: int, detail: str | None) -> int:
        self.seq += 1
        self.history.append(HistoryRow(self.seq, pos, old, new, attempt, detail))
        return self.seq

    def _move_run(self, state: RunState, *, reason: str | None = None, error: ErrorInfo | None = None) -> None:
        row = self.run_row
        committed = self.machine.row.state
        path = RUN_FOLDED.get((row.state, state), (row.state, state))
        for old, new in pairwise(path):
            self._log(-1, old, new, 0, _because(reason))
        self.run = RunRow(
            state=state,
            was=committed,
            reason=reason,
            error=error,
            started_at=row.started_at or self.now,
            finished_at=self.now if state.terminal else None,
        )


def placeable(row: TaskRow) -> bool:
    """Ready, its waiting time over, and not left to pollers."""
    return row.state is TaskState.READY and row.poll_key is None and not row.retry_in


def _by_choice(row: TaskRow) -> bool:
    return row.state is TaskState.SKIPPED and row.reason in (NOT_CHOSEN, RULE_SAID_NO)


@lru_cache(maxsize=1024)
def _decided(executor: str, reason: str) -> str:
    return _encode({"executor": executor, "reason": reason}).decode()


@lru_cache(maxsize=1024)
def _because(reason: str | None) -> str | None:
    return None if reason is None else _encode({"reason": reason}).decode()


def _ended(result: ExecutionResult, reason: str, delay: float | None) -> str:
    error = result.error
    detail: dict[str, object] = {"status": result.status}
    if reason:
        detail["reason"] = reason
    if error:
        detail["error"] = f"{error.type}: {error.message[:500]}"
    if delay is not None:
        detail["retry_in"] = round(delay, 3)
    return _encode(detail).decode()
