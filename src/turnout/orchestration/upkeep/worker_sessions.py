"""Holds the sessions of workers in the database and the attempts that they hold: the orchestrator's side of a hub."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from turnout.contracts.store import OwnershipStore, Store
from turnout.model.events import ExecutionResult
from turnout.model.names import split_task_id
from turnout.model.names import task_id as id_of
from turnout.model.rows import Renewal, Session
from turnout.model.states import TaskState
from turnout.orchestration.active_runs import ActiveRuns
from turnout.orchestration.background import Background, Wakeups
from turnout.orchestration.session import OrchestratorSession, on_this_machine, process_is_gone


class _Hub(msgspec.Struct):
    address: str = ""


class Listening(msgspec.Struct):
    """The part of an orchestrator's status that workers use."""

    hub: _Hub | None = None


class WorkerSessions:
    """Implements the contract ``Holders``. Workers have sessions of their own, as pollers have. Attempts that a worker
    holds from an orchestrator that is gone are renewed one by one, and answered through the inbox."""

    def __init__(
        self,
        store: Store,
        session: OrchestratorSession,
        runs: ActiveRuns,
        background: Background,
        wakeups: Wakeups,
        lease: float,
    ) -> None:
        self._store = store
        self._session = session
        self._runs = runs
        self._in_thread = background.in_thread
        self._wakeups = wakeups
        self._lease = lease

    async def open_session(self, worker: Session, about: str) -> str | None:
        return await self._in_thread(self._store.join_worker, worker, self._lease, about)

    async def renew(self, about: Mapping[str, str]) -> Renewal:
        return await self._in_thread(self._store.renew_workers, about, self._lease)

    async def end_session(self, worker_id: str) -> None:
        await self._in_thread(self._store.end_session, worker_id)

    async def keys_of(self, worker_ids: Sequence[str]) -> Mapping[str, str]:
        known = await self._in_thread(self._store.holders, worker_ids)
        return {id: holder.session.key for id, holder in known.items() if holder.session.kind == "worker"}

    async def extend_attempts(self, worker_id: str, attempts: Sequence[tuple[str, int]]) -> frozenset[tuple[str, int]]:
        held = [(*split_task_id(task), attempt) for task, attempt in attempts]
        gone = await self._in_thread(self._store.renew_attempts, worker_id, held, self._lease)
        return frozenset(attempts) - {(id_of(run_id, pos), attempt) for run_id, pos, attempt in gone}

    def drives(self, task_id: str) -> bool:
        owned = self._runs.get(split_task_id(task_id)[0])
        return owned is not None and not owned.dropped and not self._session.fenced

    async def hubs(self) -> Mapping[str, bool]:
        found = await self._in_thread(self._store.session_health)
        return {
            hub.address: on_this_machine(one.session)
            for one in found
            if one.session.kind == "orchestrator" and one.health is not None and not process_is_gone(one.session)
            if (hub := msgspec.json.decode(one.health, type=Listening).hub) is not None and hub.address
        }

    async def post(self, worker_id: str, results: Sequence[ExecutionResult]) -> None:
        await self._in_thread(self._store.post_results, worker_id, results)
        self._wakeups.announce("inbox")

    def may_begin(self, worker_id: str, task_id: str, attempt: int) -> bool:
        """True if the attempt may begin. This orchestrator alone writes to the run, so its memory decides."""
        run_id, pos = split_task_id(task_id)
        owned = self._runs.get(run_id)
        if owned is None or owned.dropped or self._session.fenced or pos >= len(owned.machine.tasks):
            return False
        row = owned.machine.tasks[pos]
        return row.state is TaskState.RUNNING and (row.attempt, row.holder) == (attempt, worker_id)


class StoredRunNumbers:
    """Implements the contract ``RunNumbers`` with numbers that are kept in the database."""

    def __init__(self, store: OwnershipStore, background: Background) -> None:
        self._store = store
        self._background = background

    async def numbers_of(self, run_ids: Sequence[str]) -> Mapping[str, int]:
        return await self._background.in_thread(self._store.run_numbers, run_ids)
