"""Drives a run in a test, without a database, by the machine and the transitions of real runs.

Bodies run in the calling thread, one after the other. Time is a manual clock's: waits for retries are jumped over, so
nothing sleeps. Timeouts of tasks are not enforced; those of runs are, by that clock.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

import msgspec

from turnout.authoring.definition import Definition
from turnout.authoring.workflow import Workflow
from turnout.contracts.executor import Work
from turnout.errors import InputError, RunError
from turnout.model.bindings import ABSENT, result_of
from turnout.model.events import DispatchDecision, ErrorInfo, ExecutionResult, ExecutionStatus, TaskReadyEvent
from turnout.model.graph import Graph
from turnout.model.names import new_run_id
from turnout.model.reasons import RUN_TIMED_OUT
from turnout.model.rows import HistoryRow, NewRun, StoredRun, TaskRow
from turnout.model.run_machine import RunMachine
from turnout.model.states import RunState, TaskState
from turnout.model.transition import Transition
from turnout.model.values import dump_output
from turnout.model.verdict import Limits, checked_condition
from turnout.orchestration.active_runs import ActiveRun
from turnout.orchestration.loaders.loader import MemoryLoader
from turnout.orchestration.loaders.stored_runs import GraphCache
from turnout.runner.views import failure_of
from turnout.runtime.execution import info_for, run_body
from turnout.runtime.outcome import describe
from turnout.testing.child_runs import ChildCall
from turnout.testing.fakes import FakedRegistry, Fakes, ManualClock

if TYPE_CHECKING:
    from turnout.contracts.store import Store

R = TypeVar("R")

HERE = DispatchDecision("inline", "run by the test")
HOLDER = "inline"
EVERYTHING = Limits(inline_output=1 << 62)
"""All outputs stay in memory, as there is no store to read large ones from."""


class InlineTask(msgspec.Struct, frozen=True, kw_only=True):
    """The present state of one task of an inline run."""

    name: str
    state: TaskState
    attempts: int = 0
    output: Any = None
    """The output as JSON."""
    reason: str | None = None
    error: ErrorInfo | None = None


class InlineRun(Generic[R]):
    """A run that advances on demand: by ``step()``, or to its end with ``finish()`` or ``result()``."""

    def __init__(
        self,
        workflow: Workflow[..., R] | Definition,
        input: Mapping[str, Any],
        fakes: Fakes | None = None,
        clock: ManualClock | None = None,
        *,
        child_call: ChildCall | None = None,
    ) -> None:
        self.clock = clock or ManualClock()
        self.children: dict[str, InlineRun[Any]] = {}
        """The newest child run of each task that is one, by the task's name."""
        self._fakes: Fakes = fakes or {}
        self.history: list[HistoryRow] = []
        """Every move, in order, as a store would have it."""
        self._workflow = workflow
        # A child's fakes were checked with its parent's.
        self._registry = (
            FakedRegistry(cast("Workflow[..., R]", workflow), self._fakes)
            if child_call is None
            else child_call.registry
        )
        graph = Graph(workflow.spec)
        new = NewRun(
            run_id=new_run_id(),
            workflow=graph.spec.full_name,
            version=graph.version,
            input=dump_output(dict(input), what="input"),
            created_at=self.clock.now(),
            timeout=graph.spec.timeout,
        )
        if child_call is not None:
            new = child_call.child_of_parent(new)
        self._machine = RunMachine.create(
            graph, new, EVERYTHING, () if child_call is None else child_call.reused(graph)
        )
        # The store is never read: the machine keeps every output.
        store = cast("Store", None)
        runs = {new.run_id: ActiveRun(self._machine)}
        self._loader = MemoryLoader(store, self._registry, GraphCache(store), runs)
        self._due: dict[int, float] = {}
        """The end of the delay of each waiting task, by position, in seconds of the clock."""
        self._deadline = None if new.timeout is None else self.clock.passed + new.timeout
        self._raised: dict[int, BaseException] = {}
        """The exception of the newest attempt of a task, by position, with its traceback."""
        transition = self._turn()
        transition.begin()
        self._commit(transition)

    # -- reading ------------------------------------------------------------------------------------------------
    @property
    def id(self) -> str:
        return self._machine.new.run_id

    @property
    def state(self) -> RunState:
        return self._machine.row.state

    @property
    def tasks(self) -> dict[str, InlineTask]:
        """Returns all tasks by name; the items of mapped tasks as ``name[0]``, ``name[1]``, …"""
        return {
            row.name: InlineTask(
                name=row.name,
                state=row.state,
                attempts=row.attempt,
                output=None if row.output is None else self._value(row),
                reason=row.reason,
                error=row.error,
            )
            for row in self._machine.tasks
        }

    # -- moving -------------------------------------------------------------------------------------------------
    def step(self) -> str | None:
        """Runs the next ready task and returns its name; None if no task can start at this time."""
        self._notice_time()
        transition = self._turn()
        ready = list(transition.ready())
        if not ready:
            return None
        pos = min(ready, key=lambda each: -transition.task(each).priority)
        event = transition.start(pos, HERE, HOLDER)
        self._commit(transition)
        declared = self._registry.conditions_of(self._machine.new, self._machine.spec_of(pos))
        result = checked_condition(self._execute(event, pos), event.task_name, declared)
        transition = self._turn()
        transition.result(result, pos)
        self._commit(transition)
        return self._machine.tasks[pos].name

    def finish(self) -> RunState:
        """Runs to the end and skips delays; returns the final state, or ``paused`` if the run is paused."""
        while not self.state.terminal and self.state is not RunState.PAUSED:
            if self.step() is None and not self.state.terminal:
                self._jump()
        return self.state

    def result(self) -> R:
        """Runs to the end and returns the result of the workflow; raises RunFailed, RunCancelled or RunTimedOut."""
        if self.finish() is RunState.PAUSED:
            raise RunError(f"run {self.id} is paused: resume() it first", run_id=self.id)
        machine = self._machine
        if machine.row.state is not RunState.COMPLETED:
            run = StoredRun(new=machine.new, row=machine.row, owner=None, epoch=machine.epoch, seq=machine.seq)
            raise failure_of(run, machine.tasks) from self.cause
        return self._workflow.returned(self.value)

    @property
    def machine(self) -> RunMachine:
        """The run as its owner has it in memory."""
        return self._machine

    @property
    def cause(self) -> BaseException | None:
        """The exception of the first body that failed."""
        return next(iter(self._raised.values()), None)

    @property
    def value(self) -> Any:
        """The result of a completed run as JSON."""
        machine, outputs = self._machine, self._machine.outputs()

        def output_of(name: str) -> Any:
            row = machine.tasks[machine.graph.position[name]]
            return self._value(row) if outputs.has_value(row.pos) else ABSENT

        valued = {row.name for row in machine.tasks if row.group is None and outputs.has_value(row.pos)}
        states = {row.name: TaskState.COMPLETED if row.name in valued else row.state for row in machine.tasks}
        return result_of(machine.graph.spec, msgspec.json.decode(machine.new.input), output_of, states)

    def cancel(self, reason: str = "cancelled") -> None:
        transition = self._turn()
        transition.cancel(reason)
        self._commit(transition)

    def pause(self) -> None:
        transition = self._turn()
        transition.pause()
        self._commit(transition)

    def resume(self) -> None:
        transition = self._turn()
        transition.resume()
        self._commit(transition)

    def _value(self, row: TaskRow) -> Any:
        outputs = self._machine.outputs()
        if row.group is not None:
            return outputs.item(row.pos, {row.pos: row.output or "null"})
        return outputs.value(row.pos, {pos: outputs.row_of(pos).output or "null" for pos in outputs.behind(row.pos)})

    # -- inside -------------------------------------------------------------------------------------------------
    def _turn(self) -> Transition:
        return Transition(self._machine, self.clock.now())

    def _commit(self, transition: Transition) -> None:
        transition.finish()
        self._machine.apply(transition)
        self.history += transition.history
        for pos, row in transition.rows.items():
            self._due.pop(pos, None)
            if row.state is TaskState.READY and row.retry_in:
                self._due[pos] = self.clock.passed + row.retry_in

    def _notice_time(self) -> None:
        passed = self.clock.passed
        if self._deadline is not None and passed >= self._deadline and not self.state.terminal:
            self.cancel(RUN_TIMED_OUT)
        for pos in [pos for pos, at in self._due.items() if at <= passed]:
            del self._due[pos]
            self._machine.clear_delay(pos)

    def _jump(self) -> None:
        """Advances the clock to the end of the next delay, or to the deadline."""
        times = [*self._due.values(), *([] if self._deadline is None else [self._deadline])]
        if not times:
            waiting = ", ".join(row.name for row in self._machine.tasks if not row.state.terminal)
            raise RunError(f"run {self.id} cannot go on: {waiting} wait for nothing that comes", run_id=self.id)
        self.clock.passed = max(self.clock.passed, min(times))

    def _execute(self, event: TaskReadyEvent, pos: int) -> ExecutionResult:
        self._raised.pop(pos, None)
        try:
            work = self._loader.load_now(event)
        except Exception as error:
            return ExecutionResult.failed(event, describe(error), retryable=not isinstance(error, InputError))
        assert work is not None, "the machine has everything in memory"
        if work.body is None and work.task.body.kind == "workflow":
            return self._run_child(work, pos)
        started_at = self.clock.now()
        info = info_for(work, started_at)
        # No other thread can cancel it, so waiting for a cancellation takes no time.
        info.waiter = None

        def note(error: BaseException) -> None:
            if isinstance(error, KeyboardInterrupt | GeneratorExit):
                raise error  # for the test, not for the body
            self._raised[pos] = error

        return _run_body(lambda: run_body(work, info, clock=self.clock.now, on_error=note))

    def _run_child(self, work: Work, pos: int) -> ExecutionResult:
        if work.task.body.detached:
            return ExecutionResult.of(work.event, ExecutionStatus.COMPLETED, output="null")
        name = self._machine.tasks[pos].name
        child_call = ChildCall(work, pos, self._registry, self.children.get(name))
        try:
            workflow, input = child_call.call()
        except InputError as error:
            return child_call.refused(error)
        child = self.children[name] = InlineRun(workflow, input, self._fakes, self.clock, child_call=child_call)
        child.finish()
        if child.cause is not None:
            self._raised[pos] = child.cause
        return child_call.result(child)


def _run_body(run: Callable[[], ExecutionResult]) -> ExecutionResult:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return run()
    # The caller's event loop is blocked here; an async body needs another one, and so another thread.
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(run).result()
