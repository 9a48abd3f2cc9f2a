"""Attempts that are stored as running and that no process has any more."""

from __future__ import annotations

from collections.abc import Sequence

from turnout.contracts.clock import boot_time
from turnout.contracts.dispatcher import Delivery
from turnout.contracts.store import Store
from turnout.model.events import ErrorInfo, ExecutionResult, ExecutionStatus
from turnout.model.names import task_id
from turnout.model.states import TaskState
from turnout.orchestration.active_run import ActiveRun
from turnout.orchestration.active_runs import ActiveRuns
from turnout.orchestration.background import Background
from turnout.orchestration.lease import seen_dead
from turnout.orchestration.session import OrchestratorSession
from turnout.orchestration.upkeep.redelivery import Redelivery


class LostAttempts:
    """Delivers ``lost`` for them."""

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
        """Attempts of pollers and workers whose leases are over."""
        lapsed = await self._in_thread(self._store.lapsed_attempts, self._session.id)
        flying = self._delivery.in_flight() if lapsed else {}
        spared = await self._spared(lapsed)
        for run_id, pos, attempt, holder in lapsed:
            owned = self._runs.get(run_id)
            if (run_id, pos) in spared or (task_id(run_id, pos), attempt) in flying:
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
        """Those whose holders may still come back to this orchestrator, which has claimed their runs just now."""
        now = boot_time()
        waiting = {
            (run_id, pos): holder
            for run_id, pos, attempt, holder in lapsed
            if (owned := self._runs.get(run_id)) is not None and now < owned.grace.get((pos, attempt), now)
        }
        if not waiting:
            return set()
        known = await self._in_thread(self._store.holders, sorted(set(waiting.values())))
        gone = {name for name, holder in known.items() if seen_dead(holder.session)}
        return {key for key, holder in waiting.items() if holder not in gone}

    async def _unknown(self) -> None:
        """Attempts that this session holds by the store, and no executor has. Seen twice, they are lost."""
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
