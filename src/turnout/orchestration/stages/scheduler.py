"""Computes the next transition of a run. Stages ``step_enqueuer`` and ``step_result_processor``.

The two differ in what brings a run to them. Both do the same: results and commands in, ready tasks started, the end
noticed, one write.
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
from turnout.orchestration.active_runs import ActiveRun, ActiveRuns, RunCommand, first_results
from turnout.orchestration.background import Background
from turnout.orchestration.children.child_runs import ChildRuns
from turnout.orchestration.ledger import MAX_COMMIT_CHARACTERS
from turnout.orchestration.messages import PendingCommit, error_of, given_up
from turnout.orchestration.session import OrchestratorSession
from turnout.orchestration.stages.commands import Commands, Withdrawal
from turnout.orchestration.stages.commits import Commits
from turnout.orchestration.stages.first_starts import FirstStarts
from turnout.orchestration.stages.results import ResultCheck
from turnout.orchestration.stages.task_starter import TaskStarter

log = logging.getLogger("turnout.scheduler")

TRANSITION_RETRY_INTERVAL = 1.0
"""Seconds until a transition that raised is retried."""


class Scheduler:
    """Computes and commits transitions of runs that have results, commands or ready tasks."""

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
        starts = FirstStarts(self._starter, time.time())
        for owned in self._commits.yielding(runs):
            owned.queued = False
            if not (owned.busy or owned.dropped):
                pending = self._guarded_transition(owned, starts)
                if pending is not None:
                    owned.busy = True
                    batch.append(pending)
        if batch:
            await self._commits.write(batch)

    def _guarded_transition(self, owned: ActiveRun, starts: FirstStarts) -> PendingCommit | None:
        """Keeps a failure to its run: its reservations are released, and the others of the batch go on."""
        events: list[tuple[str, TaskReadyEvent]] = []
        try:
            if owned.just_claimed and owned.begins_anew:
                return self._first_transition(owned, starts, events)
            return self._transition(owned, events)
        except Exception as error:
            self._commits.release(events)
            if owned.is_repeated_failure(error):
                return self._give_up(owned, error)
            log.exception("run %s: its transition failed and will be retried", owned.run_id)
            self._background.later(TRANSITION_RETRY_INTERVAL, lambda: self._runs.enqueue(owned))
            return None

    def _give_up(self, owned: ActiveRun, error: Exception) -> PendingCommit | None:
        """Refuses pending commands after a transition has failed twice in the same way; without any the run fails."""
        info = error_of(error)
        if not owned.commands:
            log.error("run %s fails, since its transition failed twice: %s", owned.run_id, info.message)
            return given_up(owned, info)
        log.error(
            "run %s refuses %d commands: its transition failed twice: %s",
            owned.run_id,
            len(owned.commands),
            info.message,
        )
        commands, owned.commands = owned.commands, []
        for command in commands:
            command.fail(TurnoutError(f"run {owned.run_id} cannot do this: {info.message}", code=TURN_FAILED))
        rows = [command.row for command in commands if command.row is not None]
        self._background.spawn(self._commands.refuse(rows, info.message))
        self._background.later(0.0, lambda: self._runs.enqueue(owned))
        return None

    @staticmethod
    def _first_transition(
        owned: ActiveRun, starts: FirstStarts, events: list[tuple[str, TaskReadyEvent]]
    ) -> PendingCommit | None:
        """Begins a run that was claimed and has nothing to resume."""
        transition, write = starts.begin(owned, events, Transition.write)
        owned.just_claimed = False
        return None if transition.empty else PendingCommit(owned, transition, write, events)

    def _transition(self, owned: ActiveRun, events: list[tuple[str, TaskReadyEvent]]) -> PendingCommit | None:
        transition = Transition(owned.machine, time.time(), random.random)
        results, commands = owned.results, owned.commands
        if len(results) > 1:
            results = first_results(results, MAX_COMMIT_CHARACTERS)
        deferred: Sequence[RunCommand] = ()
        if commands:
            commands, deferred = self._withdrawal.ready_commands(owned)
        inbox: list[int] = []
        for pending in results:
            result = pending.result
            if pending.holder is not None:
                owned.machine.observe_claim(pending.pos, result.attempt, pending.holder, result.started_at)
            if result.deferral is not None or owned.has_lost_attempts:
                result = self._checks.checked(owned, pending)
            transition.result(result, pending.pos)
            if pending.inbox is not None:
                inbox.append(pending.inbox)
        to_cancel = self._resume_claimed(owned, transition) if owned.just_claimed else []
        if commands:
            to_cancel += self._apply_commands(transition, commands)
        machine = owned.machine
        # Most results of a plain workflow's last tasks leave nothing to start.
        startable = transition.due or transition.has_ready or machine.ready or not machine.graph.plain
        if startable and not deferred:
            self._starter.start_ready(owned, transition, events)
        transition.finish()
        owned.results = [] if results is owned.results else owned.results[len(results) :]
        owned.just_claimed = False
        if commands:
            owned.commands = [*deferred]
        command_rows = [command.row for command in commands if command.row is not None] if commands else None
        if transition.empty and not inbox and not command_rows:
            for command in commands:
                command.acknowledge()
            self._commits.acknowledge(results)
            if owned.results:
                self._runs.enqueue(owned)
            return None
        write = transition.write()
        if inbox or command_rows:
            write.inbox_done, write.commands_done = inbox, command_rows or ()
        # The run keeps its list of commands if it was empty, so the pending commit must not hold it.
        return PendingCommit(owned, transition, write, events, commands or (), to_cancel or (), results)

    def _resume_claimed(self, owned: ActiveRun, transition: Transition) -> list[int]:
        """Resumes a run from an earlier owner or epoch. Returns positions of attempts to cancel locally."""
        if owned.machine.graph.children:
            self._children.resume(owned)
        if transition.run_row.state is RunState.CANCELLING:
            return self._cancel_elsewhere(transition, transition.go_on_cancelling())
        transition.begin()
        return []

    def _apply_commands(self, transition: Transition, commands: Sequence[RunCommand]) -> list[int]:
        """Applies pending commands to the transition. Returns positions of attempts to cancel locally."""
        running: list[int] = []
        for command in commands:
            match command.kind:
                case "cancel":
                    running += self._cancel(transition, command)
                case "pause":
                    transition.pause(command.reason or "paused")
                case "resume":
                    transition.resume()
                case "stuck":
                    transition.call_stuck(command.reason or "")
                case _:
                    log.error("unknown command %r", command.kind)
        return self._cancel_elsewhere(transition, running)

    @staticmethod
    def _cancel(transition: Transition, command: RunCommand) -> list[int]:
        cancelling = transition.run_row.state is RunState.CANCELLING
        if command.ends_hooks is None:
            command.ends_hooks = cancelling
        # A command that is retried after its commit failed in part is not a second command.
        return [] if cancelling and not command.ends_hooks else transition.cancel(command.reason or "cancelled")

    def _cancel_elsewhere(self, transition: Transition, running: Sequence[int]) -> list[int]:
        """Ends attempts that other sessions hold; their holders find out. Returns those of this process."""
        mine: list[int] = []
        # A child run is not ended here: its parent ends after it.
        own = (self._session.id, CHILD)
        # An executor here may have it although another session holds it: of a worker, or reattached.
        others = any(transition.task(pos).holder not in own for pos in running)
        in_flight = self._delivery.in_flight() if others else {}
        for pos in running:
            row = transition.task(pos)
            if row.holder in own or (transition.machine.event(pos, row).task_id, row.attempt) in in_flight:
                mine.append(pos)
            else:
                transition.stop_running(pos, transition.run_row.reason or "cancelled")
        return mine
