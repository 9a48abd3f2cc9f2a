"""Commits transitions, then advances memory, dispatches tasks and answers callers by what was applied."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from functools import partial

import msgspec

from turnout.contracts.dispatcher import Dispatcher
from turnout.contracts.telemetry import CommitObserver
from turnout.model.children import CHILD
from turnout.model.events import ErrorInfo, TaskReadyEvent, clipped
from turnout.model.names import split_task_id
from turnout.model.reasons import DATA_DISCARDED, STORE_REJECTED
from turnout.model.rows import WriteOutcome
from turnout.model.run_machine import RunMachine
from turnout.model.states import RUN_TERMINAL, TaskState
from turnout.model.transition import Transition
from turnout.orchestration.active_runs import ActiveRun, ActiveRuns, PendingResult, RunTimers
from turnout.orchestration.background import Background
from turnout.orchestration.children.child_runs import ChildRuns
from turnout.orchestration.ledger import Ledger, Outcomes
from turnout.orchestration.messages import PendingCommit, error_of, given_up
from turnout.orchestration.stages.capacity import Reservations
from turnout.orchestration.stages.claims import Claims
from turnout.orchestration.stages.limit_queue import LimitQueue
from turnout.orchestration.stages.pending_submissions import SubmissionReplies
from turnout.orchestration.stages.results import Shadows

log = logging.getLogger("turnout.commits")


class Commits:
    """Hands pending commits to the ledger and acts on their outcomes."""

    def __init__(  # noqa: PLR0913 - every part that acts on an outcome
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
        limits: LimitQueue,
        timers: RunTimers,
        background: Background,
        observer: CommitObserver | None = None,
    ) -> None:
        self._ledger = ledger
        self._dispatcher = dispatcher
        self._runs = runs
        self._reservations = reservations
        self._claims = claims
        self._children = children
        self._replies = replies
        self._shadows = shadows
        self._limits = limits
        self._timers = timers
        self._observer = observer
        self._spawn = background.spawn
        self.yielding = ledger.yielding
        self.release = reservations.release

    async def write(self, batch: list[PendingCommit]) -> None:
        """Commits these transitions. Returns when their effects are done."""
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        # Effects follow from the ledger's outcome, not from the stage executor, which may be replaced meanwhile.
        self._ledger.submit([pending.write for pending in batch], partial(self._on_written, batch, done))
        await done

    def _on_written(self, batch: list[PendingCommit], done: asyncio.Future[None], outcomes: Outcomes) -> None:
        try:
            if isinstance(outcomes, BaseException):
                for pending in batch:
                    self._on_closed(pending, outcomes)
            else:
                self._on_outcomes(batch, outcomes)
        finally:
            if not done.done():
                done.set_result(None)

    def _on_outcomes(self, batch: list[PendingCommit], outcomes: Sequence[WriteOutcome]) -> None:
        dispatches: dict[str, list[TaskReadyEvent]] = {}
        durable: list[PendingResult] = []
        shadowing = self._dispatcher.has_shadows
        for pending, outcome in self.yielding(list(zip(batch, outcomes, strict=True))):
            pending.owned.busy = False
            try:
                if outcome.applied:
                    durable += pending.results
                    if self._observer is not None:
                        self._observer.committed(pending.transition, [each.result for each in pending.results])
                    self._applied(pending, dispatches, shadowing=shadowing)
                else:
                    self._not_applied(pending, outcome)
            except Exception as error:
                # A failure concerns one run: it is reloaded, and the others of the commit go on.
                log.exception("run %s: the effects of its commit failed", pending.owned.run_id)
                if outcome.applied:
                    self.release(
                        [(key, event) for key, event in pending.events if event not in dispatches.get(key, ())]
                    )
                self._effects_failed(pending, error)
        self.acknowledge(durable)
        for key, events in dispatches.items():
            self._dispatcher.dispatch(key, events)

    def _effects_failed(self, pending: PendingCommit, error: Exception) -> None:
        owned = pending.owned
        owned.busy = True
        if owned.is_repeated_failure(error) and not owned.machine.row.state.terminal:
            self._spawn(self.write([given_up(owned, error_of(error))]))
        else:
            self._spawn(self._claims.reload(owned))

    # -- applied ------------------------------------------------------------------------------------------------
    def _applied(self, pending: PendingCommit, dispatches: dict[str, list[TaskReadyEvent]], *, shadowing: bool) -> None:
        owned, transition = pending.owned, pending.transition
        machine = owned.machine
        graph = machine.graph
        machine.apply(transition)
        if pending.submission is not None:
            self._replies.inserted(pending, pending.submission)
        if owned.dropped and pending.events:
            # The session was lost meanwhile: the run's next owner, which may be this process, counts them as lost.
            self.release(pending.events)
            pending.events = []
        for key, event in pending.events:
            if key in dispatches:
                dispatches[key].append(event)
            else:
                dispatches[key] = [event]
            if shadowing:
                self._shadow(machine, event, dispatches)
        if transition.has_ready:
            self._set_timers(owned, transition)
        for pos in pending.to_cancel:
            self._cancel_attempt(owned, pos)
        if graph.children:
            self._children.applied(owned, transition, pending.commands)
        else:
            for command in pending.commands:
                command.acknowledge()
        if graph.has_limits:
            self._limits.applied(owned, transition)
        if graph.hooks:
            self._warn_of_hooks(owned, transition)
        self._advance(owned, transition)
        owned.last_failure = ""

    def _set_timers(self, owned: ActiveRun, transition: Transition) -> None:
        for row in transition.rows.values():
            if row.retry_in and row.poll_key is None:
                self._timers.retry(owned, row)

    def acknowledge(self, results: Sequence[PendingResult]) -> None:
        """Acknowledges results to the executors that keep them."""
        if results and self._dispatcher.acknowledges:
            try:
                self._dispatcher.acknowledge([pending.result for pending in results])
            except Exception:
                log.exception("%d results could not be acknowledged", len(results))

    def _advance(self, owned: ActiveRun, transition: Transition) -> None:
        """Puts the run into the queue of its next stage."""
        machine = owned.machine
        if machine.row.state in RUN_TERMINAL:
            if machine.new.parent_run is not None:
                self._children.ended(machine.new)
            self._runs.finish(owned)
        elif self._runs.get(machine.new.run_id) is None:
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
        """Logs failures of hooks, which change no run."""
        for pos, row in transition.rows.items():
            if pos in owned.machine.graph.hooks and row.state is TaskState.FAILED:
                failure = f"{row.error.type}: {row.error.message}" if row.error else row.reason
                log.warning("run %s: hook %s failed: %s", owned.run_id, owned.machine.graph.tasks[pos].name, failure)

    def _shadow(self, machine: RunMachine, event: TaskReadyEvent, dispatches: dict[str, list[TaskReadyEvent]]) -> None:
        pos = split_task_id(event.task_id)[1]
        decision = self._dispatcher.shadow(machine.spec_of(pos), machine.graph.spec, event.run_id)
        if decision is None:
            return
        # A shadow never delays the run: without capacity for it, there is none.
        key, reservations = decision.executor_key, self._reservations
        holder = reservations.reserve(reservations.queue_key(machine, machine.tasks[pos], decision), event.body)
        if holder is None:
            self._shadows.metrics.without_room += 1
        else:
            self._shadows.expect(event, key)
            dispatches.setdefault(key, []).append(msgspec.structs.replace(event, shadow=True, holder=holder))

    def _cancel_attempt(self, owned: ActiveRun, pos: int) -> None:
        if owned.machine.tasks[pos].holder == CHILD:
            return  # a child run follows its parent, and the attempt ends with it
        event = owned.machine.event(pos)
        self._dispatcher.cancel(event)
        self._timers.cancel_timeout(owned, event)

    # -- not applied --------------------------------------------------------------------------------------------
    def _not_applied(self, pending: PendingCommit, outcome: WriteOutcome) -> None:
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
                log.info("run %s: stale at %s; reloading it", owned.run_id, outcome.stale)
            self._spawn(self._claims.reload(owned))

    def _on_closed(self, pending: PendingCommit, error: BaseException) -> None:
        """Called when the ledger is closed. The next owner of the run finds it as it is stored."""
        self.release(pending.events)
        pending.owned.results[:0] = pending.results
        if pending.submission is not None:
            self._replies.failed(pending.submission, error)
        self._runs.release(pending.owned)
