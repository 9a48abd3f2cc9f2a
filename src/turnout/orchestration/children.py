"""How does a task that is a child run get its child, and how do the two stay in step?

The parent's task is committed as running first; then the child is inserted, under the id that this attempt's child
always has. Whatever is interrupted in between is found by the next owner, or by the sweep: both make sure that the
child exists, that it does as its parent does, and that its end arrives.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from turnout.errors import InputError, RunNotFound, StoreError, StoreRejected, TurnoutError
from turnout.model.children import CHILD, CHILD_REFUSED, PARENT_GONE, child_result, child_run_id, follow
from turnout.model.events import DispatchDecision, ErrorInfo, ExecutionResult, ExecutionStatus
from turnout.model.machine import RunMachine
from turnout.model.rows import NewRun, StoredRun, TaskRow
from turnout.model.states import RunState, TaskState
from turnout.model.turn import Turn
from turnout.orchestration.births import Births
from turnout.orchestration.owned import Answer, Order, OwnedRun
from turnout.orchestration.stages import Stage

if TYPE_CHECKING:
    from turnout.orchestration.engine import Engine

log = logging.getLogger("turnout.children")


class Children:
    """The children of the runs that this orchestrator owns, wherever they are driven."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.births = Births(engine)
        self._starting: dict[str, asyncio.Task[None]] = {}
        """By the child's id: it is being looked for, or inserted."""
        self._told: set[str] = set()
        """Children that a command is on its way to."""

    # -- hooks of the stages ------------------------------------------------------------------------------------
    def place(self, owned: OwnedRun, turn: Turn) -> None:
        """Ready to running, for child runs: they take no executor's place."""
        engine, machine = self._engine, owned.machine
        if not engine.may_start:
            return
        for pos in list(turn.ready()):
            if pos not in machine.graph.children:
                continue
            name = machine.graph.tasks[pos].body.ref
            if engine.graphs.today(name) is None:
                turn.explain(pos, f"no_orchestrator_has{{{name}}}")
                continue
            child = child_run_id(owned.run_id, pos, turn.task(pos).attempt + 1)
            turn.place(pos, DispatchDecision(CHILD, f"child run {child}"), CHILD)

    def applied(self, owned: OwnedRun, turn: Turn, orders: Sequence[Order]) -> None:
        """A parent's turn is committed: its new children are born, the others do as it does."""
        for row in turn.rows.values():
            if row.state is TaskState.RUNNING and row.holder == CHILD:
                self._make_sure(owned, row, fresh=True)
        # A pause is acknowledged when the children have paused too: after it nothing new starts in any of them.
        pauses = [order for order in orders if order.kind == "pause"]
        for order in orders:
            if order.kind != "pause":
                order.carried_out()
        if turn.run is not None and not turn.run.state.terminal:
            self._engine.spawn(self._all_follow(owned, pauses))
        else:
            for order in pauses:
                order.carried_out()

    def take_up(self, owned: OwnedRun) -> None:
        """The run was adopted: its children are there, or were never inserted."""
        for row in _waiting(owned.machine):
            self._make_sure(owned, row)

    def ended(self, new: NewRun) -> None:
        """A child of this orchestrator has ended, and its parent's inbox has the result."""
        if new.parent_run in self._engine.runs:
            self._engine.wake("inbox")

    def may_exceed(self, new: NewRun) -> bool:
        """Whether a child is taken although there is no room: one for each parent, or all would wait for theirs."""
        parent = self._engine.runs.get(new.parent_run or "")
        return parent is not None and not self._has_one_here(parent)

    # -- making sure that a child exists -----------------------------------------------------------------------------
    def _make_sure(self, owned: OwnedRun, row: TaskRow, *, fresh: bool = False) -> None:
        child = child_run_id(owned.run_id, row.pos, row.attempt)
        if child not in self._starting:
            self._starting[child] = self._engine.spawn(self._guarded(owned, row, child, fresh))

    async def _guarded(self, owned: OwnedRun, row: TaskRow, child: str, fresh: bool) -> None:
        try:
            if not await self._found(owned, row, child, fresh):
                await self._start(owned, row, child)
        except StoreRejected as error:
            self._fail(owned, row, ErrorInfo("StoreRejected", error.message, code=CHILD_REFUSED))
        except StoreError as error:
            log.warning("child run %s is looked after by the next sweep: %s", child, error)
        except TurnoutError as error:
            log.info("child run %s was not started: %s", child, error)
        except Exception as error:
            log.exception("child run %s could not be started", child)
            said = f"child run {child} could not be started: {error}"
            self._fail(owned, row, ErrorInfo(type(error).__name__, said, code=CHILD_REFUSED))
        finally:
            self._starting.pop(child, None)

    async def _found(self, owned: OwnedRun, row: TaskRow, child: str, fresh: bool) -> bool:
        """Whether the child is there already; nobody but this owner can have started one for a fresh attempt."""
        engine = self._engine
        if child in engine.runs:
            self._keep_up(owned, row, child, None)
            return True
        stored = None if fresh else await engine.in_thread(engine.store.run, child)
        if stored is not None:
            self._keep_up(owned, row, child, stored)
        return stored is not None

    async def _start(self, owned: OwnedRun, row: TaskRow, child: str) -> None:
        engine = self._engine
        if owned.machine.row.state is RunState.CANCELLING:
            return self._answer(owned, row, ExecutionResult.cancelled(owned.machine.event(row.pos, row)))
        try:
            request = await self.births.request(owned, row, child)
        except InputError as error:
            return self._fail(owned, row, ErrorInfo(type(error).__name__, error.message, code=error.code))
        if request is None or owned.dropped:
            return None
        engine.submit([request])
        await asyncio.wrap_future(request.accepted)
        if child in engine.runs:
            self._keep_up(owned, row, child, None)
        elif owned.machine.row.state is not RunState.RUNNING:
            stored = await engine.in_thread(engine.store.run, child)
            if stored is not None:
                self._keep_up(owned, row, child, stored)
        return None

    def _fail(self, owned: OwnedRun, row: TaskRow, error: ErrorInfo) -> None:
        event = owned.machine.event(row.pos, row)
        self._answer(owned, row, ExecutionResult.failed(event, error, retryable=False))

    def _answer(self, owned: OwnedRun, row: TaskRow, result: ExecutionResult) -> None:
        if not owned.dropped:
            owned.results.append(Answer(row.pos, result))
            self._engine.enqueue(owned, Stage.STEP_RESULT_PROCESSOR)

    # -- staying in step ------------------------------------------------------------------------------------------
    def _keep_up(self, owned: OwnedRun, row: TaskRow, child: str, stored: StoredRun | None) -> None:
        """The child exists: in memory, or as it is stored. Its end is taken up, and it does as its parent does."""
        mine = self._engine.runs.get(child)
        if mine is not None:
            self._tell(owned, row, child, follow(owned.machine.row, mine.machine.row))
        elif stored is not None and stored.row.state.terminal:
            self._engine.spawn(self._arrive(owned, row, stored))
        elif stored is not None:
            unowned = stored.owner is None
            timeout = stored.new.timeout
            overdue = unowned and timeout is not None and stored.age > timeout
            told = follow(owned.machine.row, stored.row, overdue=overdue)
            self._tell(owned, row, child, told)
            if told is None and unowned and self._engine.may_start and not self._has_one_here(owned):
                self._engine.spawn(self._claim(child))

    async def _all_follow(self, owned: OwnedRun, orders: Sequence[Order]) -> None:
        try:
            waiting = {child_run_id(owned.run_id, row.pos, row.attempt): row for row in _waiting(owned.machine)}
            starting = [task for child, task in self._starting.items() if child in waiting]
            if starting:
                await asyncio.wait(starting)
            await self._look_at(owned, waiting)
            for child in waiting:
                while orders and child in self._told:
                    await asyncio.sleep(0.01)
        except StoreError as error:
            log.warning("the children of run %s follow with the next sweep: %s", owned.run_id, error)
        finally:
            for order in orders:
                order.carried_out()

    async def _look_at(self, owned: OwnedRun, waiting: dict[str, TaskRow]) -> None:
        engine = self._engine
        elsewhere = [child for child in waiting if child not in engine.runs and child not in self._starting]
        found = await engine.in_thread(engine.store.runs_by_id, elsewhere) if elsewhere else []
        stored = {run.new.run_id: run for run in found}
        for child, row in waiting.items():
            now = owned.machine.tasks[row.pos]
            if owned.dropped or now.state is not TaskState.RUNNING or now.attempt != row.attempt:
                continue
            if child in engine.runs or child in stored:
                self._keep_up(owned, row, child, stored.get(child))
            else:
                self._make_sure(owned, row)

    def _tell(self, owned: OwnedRun, row: TaskRow, child: str, told: tuple[str, str | None] | None) -> None:
        if told is not None and child not in self._told:
            self._told.add(child)
            self._engine.spawn(self._carry(owned, row, child, *told))

    async def _carry(self, owned: OwnedRun, row: TaskRow, child: str, kind: str, reason: str | None) -> None:
        try:
            await self._engine.commands.carry_out(child, kind, reason)
        except (StoreError, RunNotFound) as error:
            log.warning("child run %s is told by the next sweep: %s", child, error)
        finally:
            self._told.discard(child)
        if not owned.dropped and child in self._engine.runs:
            # The parent may have changed its mind meanwhile.
            self._keep_up(owned, row, child, None)

    async def _arrive(self, owned: OwnedRun, row: TaskRow, stored: StoredRun) -> None:
        """The child has ended: as its inbox row says too, if that has not been taken yet."""
        try:
            result = await self.births.with_output(child_result(stored.new, stored.row))
        except StoreError as error:
            log.warning("the end of child run %s arrives with the next sweep: %s", stored.new.run_id, error)
        else:
            self._answer(owned, row, result)

    async def _claim(self, child: str) -> None:
        engine = self._engine
        try:
            loaded = await engine.in_thread(
                engine.store.claim_run, engine.session_id, child, engine.settings.limits.inline_output
            )
            if loaded is not None:
                await engine.adoption.take_over([loaded])
        except StoreError as error:
            log.warning("child run %s is claimed by the next sweep: %s", child, error)

    def _has_one_here(self, owned: OwnedRun) -> bool:
        runs = self._engine.runs
        return any(child_run_id(owned.run_id, row.pos, row.attempt) in runs for row in _waiting(owned.machine))

    # -- the sweep ------------------------------------------------------------------------------------------------
    async def sweep(self) -> None:
        """What a crash or a lost wake-up left behind, on either side."""
        engine = self._engine
        has_parent = False
        for owned in list(engine.runs.values()):
            has_parent |= owned.machine.new.parent_run is not None
            if owned.machine.graph.children and not owned.busy:
                waiting = {child_run_id(owned.run_id, row.pos, row.attempt): row for row in _waiting(owned.machine)}
                if waiting:
                    await self._look_at(owned, waiting)
        if has_parent:
            for run_id in await engine.in_thread(engine.store.orphans, engine.session_id):
                orphan = engine.runs.get(run_id)
                if orphan is not None and not orphan.machine.row.state.terminal:
                    engine.order(orphan, Order("cancel", PARENT_GONE))

    async def opened(self, result: ExecutionResult) -> ExecutionResult:
        """A child's answer from the inbox, with its output read."""
        return await self.births.with_output(result)


def _waiting(machine: RunMachine) -> Iterator[TaskRow]:
    """The running attempts that are child runs."""
    for pos in machine.graph.children:
        row = machine.tasks[pos]
        if row.state is TaskState.RUNNING and row.holder == CHILD:
            yield row


def is_childs(result: ExecutionResult, holder: str) -> bool:
    """Whether this inbox row is a child's, whose output is still to be read."""
    return holder == CHILD and result.status is ExecutionStatus.COMPLETED and result.output is None
