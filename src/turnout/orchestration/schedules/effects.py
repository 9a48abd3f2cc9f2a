"""Gives decisions of schedules their effect: runs are cancelled, awaited and started.

A decision is durable before its effect, and any orchestrator that has the workflow may give it the effect: the id of
the run is part of the decision, so a run that two of them start is one run.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Iterable, Sequence

from turnout.authoring.definition import Definition
from turnout.authoring.registry import Registry
from turnout.contracts.store import Store
from turnout.errors import InputError, InvalidLimit, RunNotFound, StoreError, TurnoutError
from turnout.model.schedule_decisions import refusal
from turnout.model.schedule_rows import PendingDecision
from turnout.model.schedules import params_at
from turnout.orchestration.background import Background
from turnout.orchestration.messages import Submission
from turnout.orchestration.run_requests import RunRequest, RunRequests
from turnout.orchestration.stages.commands import Commands
from turnout.orchestration.stages.pending_submissions import PendingSubmissions

log = logging.getLogger("turnout.schedules")

DECIDER_TIMEOUT = 1.0
"""Seconds that the orchestrator which decided has to start the run, before others do."""


class ScheduleEffects:
    """Starts and cancels runs for schedules. Used on one event loop."""

    def __init__(
        self,
        store: Store,
        registry: Registry,
        *,
        requests: RunRequests,
        submissions: PendingSubmissions,
        commands: Commands,
        background: Background,
    ) -> None:
        self._store = store
        self._registry = registry
        self._requests = requests
        self._submissions = submissions
        self._commands = commands
        self._background = background
        self._in_thread = background.in_thread
        self._under_way: set[int] = set()
        """Decisions that this orchestrator gives their effect now."""
        self._cancelled: set[int] = set()
        """Decisions whose cancellations were requested here."""
        self._refused: dict[int, str] = {}
        """By schedule: why its last run was refused."""

    def report_refused(self, definitions: Iterable[Definition]) -> None:
        """Logs the workflows whose schedules can start no run, because a limit or queue of theirs has no size."""
        for each in definitions:
            try:
                self._requests.check_limits(each.graph)
            except InvalidLimit as error:
                log.warning("the schedules of %s start no runs: %s", each.spec.full_name, error.message)

    async def finish_pending(self) -> bool:
        """Gives their effect to the decisions that have none yet, whichever orchestrator has decided them. Returns
        whether some have to wait."""
        waits, after = False, 0
        while batch := await self._in_thread(self._store.pending_decisions, after=after):
            after = batch[-1].id
            mine = [each for each in batch if each.workflow in self._registry.workflows]
            ready = [each for each in mine if each.kind != "due" or each.age >= DECIDER_TIMEOUT or each.cancels]
            await self.apply(ready)
            waits |= len(ready) < len(mine) or any(each.blocked for each in ready)
        return waits

    async def apply(self, decisions: Sequence[PendingDecision]) -> None:
        """Gives these decisions their effect; those that wait for runs are left pending."""
        fresh = [each for each in decisions if each.id not in self._under_way]
        self._under_way |= {each.id for each in fresh}
        try:
            for each in fresh:
                if each.cancels and each.id not in self._cancelled:
                    self._cancelled.add(each.id)
                    self._background.spawn(self._cancel(each))
            await self._start([each for each in fresh if each.run_id is not None and not each.blocked])
        finally:
            self._under_way -= {each.id for each in fresh}

    # -- runs that end ----------------------------------------------------------------------------------------------
    async def _cancel(self, decision: PendingDecision) -> None:
        """Cancels runs. The decision to stop them is settled with that; one to start another waits for their end."""
        try:
            reason = f"schedule {decision.spec.name}"
            await asyncio.gather(*(self._cancel_run(run_id, reason) for run_id in decision.cancels))
            if decision.run_id is None:
                await self._in_thread(self._store.settle_decisions, closed=[decision.id])
                self._cancelled.discard(decision.id)
        except TurnoutError as error:
            self._cancelled.discard(decision.id)
            log.warning("the runs that schedule %s cancels are cancelled later: %s", decision.spec.name, error)

    async def _cancel_run(self, run_id: str, reason: str) -> None:
        with contextlib.suppress(RunNotFound):  # it never began, or was deleted
            await self._commands.carry_out(run_id, "cancel", reason)

    # -- runs that begin --------------------------------------------------------------------------------------------
    async def _start(self, decisions: Sequence[PendingDecision]) -> None:
        submissions: dict[int, Submission] = {}
        for each in decisions:
            if each.exists:
                continue
            try:
                request = self._request(each)
            except InputError as error:
                await self._refuse(each, error)
            else:
                if request is not None:
                    submissions[each.id] = request
        self._submissions.put(submissions.values())
        started = {each.id for each in decisions if each.exists}
        for id, submission in submissions.items():
            try:
                await submission.accepted.wait()
                started.add(id)
            except StoreError as error:
                log.warning("run %s of a schedule is started later: %s", submission.new.run_id, error)
            except TurnoutError as error:
                log.warning("run %s of a schedule was not started: %s", submission.new.run_id, error)
        if started:
            opened = [each.id for each in decisions if each.id in started and each.spec.keeps_open]
            closed = [each.id for each in decisions if each.id in started and not each.spec.keeps_open]
            self._cancelled -= started
            for each in decisions:
                if each.id in started:
                    self._refused.pop(each.schedule_id, None)
            await self._in_thread(self._store.settle_decisions, opened=opened, closed=closed)

    async def _refuse(self, decision: PendingDecision, error: InputError) -> None:
        """Makes the decision a skip, and logs it unless the schedule was refused for the same reason before."""
        reason = refusal(error)
        if self._refused.get(decision.schedule_id) != reason:
            self._refused[decision.schedule_id] = reason
            where = f"{decision.workflow}/{decision.spec.name}"
            log.warning("schedule %s starts no run: %s: %s", where, error.code, error.message)
        await self._in_thread(self._store.refuse_decision, decision.id, reason)

    def _request(self, decision: PendingDecision) -> Submission | None:
        """Returns the checked submission; None if this program does not have the workflow any more."""
        definition = self._registry.workflows.get(decision.workflow)
        if definition is None:
            return None
        return self._requests.build(
            RunRequest(
                graph=definition.graph,
                input=definition.bind(**params_at(decision.spec, decision.due_at, decision.params)),
                definition=definition,
                run_id=decision.run_id,
                timeout=definition.spec.timeout,
                answered=False,
            )
        )
