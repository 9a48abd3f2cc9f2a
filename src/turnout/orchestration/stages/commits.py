"""What follows from a commit: memory advances, tasks are dispatched and callers answered by what was applied."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from functools import partial

import msgspec

from turnout.contracts.dispatcher import Dispatcher
from turnout.errors import StoreUnreachable
from turnout.model.children import CHILD
from turnout.model.events import ErrorInfo, TaskReadyEvent, clipped
from turnout.model.names import split_task_id
from turnout.model.reasons import DATA_DISCARDED, STORE_REJECTED
from turnout.model.rows import WriteOutcome
from turnout.model.run_machine import RunMachine
from turnout.model.states import RUN_TERMINAL, TaskState
from turnout.model.transition import Transition
from turnout.orchestration.active_run import ActiveRun, PendingResult
from turnout.orchestration.active_runs import ActiveRuns
from turnout.orchestration.background import Background
from turnout.orchestration.children.child_runs import ChildRuns
from turnout.orchestration.ledger import Ledger
from turnout.orchestration.messages import PendingCommit
from turnout.orchestration.stages.claims import Claims
from turnout.orchestration.stages.failures import error_of, given_up
from turnout.orchestration.stages.reservations import Reservations
from turnout.orchestration.stages.shadows import Shadows
from turnout.orchestration.stages.submission_replies import SubmissionReplies
from turnout.orchestration.stages.timers import RunTimers

log = logging.getLogger("turnout.settlement")


class Commits:
    """Hands turns to the ledger and acts on its answers."""

    def __init__(
        self,
        ledger: Ledger,
        dispatcher: Dispatcher,
        runs: ActiveRuns,
        *,
        reservations: Reservations,
        claims: Claims,
        children: ChildRuns,
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
        self.yielding = ledger.yielding
        self.release = reservations.release

    async def write(self, batch: list[PendingCommit]) -> None:
        """Commit these turns; returns when they are settled."""
        written = self._ledger.write([pending.write for pending in batch])
        # Effects hang on the ledger's answer, not on the stage executor that asked: it may be replaced meanwhile.
        written.add_done_callback(partial(self._settle, batch))
        await asyncio.wait({written})

    def _settle(self, batch: list[PendingCommit], written: asyncio.Future[list[WriteOutcome]]) -> None:
        if written.cancelled() or written.exception() is not None:
            error = None if written.cancelled() else written.exception()
            for pending in batch:
                self._fail(pending, error or StoreUnreachable("the ledger is closed"))
            return
        dispatches: dict[str, list[TaskReadyEvent]] = {}
        durable: list[PendingResult] = []
        for pending, outcome in self.yielding(list(zip(batch, written.result(), strict=True))):
            pending.owned.busy = False
            try:
                if outcome.applied:
                    durable += pending.results
                    self._applied(pending, dispatches)
                else:
                    self._refused(pending, outcome)
            except Exception as error:
                # One run's trouble is its own: it is read anew, and the others of the commit go on.
                log.exception("run %s: what follows from its commit failed", pending.owned.run_id)
                if outcome.applied:
                    self.release(
                        [(key, event) for key, event in pending.events if event not in dispatches.get(key, ())]
                    )
                self._stumbled(pending, error)
        self.settled(durable)
        for key, events in dispatches.items():
            self._dispatcher.dispatch(key, events)

    def _stumbled(self, pending: PendingCommit, error: Exception) -> None:
        owned = pending.owned
        owned.busy = True
        if owned.fails_again(error) and not owned.machine.row.state.terminal:
            self._spawn(self.write([given_up(owned, error_of(error))]))
        else:
            self._spawn(self._claims.reload(owned))

    # -- applied ------------------------------------------------------------------------------------------------
    def _applied(self, pending: PendingCommit, dispatches: dict[str, list[TaskReadyEvent]]) -> None:
        owned, transition = pending.owned, pending.transition
        machine = owned.machine
        shadowing = self._dispatcher.has_shadows
        machine.apply(transition)
        if pending.submission is not None:
            self._replies.inserted(pending, pending.submission)
        for key, event in pending.events:
            dispatches.setdefault(key, []).append(event)
            if shadowing:
                self._shadow(machine, event, dispatches)
        for row in transition.rows.values():
            if row.retry_in and row.poll_key is None:
                self._timers.retry(owned, row)
        for pos in pending.to_cancel:
            self._cancel_attempt(owned, pos)
        if machine.graph.children:
            self._children.applied(owned, transition, pending.commands)
        else:
            for order in pending.commands:
                order.acknowledge()
        if machine.graph.hooks:
            self._warn_of_hooks(owned, transition)
        self._go_on(owned, transition)
        owned.trouble = ""

    def settled(self, answers: Sequence[PendingResult]) -> None:
        """These results have done what they can: who sent them need not keep them."""
        if answers and self._dispatcher.acknowledges:
            try:
                self._dispatcher.acknowledge([answer.result for answer in answers])
            except Exception:
                log.exception("who sent %d results could not be told that they have arrived", len(answers))

    def _go_on(self, owned: ActiveRun, transition: Transition) -> None:
        """Bring the run to where it has to go next."""
        machine = owned.machine
        if machine.row.state in RUN_TERMINAL:
            if machine.new.parent_run is not None:
                self._children.ended(machine.new)
            self._runs.finish(owned)
        elif owned.run_id not in self._runs:
            owned.dropped = True
        elif (
            owned.just_claimed
            or owned.results
            or owned.commands
            or not machine.open
            or transition.awaits_claim_check
            or machine.finished_groups
        ) or (machine.ready and not owned.queued_for):
            self._runs.enqueue(owned)

    @staticmethod
    def _warn_of_hooks(owned: ActiveRun, transition: Transition) -> None:
        """The failure of a hook changes nothing, so somebody has to be told."""
        for pos, row in transition.rows.items():
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

    def _cancel_attempt(self, owned: ActiveRun, pos: int) -> None:
        if owned.machine.tasks[pos].holder == CHILD:
            return  # it follows its parent by itself, and ends when it has
        event = owned.machine.event(pos)
        self._dispatcher.cancel(event)
        self._timers.give_up(owned, event)

    # -- not applied --------------------------------------------------------------------------------------------
    def _refused(self, pending: PendingCommit, outcome: WriteOutcome) -> None:
        owned = pending.owned
        self.release(pending.events)
        if pending.submission is not None:
            self._replies.not_inserted(pending, pending.submission, outcome)
            return
        owned.commands[:0] = pending.commands
        owned.results[:0] = pending.results
        owned.busy = True
        if outcome.rejected is not None and pending.transition.run_row.reason not in DATA_DISCARDED:
            error = ErrorInfo("StoreRejected", clipped(outcome.rejected))
            self._spawn(self.write([given_up(owned, error, STORE_REJECTED)]))
        else:
            if outcome.rejected is None:
                log.info("run %s: the database disagrees on %s; reading it anew", owned.run_id, outcome.stale)
            self._spawn(self._claims.reload(owned))

    def _fail(self, pending: PendingCommit, error: BaseException) -> None:
        """The ledger is closed: whoever owns these runs next finds them as they are stored."""
        self.release(pending.events)
        pending.owned.results[:0] = pending.results
        if pending.submission is not None:
            self._replies.failed(pending.submission, error)
        self._runs.release(pending.owned)
