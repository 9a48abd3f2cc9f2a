"""Small runs for tests: specs in one line, a table that applies writes as a store must, and a driver for the two."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any

import msgspec

from turnout.model.events import DispatchDecision, ErrorInfo, ExecutionResult, TaskReadyEvent
from turnout.model.graph import Graph
from turnout.model.retry import RetryPolicy
from turnout.model.rows import HistoryRow, NewRun, RunRow, RunWrite, TaskRow, WriteOutcome
from turnout.model.run_machine import RunMachine
from turnout.model.spec import Body, FromTask, Literally, Mapped, TaskSpec, WorkflowSpec
from turnout.model.states import (
    RUN_MOVES,
    TASK_MOVES,
    TASK_TERMINAL,
    RunState,
    TaskState,
    run_writes,
    task_writes,
)
from turnout.model.transition import Transition
from turnout.model.verdict import Limits

RUN = "run-1"
OWNER = "owner-1"
HERE = DispatchDecision("default", "the default executor")
SOON = 60.0
"""Seconds of a retry delay that no test waits for."""


def task(name: str, *after: str, attempts: int = 1, delay: float = 0.0, **more: Any) -> TaskSpec:
    """``task("ship", "charge", attempts=3)``: after charge, three attempts, at once unless there is a delay."""
    retry = more.pop("retry", RetryPolicy(attempts=attempts, delay=delay))
    return TaskSpec(
        name,
        Body("python", f"tests:{name}"),
        full_name=f"public::embedded::flow::{name}",
        depends_on=after,
        retry=retry,
        **more,
    )


def mapped(name: str, *after: str, over: Any, fixed: dict[str, Any] | None = None, **more: Any) -> TaskSpec:
    """``mapped("double", over=FromTask("list"))``: goes through one list, or through several side by side."""
    lists = over if isinstance(over, tuple) else (over,)
    templates = tuple(Literally(each) if isinstance(each, list) else each for each in lists)
    names = [each.name for each in templates if isinstance(each, FromTask)]
    options = {key: more.pop(key) for key in ("max_parallel", "return_exceptions", "piped") if key in more}
    spec = task(name, *dict.fromkeys([*names, *after]), args=templates, kwargs=fixed or {}, **more)
    return msgspec.structs.replace(spec, map=Mapped(tuple(range(len(templates))), **options))


def graph_of(*tasks: TaskSpec) -> Graph:
    return Graph(WorkflowSpec("flow", tasks))


def new_run(**more: Any) -> NewRun:
    given = {"run_id": RUN, "workflow": "public::embedded::flow", "version": "1", "input": "{}", "created_at": 0.0}
    return NewRun(**{**given, **more})


class IllegalMove(AssertionError):
    """A write that the database's own check refuses."""


