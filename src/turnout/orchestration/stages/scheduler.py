"""The next transition of a run. Stages ``step_enqueuer`` and ``step_result_processor``.

They differ in what brings a run to them. What they do is one thing, a turn: results and orders in, ready tasks placed,
the end noticed, one write.
"""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Sequence

from turnout.contracts.dispatcher import Delivery
from turnout.errors import TurnoutError
from turnout.model.children import CHILD
from turnout.model.events import TaskReadyEvent
from turnout.model.reasons import TURN_FAILED
from turnout.model.states import RunState
from turnout.model.transition import Transition
from turnout.orchestration.active_run import ActiveRun, RunCommand, portion
from turnout.orchestration.active_runs import ActiveRuns
from turnout.orchestration.background import Background
from turnout.orchestration.children.child_runs import ChildRuns
from turnout.orchestration.ledger import LARGEST
from turnout.orchestration.messages import PendingCommit
from turnout.orchestration.session import OrchestratorSession
from turnout.orchestration.stages.commands import Commands
from turnout.orchestration.stages.commits import Commits
from turnout.orchestration.stages.failures import error_of, given_up
from turnout.orchestration.stages.result_check import ResultCheck
from turnout.orchestration.stages.task_starter import TaskStarter
from turnout.orchestration.stages.withdrawal import Withdrawal

log = logging.getLogger("turnout.turns")

RETRY_TURN = 1.0


class Scheduler:
    """Takes turns for runs that have news."""

    def __init__(
        self,
        delivery: Delivery,
        session: OrchestratorSession,
        runs: ActiveRuns,
        *,
        commits: Commits,
        starter: TaskStarter,
        checks: ResultCheck,
        withdrawal: Withdrawal,
        children: ChildRuns,
        commands: Commands,
        background: Background,
    ) -> None:
        self._delivery = delivery
        self._session = session
        self._runs = runs
        self._commits = commits
        self._starter = starter
        self._checks = checks
        self._withdrawal = withdrawal
        self._children = children
        self._commands = commands
        self._background = background

    async def process(self, runs: list[ActiveRun]) -> None:
        batch: list[PendingCommit] = []
        for owned in self._commits.yielding(runs):
            owned.queued = False
            if not (owned.busy or owned.dropped):
                pending = self._guarded(owned)
                if pending is not None:
                    owned.busy = True
                    batch.append(pending)
        if batch:
            await self._commits.write(batch)

    def _guarded(self, owned: ActiveRun) -> PendingCommit | None:
        """One run's trouble is its own: nothing of it is lost, and the others of the batch go on."""
        events: list[tuple[str, TaskReadyEvent]] = []
        try:
            return self._turn(owned, events)
        except Exception as error:
            self._commits.release(events)
            if owned.fails_again(error):
                return self._without(owned, error)
            log.exception("run %s: its turn failed and will be taken again", owned.run_id)
            self._background.later(RETRY_TURN, lambda: self._runs.enqueue(owned))
            return None

    def _without(self, owned: ActiveRun, error: Exception) -> PendingCommit | None:
        """A turn that failed twice in the same way is not taken a third time: orders that wait are refused, and without
        any the run fails."""
        said = error_of(error)
        if not owned.commands:
            log.error("run %s fails, since its turn failed twice: %s", owned.run_id, said.message)
            return given_up(owned, said)
        log.error(
            "run %s refuses %d orders: its turn failed twice: %s", owned.run_id, len(owned.commands), said.message
        )
        orders, owned.commands = owned.commands, []
        for order in orders:
            order.fail(TurnoutError(f"run {owned.run_id} cannot do this: {said.message}", code=TURN_FAILED))
        rows = [order.row for order in orders if order.row is not None]
        self._background.spawn(self._commands.refuse(rows, said.message))
        self._background.later(0.0, lambda: self._runs.enqueue(owned))
        return None

    def _turn(self, owned: ActiveRun, events: list[tuple[str, TaskReadyEvent]]) -> PendingCommit | None:
        transition = Transition(owned.machine, time.time(), random.random)
        results, orders = portion(owned.results, LARGEST), owned.commands
        held: Sequence[RunCommand] = ()
        if orders:
            orders, held = self._withdrawal.prepared(owned)
        for answer in results:
            if answer.holder is not None:
                result = answer.result
                owned.machine.observe_claim(answer.pos, result.attempt, answer.holder, result.started_at)
            transition.result(self._checks.checked(owned, answer), answer.pos)
        to_cancel = self._take_up(owned, transition) if owned.just_claimed else []
        if orders:
            to_cancel += self._obey(transition, orders)
        if not held:
            self._starter.start_ready(owned, transition, events)
        transition.finish()
        owned.results, owned.just_claimed = owned.results[len(results) :], False
        if orders:
            owned.commands = [*held]
        inbox = [answer.inbox for answer in results if answer.inbox is not None]
        commands = [order.row for order in orders if order.row is not None]
        if transition.empty and not inbox and not commands:
            for order in orders:
                order.acknowledge()
            self._commits.settled(results)
            if owned.results:
                self._runs.enqueue(owned)
            return None
        write = transition.write()
        if inbox or commands:
            write.inbox_done, write.commands_done = inbox, commands
        # The run keeps its list of orders if it was empty, so the pending must not hold it.
        return PendingCommit(owned, transition, write, events, orders or (), to_cancel or (), results)

    def _take_up(self, owned: ActiveRun, transition: Transition) -> list[int]:
        """Go on where an earlier owner, or an earlier epoch, left off; returns the attempts to be stopped here."""
        if owned.machine.graph.children:
            self._children.take_up(owned)
        if transition.run_row.state is RunState.CANCELLING:
            return self._stop_elsewhere(transition, transition.go_on_cancelling())
        transition.begin()
        return []

    def _obey(self, transition: Transition, orders: Sequence[RunCommand]) -> list[int]:
        """Carry out orders; returns the attempts whose executors here must be asked to stop."""
        running: list[int] = []
        for order in orders:
            match order.kind:
                case "cancel":
                    running += self._cancel(transition, order)
                case "pause":
                    transition.pause(order.reason or "paused")
                case "resume":
                    transition.resume()
                case _:
                    log.error("unknown command %r", order.kind)
        return self._stop_elsewhere(transition, running)

    @staticmethod
    def _cancel(transition: Transition, order: RunCommand) -> list[int]:
        cancelling = transition.run_row.state is RunState.CANCELLING
        if order.ends_hooks is None:
            order.ends_hooks = cancelling
        # An order that is tried again after its commit failed in part is not a second order.
        return [] if cancelling and not order.ends_hooks else transition.cancel(order.reason or "cancelled")

    def _stop_elsewhere(self, transition: Transition, running: Sequence[int]) -> list[int]:
        """Attempts that others hold end here and now, and their holders find out; returns those of this process."""
        mine: list[int] = []
        delivery = self._delivery
        # An executor here may have it although somebody else holds it.
        flying = delivery.in_flight() if delivery.assigners and running else {}
        for pos in running:
            # A child run is not given up: its parent ends when it has.
            row = transition.task(pos)
            flies = (transition.machine.event(pos, row).task_id, row.attempt) in flying
            if flies or row.holder in (self._session.id, CHILD):
                mine.append(pos)
            else:
                transition.stop_running(pos, transition.run_row.reason or "cancelled")
        return mine
