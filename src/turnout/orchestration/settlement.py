"""What follows from a commit? Memory advances, tasks go out and people are told by what was applied, only by that."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from functools import partial

import msgspec

from turnout.contracts.dispatcher import Dispatcher
from turnout.errors import StoreUnreachable
from turnout.model.children import CHILD
from turnout.model.events import ErrorInfo, TaskReadyEvent, printable
from turnout.model.machine import RunMachine
from turnout.model.names import split_task_id
from turnout.model.reasons import GIVEN_UP, STORE_REJECTED
from turnout.model.rows import WriteOutcome
from turnout.model.states import RUN_TERMINAL, TaskState
from turnout.model.turn import Turn
from turnout.orchestration.active_runs import ActiveRuns
from turnout.orchestration.adoption import Adoption
from turnout.orchestration.background import Background
from turnout.orchestration.children import Children
from turnout.orchestration.failures import error_of, given_up
from turnout.orchestration.ledger import Ledger
from turnout.orchestration.moves import Move
from turnout.orchestration.owned import Answer, OwnedRun
from turnout.orchestration.replies import SubmissionReplies
from turnout.orchestration.reservations import Reservations
from turnout.orchestration.shadows import Shadows
from turnout.orchestration.timers import RunTimers

log = logging.getLogger("turnout.settlement")


class Settlement:
    """Hands turns to the ledger and acts on its answers."""

    def __init__(
        self,
        ledger: Ledger,
        dispatcher: Dispatcher,
        runs: ActiveRuns,
        *,
        reservations: Reservations,
        claims: Adoption,
        children: Children,
        replies: SubmissionReplies,
        shadows: Shadows,
        timers: RunTimers,
        background: Background,
    ) -> None:
        self._ledger = ledger
        self._dispatcher = dispatcher
        self._runs = runs
        self._reservations = reservations
        self._claims = claims
        self._children = children
        self._replies = replies
        self._shadows = shadows
        self._timers = timers
        self._spawn = background.spawn
        self.giving_way = ledger.giving_way
        self.release = reservations.release

    async def write(self, moves: list[Move]) -> None:
        """Commit these turns; returns when they are settled."""
        written = self._ledger.write([move.write for move in moves])
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
        for move, outcome in self.giving_way(list(zip(moves, written.result(), strict=True))):
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
                if outcome.applied:
                    self.release([(key, event) for key, event in move.events if event not in dispatches.get(key, ())])
                self._stumbled(move, error)
        self.settled(durable)
        for key, events in dispatches.items():
            self._dispatcher.dispatch(key, events)

    def _stumbled(self, move: Move, error: Exception) -> None:
        owned = move.owned
        owned.busy = True
        if owned.fails_again(error) and not owned.machine.row.state.terminal:
            self._spawn(self.write([given_up(owned, error_of(error))]))
        else:
            self._spawn(self._claims.reload(owned))

    # -- applied ------------------------------------------------------------------------------------------------
    def _applied(self, move: Move, dispatches: dict[str, list[TaskReadyEvent]]) -> None:
        owned, turn = move.owned, move.turn
        machine = owned.machine
        shadowing = self._dispatcher.has_shadows
        machine.adopt(turn)
        if move.request is not None:
            self._replies.inserted(move, move.request)
        for key, event in move.events:
            dispatches.setdefault(key, []).append(event)
            if shadowing:
                self._shadow(machine, event, dispatches)
        for row in turn.rows.values():
            if row.retry_in and row.poll_key is None:
                self._timers.retry(owned, row)
        for pos in move.to_cancel:
            self._cancel_attempt(owned, pos)
        if machine.graph.children:
            self._children.applied(owned, turn, move.orders)
        else:
            for order in move.orders:
                order.carried_out()
        if machine.graph.hooks:
            self._warn_of_hooks(owned, turn)
        self._go_on(owned, turn)
        owned.trouble = ""

    def settled(self, answers: Sequence[Answer]) -> None:
        """These results have done what they can: who sent them need not keep them."""
        if answers and self._dispatcher.settles:
            try:
                self._dispatcher.settled([answer.result for answer in answers])
            except Exception:
                log.exception("who sent %d results could not be told that they have arrived", len(answers))

    def _go_on(self, owned: OwnedRun, turn: Turn) -> None:
        """Bring the run to where it has to go next."""
        machine = owned.machine
        if machine.row.state in RUN_TERMINAL:
            if machine.new.parent_run is not None:
                self._children.ended(machine.new)
            self._runs.finish(owned)
        elif owned.run_id not in self._runs:
            owned.dropped = True
        elif (
            owned.fresh or owned.results or owned.orders or not machine.open or turn.contested or machine.settling
        ) or (machine.ready and not owned.parked):
            self._runs.enqueue(owned)

    @staticmethod
    def _warn_of_hooks(owned: OwnedRun, turn: Turn) -> None:
        """The failure of a hook changes nothing, so somebody has to be told."""
        for pos, row in turn.rows.items():
            if pos in owned.machine.graph.hooks and row.state is TaskState.FAILED:
                said = f"{row.error.type}: {row.error.message}" if row.error else row.reason
                log.warning("run %s: hook %s failed: %s", owned.run_id, owned.machine.graph.tasks[pos].name, said)

    def _shadow(self, machine: RunMachine, event: TaskReadyEvent, dispatches: dict[str, list[TaskReadyEvent]]) -> None:
        pos = split_task_id(event.task_id)[1]
        decision = self._dispatcher.shadow(machine.spec_of(pos), machine.graph.spec, event.run_id)
        if decision is None:
            return
        # A shadow never delays the run: without room for it, there is none.
        key, reservations = decision.executor_key, self._reservations
        holder = reservations.reserve(key, reservations.line(machine, machine.tasks[pos], decision), event.body)
        if holder is None:
            self._shadows.metrics.without_room += 1
        else:
            self._shadows.expect(event)
            dispatches.setdefault(key, []).append(msgspec.structs.replace(event, shadow=True, holder=holder))

    def _cancel_attempt(self, owned: OwnedRun, pos: int) -> None:
        if owned.machine.tasks[pos].holder == CHILD:
            return  # it follows its parent by itself, and ends when it has
        event = owned.machine.event(pos)
        self._dispatcher.cancel(event)
        self._timers.give_up(owned, event)

    # -- not applied --------------------------------------------------------------------------------------------
    def _refused(self, move: Move, outcome: WriteOutcome) -> None:
        owned = move.owned
        self.release(move.events)
        if move.request is not None:
            self._replies.not_inserted(move, move.request, outcome)
            return
        owned.orders[:0] = move.orders
        owned.results[:0] = move.results
        owned.busy = True
        if outcome.rejected is not None and move.turn.run_row.reason not in GIVEN_UP:
            error = ErrorInfo("StoreRejected", printable(outcome.rejected))
            self._spawn(self.write([given_up(owned, error, STORE_REJECTED)]))
        else:
            if outcome.rejected is None:
                log.info("run %s: the database disagrees on %s; reading it anew", owned.run_id, outcome.stale)
            self._spawn(self._claims.reload(owned))

    def _fail(self, move: Move, error: BaseException) -> None:
        """The ledger is closed: whoever owns these runs next finds them as they are stored."""
        self.release(move.events)
        move.owned.results[:0] = move.results
        if move.request is not None:
            self._replies.failed(move.request, error)
        self._runs.release(move.owned)