class RunTable:
    """One run as a database keeps it: rows change by compare-and-swap, and history is made of rows really updated."""

    def __init__(self) -> None:
        self.tasks: dict[int, TaskRow] = {}
        self.task_epochs: dict[int, int] = {}
        self.run = RunRow(state=RunState.PENDING)
        self.epoch = 0
        self.owner: str | None = None
        self.reused: set[int] = set()
        """Tasks that were inserted as finished in another run: they have no history here."""
        self.seq = 0
        self.history: list[HistoryRow] = []
        self.parts: list[int] = []
        """For each history row: 1 for a poller's claim, which shares its seq with the move before it, else 0."""

    def insert(self, write: RunWrite) -> None:
        assert write.insert is not None and write.run is not None
        self.run, self.epoch, self.owner = write.run, write.epoch, write.owner
        for row in write.tasks:
            self.tasks[row.pos] = row
            self.task_epochs[row.pos] = write.task_epoch
        moved = {row.pos for row in write.history}
        self.reused = {row.pos for row in write.tasks if row.state.terminal and row.pos not in moved}
        self._record(write.history)

    def commit(self, write: RunWrite) -> WriteOutcome:
        stale = [row.pos for row in write.tasks if not self._fits(write, row)]
        stale += [row.pos for row in write.items if self.epoch != write.epoch or row.group in stale]
        if write.run is not None and (self.epoch, self.run.state) != (write.epoch, write.run.was):
            stale.append(-1)
        gone = set(stale)
        for row in write.tasks:
            if row.pos not in gone:
                self._check_task(row)
                self.tasks[row.pos] = row
        for row in write.items:
            if row.pos not in gone:
                assert row.pos == len(self.tasks), "items are not added one behind the other"
                self.tasks[row.pos] = row
                self.task_epochs[row.pos] = write.epoch
        if write.run is not None and -1 not in gone:
            if (write.run.was, write.run.state) not in run_writes():
                raise IllegalMove(f"run: {write.run.was} to {write.run.state}")
            self.run = write.run
            if self.run.state.terminal:
                self.owner = None
        self._record([row for row in write.history if row.pos not in gone])
        return WriteOutcome(write.run_id, tuple(sorted(gone)))

    def claim_ready(self, pos: int, poller: str) -> int | None:
        """A poller takes an offered task; its attempt, or None."""
        row = self.tasks[pos]
        if (
            row.state is not TaskState.READY
            or not row.poll_key
            or row.retry_in
            or self.run.state not in (RunState.RUNNING, RunState.CANCELLING)
        ):
            return None
        attempt = row.attempt + 1
        self.tasks[pos] = msgspec.structs.replace(
            row, state=TaskState.RUNNING, attempt=attempt, holder=poller, poll_key=None, reason=None
        )
        self.history.append(HistoryRow(row.seq, pos, TaskState.READY, TaskState.RUNNING, attempt))
        self.parts.append(1)
        return attempt

    def waited(self, pos: int) -> None:
        """The database's clock has passed the task's retry time."""
        if self.tasks[pos].state is TaskState.READY:
            self.tasks[pos] = msgspec.structs.replace(self.tasks[pos], retry_in=None)

    def adopt(self, owner: str, graph: Graph, new: NewRun, limits: Limits) -> RunMachine:
        """Give the run to a new owner, and make its machine."""
        self.claim(owner)
        rows = [self.tasks[pos] for pos in sorted(self.tasks)]
        return RunMachine(graph, new, self.run, rows, epoch=self.epoch, seq=self.seq, limits=limits)

    def claim(self, owner: str) -> None:
        """Give the run to a new owner: another epoch on the run and on all rows that may still change."""
        self.epoch += 1
        self.owner = owner
        for pos, row in self.tasks.items():
            if row.state not in TASK_TERMINAL:
                self.task_epochs[pos] = self.epoch
        if self.run.state is RunState.PENDING:
            self._record([HistoryRow(self.seq + 1, -1, RunState.PENDING, RunState.RUNNING)])
            self.run = msgspec.structs.replace(self.run, state=RunState.RUNNING)

    def _fits(self, write: RunWrite, row: TaskRow) -> bool:
        there = self.tasks[row.pos]
        return (self.task_epochs[row.pos], there.state, there.attempt) == (write.epoch, row.was, row.was_attempt)

    def _check_task(self, row: TaskRow) -> None:
        there = self.tasks[row.pos]
        if row.state is there.state is TaskState.READY and row.attempt == there.attempt:
            return  # No move: it is offered to pollers, or another reason is given.
        if (there.state, row.state) not in task_writes() or row.attempt < there.attempt:
            raise IllegalMove(f"task {row.pos}: {there.state} {there.attempt} to {row.state} {row.attempt}")

    def _record(self, rows: Iterable[HistoryRow]) -> None:
        for row in rows:
            self.history.append(row)
            self.parts.append(0)
            self.seq = max(self.seq, row.seq)

    # -- what always holds --------------------------------------------------------------------------------------
    def check(self) -> None:
        """The history of each task and of the run is a path of legal moves to where the row is, in strict order."""
        order = [(row.seq, part) for row, part in zip(self.history, self.parts, strict=True)]
        assert len(set(order)) == len(order), "two history rows share a place"
        assert all(one < other for (one, part), (other, later) in pairwise(order) if not part and not later)
        for pos, row in self.tasks.items():
            if pos in self.reused:
                continue
            moves = [move for move in self.history if move.pos == pos]
            self._check_path(moves, TaskState.PENDING, row.state, TASK_MOVES)
            attempts = [move.attempt for move in moves if move.new == TaskState.RUNNING]
            assert attempts == sorted(set(attempts)), "an attempt started twice"
            assert row.attempt == (attempts[-1] if attempts else 0)
        runs = [move for move in self.history if move.pos == -1]
        assert runs[0].old is None
        self._check_path(runs[1:], RunState(runs[0].new), self.run.state, RUN_MOVES)
        for row in self.tasks.values():
            if row.group is not None and row.state not in TASK_TERMINAL:
                assert self.tasks[row.group].state is TaskState.RUNNING, "a mapped task ended before its items"
        if self.run.state.terminal:
            assert all(row.state in TASK_TERMINAL for row in self.tasks.values()), "an ended run with open tasks"

    @staticmethod
    def _check_path(moves: Sequence[HistoryRow], first: Any, last: Any, table: Any) -> None:
        state = first
        for move in moves:
            assert move.old == state, f"{move} does not go on from {state}"
            assert move.new in table[state], f"{move} is not in the table of moves"
            state = type(first)(move.new)
        assert state is last


