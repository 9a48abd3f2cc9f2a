"""What follows from a commit? Memory advances, tasks go out and people are told by what was applied, only by that."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from turnout.errors import StoreUnreachable
from turnout.model.children import CHILD
from turnout.model.events import ErrorInfo, ExecutionResult, TaskReadyEvent, printable
from turnout.model.machine import RunMachine
from turnout.model.names import split_task_id
from turnout.model.reasons import GIVEN_UP, RUN_TIMED_OUT, STORE_REJECTED
from turnout.model.rows import TaskRow, WriteOutcome
from turnout.model.states import RUN_TERMINAL, TaskState
from turnout.model.turn import Turn
from turnout.orchestration.failures import error_of, given_up
from turnout.orchestration.moves import Move
from turnout.orchestration.owned import Answer, Order, OwnedRun
from turnout.orchestration.stages import Stage

if TYPE_CHECKING:
    from turnout.orchestration.engine import Engine

log = logging.getLogger("turnout.settlement")


class Settlement:
    """Hands turns to the ledger and acts on its answers."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def write(self, moves: list[Move]) -> None:
        """Commit these turns; returns when they are settled."""
        written = self._engine.ledger.write([move.write for move in moves])
        # Effects hang on the ledger's answer, not on the stage executor that asked: it may be replaced meanwhile.
        written.add_done_callback(partial(self._settle, moves))
        await asyncio.wait({written})

    def _settle(self, moves: list[Move], written: asyncio.Future[list[WriteOutcome]]) -> None:
        if written.cancelled() or written.exception() is not None:
            error = None if written.cancelled() else written.exception()
            for move in moves:
                self._fail(move, error or StoreUnreachable("the ledger is closed"))
            return
        dispatches: dict[str, list[TaskReadyEvent]] = {}
        durable: list[Answer] = []
        for move, outcome in self._engine.ledger.giving_way(list(zip(moves, written.result(), strict=True))):
            move.owned.busy = False
            try:
                if outcome.applied:
                    durable += move.results
                    self._applied(move, dispatches)
                else:
                    self._refused(move, outcome)
            except Exception as error:
                # One run's trouble is its own: it is read anew, and the others of the commit go on.
                log.exception("run %s: what follows from its commit failed", move.owned.run_id)
                self._stumbled(move, error)
        self.settled(durable)
        if self._engine.dispatcher is not None:
            for key, events in dispatches.items():
                self._engine.dispatcher.dispatch(key, events)

    def _stumbled(self, move: Move, error: Exception) -> None:
        owned, engine = move.owned, self._engine
        owned.busy = True
        if owned.fails_again(error) and not owned.machine.row.state.terminal:
            engine.spawn(self.write([given_up(owned, error_of(error))]))
        else:
            engine.spawn(engine.adoption.reload(owned))

    # -- applied ------------------------------------------------------------------------------------------------
    def _applied(self, move: Move, dispatches: dict[str, list[TaskReadyEvent]]) -> None:
        engine, owned, turn = self._engine, move.owned, move.turn
        machine = owned.machine
        shadowing = engine.dispatcher is not None and engine.dispatcher.has_shadows
        machine.adopt(turn)
        if move.request is not None:
            engine.admission.accepted(move, move.request)
        for key, event in move.events:
            dispatches.setdefault(key, []).append(event)
            if shadowing:
                self._shadow(machine, event, dispatches)
        for row in turn.rows.values():
            if row.retry_in and row.poll_key is None:
                self.wait_until_due(owned, row)
        for pos in move.to_cancel:
            self._cancel_attempt(owned, pos)
        if machine.graph.children:
            engine.children.applied(owned, turn, move.orders)
        else:
            for order in move.orders:
                order.carried_out()
        if machine.graph.hooks:
            self._warn_of_hooks(owned, turn)
        self._go_on(owned, turn)
        owned.trouble = ""

    def settled(self, answers: Sequence[Answer]) -> None:
        """These results have done what they can: who sent them need not keep them."""
        dispatcher = self._engine.dispatcher
        if answers and dispatcher is not None and dispatcher.settles:
            try:
                dispatcher.settled([answer.result for answer in answers])
            except Exception:
                log.exception("who sent %d results could not be told that they have arrived", len(answers))

    def _go_on(self, owned: OwnedRun, turn: Turn) -> None:
        """Bring the run to where it has to go next."""
        engine, machine = self._engine, owned.machine
        if machine.row.state in RUN_TERMINAL:
            owned.dropped = True
            if machine.new.parent_run is not None:
                engine.children.ended(machine.new)
            engine.pools[Stage.TASK_FINALIZER].queue.put(owned)
        elif owned.run_id not in engine.runs:
            owned.dropped = True
        elif owned.fresh or owned.results or owned.orders or not machine.open or turn.contested or machine.settling:
            engine.enqueue(owned, Stage.STEP_RESULT_PROCESSOR)
        elif machine.ready and not owned.parked:
            engine.enqueue(owned, Stage.STEP_ENQUEUER)

    @staticmethod
    def _warn_of_hooks(owned: OwnedRun, turn: Turn) -> None:
        """The failure of a hook changes nothing, so somebody has to be told."""
        for pos, row in turn.rows.items():
            if pos in owned.machine.graph.hooks and row.state is TaskState.FAILED:
                said = f"{row.error.type}: {row.error.message}" if row.error else row.reason
                log.warning("run %s: hook %s failed: %s", owned.run_id, owned.machine.graph.tasks[pos].name, said)

    def _shadow(self, machine: RunMachine, event: TaskReadyEvent, dispatches: dict[str, list[TaskReadyEvent]]) -> None:
        dispatcher = self._engine.dispatcher
        assert dispatcher is not None
        pos = split_task_id(event.task_id)[1]
        decision = dispatcher.shadow(machine.spec_of(pos), machine.graph.spec, event.run_id)
        if decision is None:
            return
        # A shadow never delays the run: without room for it, there is none.
        turns, key = self._engine.turns, decision.executor_key
        holder = turns.reserve(key, turns.line(machine, machine.tasks[pos], decision), event.body)
        if holder is None:
            self._engine.shadows.metrics.without_room += 1
        else:
            self._engine.shadows.expect(event)
            dispatches.setdefault(key, []).append(msgspec.structs.replace(event, shadow=True, holder=holder))

    def _cancel_attempt(self, owned: OwnedRun, pos: int) -> None:
        if owned.machine.tasks[pos].holder == CHILD:
            return  # it follows its parent by itself, and ends when it has
        event = owned.machine.event(pos)
        if self._engine.dispatcher is not None:
            self._engine.dispatcher.cancel(event)
        self._engine.later(self._engine.settings.cancel_grace, lambda: self._give_up_on(owned, event))

    def _give_up_on(self, owned: OwnedRun, event: TaskReadyEvent) -> None:
        """An attempt was asked to stop and did not answer: its run ends without it."""
        if not owned.dropped:
            owned.results.append(Answer(split_task_id(event.task_id)[1], ExecutionResult.cancelled(event)))
            self._engine.enqueue(owned, Stage.STEP_RESULT_PROCESSOR)

    # -- not applied --------------------------------------------------------------------------------------------
    def _refused(self, move: Move, outcome: WriteOutcome) -> None:
        engine, owned = self._engine, move.owned
        self._release(move)
        if move.request is not None:
            engine.admission.refused(move, move.request, outcome)
            return
        owned.orders[:0] = move.orders
        owned.results[:0] = move.results
        owned.busy = True
        if outcome.rejected is not None and move.turn.run_row.reason not in GIVEN_UP:
            error = ErrorInfo("StoreRejected", printable(outcome.rejected))
            engine.spawn(self.write([given_up(owned, error, STORE_REJECTED)]))
        else:
            if outcome.rejected is None:
                log.info("run %s: the database disagrees on %s; reading it anew", owned.run_id, outcome.stale)
            engine.spawn(engine.adoption.reload(owned))

    def _fail(self, move: Move, error: BaseException) -> None:
        """The ledger is closed: whoever owns these runs next finds them as they are stored."""
        self._release(move)
        move.owned.results[:0] = move.results
        if move.request is not None:
            self._engine.admission.failed(move.request, error)
        self._engine.drop(move.owned)

    def _release(self, move: Move) -> None:
        if self._engine.dispatcher is not None:
            for key, event in move.events:
                self._engine.dispatcher.release(key, event.holder)

    # -- timers -------------------------------------------------------------------------------------------------
    def wait_until_due(self, owned: OwnedRun, row: TaskRow) -> None:
        """Bring the run back when this ready task may start."""

        def due() -> None:
            if not owned.dropped:
                owned.machine.due(row.pos)
                self._engine.enqueue(owned, Stage.STEP_ENQUEUER)

        self._engine.later(row.retry_in or 0.0, due)

    def watch_deadline(self, owned: OwnedRun, age: float) -> None:
        """Cancel the run when its timeout is over."""
        timeout = owned.machine.new.timeout
        if timeout is not None and not owned.machine.row.state.terminal:
            order, left = Order("cancel", RUN_TIMED_OUT), max(0.0, timeout - age)
            owned.ends_at = time.monotonic() + left
            owned.timer = self._engine.later(left, lambda: self._engine.order(owned, order))
