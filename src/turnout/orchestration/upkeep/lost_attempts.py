"""Finds attempts that no process has any more, and owned runs that are not in memory."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import msgspec

from turnout.contracts.clock import boot_time
from turnout.contracts.dispatcher import Delivery
from turnout.contracts.store import ReadStore, Store
from turnout.model.events import ErrorInfo, ExecutionResult, ExecutionStatus
from turnout.model.names import task_id
from turnout.model.states import RunState, TaskState
from turnout.orchestration.active_runs import ActiveRun, ActiveRuns
from turnout.orchestration.background import Background
from turnout.orchestration.session import OrchestratorSession, process_is_gone
from turnout.orchestration.stages.claims import Claims

log = logging.getLogger("turnout.sweeper")
MAX_RUNS_TO_SWEEP = 64
"""Owned runs up to which a sweep after every notification is cheap: SQLite does not report what has changed."""


class Redelivery:
    """Sends attempts again to the worker that holds them, if the orchestrator that committed them is gone.

    It is not known whether the first message reached the worker. A worker begins a token once, however often and by
    whichever hub it is sent: an attempt that was never sent begins now, and any other goes on.
    """

    def __init__(self, delivery: Delivery, session: OrchestratorSession) -> None:
        self._delivery = delivery
        self._session = session

    def takes(self, owned: ActiveRun, pos: int, attempt: int) -> bool:
        """Returns True if the attempt's holder has a session here, so that the attempt is not lost. It is sent when the
        holder has a slot, unless the run is paused. An attempt of a run that is being cancelled is lost."""
        row, delivery = owned.machine.tasks[pos], self._delivery
        if row.state is not TaskState.RUNNING or row.attempt != attempt or not row.holder:
            return False
        if owned.machine.row.state is RunState.CANCELLING:
            return False
        event = msgspec.structs.replace(owned.machine.event(pos, row), again=True)
        for key, assigner in delivery.assigners.items():
            if not assigner.has_holder(row.holder):
                continue
            startable = owned.machine.row.state is RunState.RUNNING and not owned.commands and self._session.may_start
            if startable and assigner.assign_again(event):
                if delivery.reserve(key, body=event.body):
                    delivery.dispatch(key, [event])
                else:
                    assigner.unassign(row.holder)
            return True
        return False


class LostAttempts:
    """Delivers ``lost`` for attempts that are stored as running and that no process has any more."""

    def __init__(
        self,
        store: Store,
        delivery: Delivery,
        session: OrchestratorSession,
        runs: ActiveRuns,
        redelivery: Redelivery,
        background: Background,
    ) -> None:
        self._store = store
        self._delivery = delivery
        self._session = session
        self._runs = runs
        self._redelivery = redelivery
        self._in_thread = background.in_thread
        self._unknown_before: set[tuple[str, int, int]] = set()

    async def sweep(self) -> None:
        await self._lapsed()
        await self._unknown()

    async def _lapsed(self) -> None:
        """Delivers ``lost`` for attempts of pollers and workers whose leases are over."""
        lapsed = await self._in_thread(self._store.lapsed_attempts, self._session.id)
        in_flight = self._delivery.in_flight() if lapsed else {}
        spared = await self._spared(lapsed)
        for run_id, pos, attempt, holder in lapsed:
            owned = self._runs.get(run_id)
            if (run_id, pos) in spared or (task_id(run_id, pos), attempt) in in_flight:
                continue
            if owned is not None and not owned.busy and not self._redelivery.takes(owned, pos, attempt):
                lost = ExecutionResult(
                    run_id=run_id,
                    task_id=task_id(run_id, pos),
                    attempt=attempt,
                    status=ExecutionStatus.LOST,
                    error=ErrorInfo("Lost", f"its holder {holder} went silent"),
                )
                owned.has_lost_attempts = True
                self._runs.deliver(owned, pos, lost, holder=holder)

    async def _spared(self, lapsed: Sequence[tuple[str, int, int, str]]) -> set[tuple[str, int]]:
        """Returns those whose holders may still reconnect to this orchestrator, which has just claimed their runs."""
        now = boot_time()
        waiting = {
            (run_id, pos): holder
            for run_id, pos, attempt, holder in lapsed
            if (owned := self._runs.get(run_id)) is not None and now < owned.grace.get((pos, attempt), now)
        }
        if not waiting:
            return set()
        known = await self._in_thread(self._store.holders, sorted(set(waiting.values())))
        gone = {name for name, holder in known.items() if process_is_gone(holder.session)}
        return {key for key, holder in waiting.items() if holder not in gone}

    async def _unknown(self) -> None:
        """Delivers ``lost`` for attempts that this session holds by the store and twice no executor had."""
        stored = await self._in_thread(self._store.running_tasks, self._session.id)
        in_flight = self._delivery.in_flight()
        unknown = {
            (run_id, pos, attempt)
            for run_id, pos, attempt in stored
            if (task_id(run_id, pos), attempt) not in in_flight and _settled(self._runs.get(run_id), pos, attempt)
        }
        for run_id, pos, attempt in unknown & self._unknown_before:
            self._lose(self._runs[run_id], pos, attempt)
        self._unknown_before = unknown - self._unknown_before

    def _lose(self, owned: ActiveRun, pos: int, attempt: int) -> None:
        row = owned.machine.tasks[pos]
        if row.state is TaskState.RUNNING and row.attempt == attempt:
            owned.has_lost_attempts = True
            lost = ExecutionResult.lost(owned.machine.event(pos), "no executor has it")
            self._runs.deliver(owned, pos, lost)


def _settled(owned: ActiveRun | None, pos: int, attempt: int) -> bool:
    if owned is None or owned.busy or owned.results:
        return False
    row = owned.machine.tasks[pos]
    return row.state is TaskState.RUNNING and row.attempt == attempt


class UnknownRuns:
    """Claims runs that this session owns by the store and does not have in memory: another orchestrator gave them, or
    the answer to a claim was lost."""

    def __init__(
        self, store: ReadStore, session: OrchestratorSession, runs: ActiveRuns, claims: Claims, background: Background
    ) -> None:
        self._store = store
        self._session = session
        self._runs = runs
        self._claims = claims
        self._in_thread = background.in_thread
        self._seen: set[str] = set()

    @property
    def seen(self) -> bool:
        """True if unknown runs were seen once."""
        return bool(self._seen)

    @property
    def few(self) -> bool:
        """True if this orchestrator has so few runs that others may give it some."""
        return len(self._runs) <= MAX_RUNS_TO_SWEEP

    async def sweep(self) -> None:
        """Claims unknown runs that are seen for the second time while no claim is in flight."""
        if self._claims.claiming:
            return
        unknown = set(await self._in_thread(self._store.owned_runs, self._session.id)) - self._runs.keys()
        again = sorted(unknown & self._seen)
        self._seen = unknown - self._seen
        if again and not self._claims.claiming:
            claimed = await self._claims.claim(again)
            log.info("claimed %d runs that this orchestrator owned and did not have in memory", claimed)