class TinyRun:
    """An owner with its database: every method is one turn, committed and adopted as the engine does it."""

    def __init__(
        self, *tasks: TaskSpec, limits: Limits | None = None, reuse: Sequence[TaskRow] = (), **run: Any
    ) -> None:
        self.graph = graph_of(*tasks)
        self.new = new_run(**run)
        self.limits = limits or Limits()
        self.table = RunTable()
        self.machine = RunMachine.create(self.graph, self.new, self.limits, reuse)
        self.events: dict[str, TaskReadyEvent] = {}
        """The newest attempt of each task that was placed."""
        self.last: Transition

    def start(self) -> TinyRun:
        """Store the run with its roots running: one commit."""
        transition = self.transition()
        transition.begin()
        self.place(transition)
        transition.finish()
        self.table.insert(transition.insert(OWNER))
        self.machine.apply(transition)
        self.last = transition
        return self

    def transition(self, now: float = 100.0) -> Transition:
        return Transition(self.machine, now)

    def place(self, transition: Transition) -> None:
        for pos in transition.ready():
            self.events[transition.task(pos).name] = transition.start(pos, HERE, OWNER)

    def commit(self, *steps: Callable[[Transition], Any], place: bool = True) -> WriteOutcome:
        """A whole turn: the steps, then whatever is ready is placed, then the end is looked for."""
        transition = self.transition()
        for step in steps:
            step(transition)
        if place:
            self.place(transition)
        transition.finish()
        self.last = transition
        outcome = self.table.commit(transition.write())
        if outcome.applied:
            self.machine.apply(transition)
        self.table.check()
        return outcome

    def answer(self, *results: ExecutionResult, place: bool = True) -> WriteOutcome:
        return self.commit(
            *(
                lambda transition, one=one: transition.result(one, int(one.task_id.rpartition(".")[2]))
                for one in results
            ),
            place=place,
        )

    def complete(self, *names: str, output: Any = None) -> WriteOutcome:
        return self.answer(*(ExecutionResult.success(self.events[name], output) for name in names))

    def fail(self, name: str, error: ErrorInfo | BaseException | str = "broken", **more: Any) -> WriteOutcome:
        return self.answer(ExecutionResult.failed(self.events[name], error, **more))

    def due(self, name: str) -> WriteOutcome:
        """The retry time has come."""
        self.machine.clear_delay(self.pos(name))
        self.table.waited(self.pos(name))
        return self.commit()

    def pos(self, name: str) -> int:
        return next(row.pos for row in self.table.tasks.values() if row.name == name)

    def row(self, name: str) -> TaskRow:
        row = self.table.tasks[self.pos(name)]
        assert row.state is self.machine.tasks[row.pos].state, "memory and database differ"
        return row

    def state(self, name: str) -> TaskState:
        return self.row(name).state

    def states(self) -> dict[str, str]:
        return {each.name: self.state(each.name).value for each in self.table.tasks.values()}

    def adopt(self) -> None:
        """Another owner takes the run over and takes its first turn."""
        self.machine = self.table.adopt(OWNER, self.graph, self.new, self.limits)
        self.commit(lambda transition: transition.begin())

    @property
    def run_state(self) -> RunState:
        assert self.machine.row.state is self.table.run.state, "memory and database differ"
        return self.table.run.state

    def moves(self, name: str) -> list[str]:
        pos = self.pos(name)
        return [f"{move.old}→{move.new}" for move in self.table.history if move.pos == pos]
