"""Transfers runs that wait for a full executor to orchestrators that have capacity for them.

Each orchestrator reports with its heartbeat how many more attempts each of its executors would take. One whose own runs
have waited longer than ``MIN_WAIT`` transfers some of them to those that reported capacity: the runs change their owner
in the database, and the receiver claims them under a new epoch. Only runs without a running attempt are transferred. A
receiver gets what it can begin at once, and up to an equal share of all that waits, so that few transfers are needed.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Collection, Sequence

from turnout.authoring.registry import Registry
from turnout.contracts.dispatcher import Dispatcher
from turnout.contracts.store import OwnershipStore
from turnout.errors import StoreError
from turnout.model.breaker import BreakerState
from turnout.model.health import read_status
from turnout.model.rows import SessionHealth
from turnout.model.states import RunState, TaskState
from turnout.orchestration.active_runs import ActiveRun, ActiveRuns
from turnout.orchestration.background import Background
from turnout.orchestration.session import OrchestratorSession
from turnout.orchestration.settings import EngineSettings
from turnout.orchestration.stages.capacity import CapacityQueue

log = logging.getLogger("turnout.rebalance")

MIN_WAIT = 1.0
"""Seconds that a run of a queue has waited before any of the queue are transferred."""


class Rebalance:
    """Transfers waiting runs to other orchestrators, and reports the capacity that this one has for theirs."""

    def __init__(
        self,
        store: OwnershipStore,
        registry: Registry,
        dispatcher: Dispatcher,
        session: OrchestratorSession,
        runs: ActiveRuns,
        *,
        capacity_queue: CapacityQueue,
        background: Background,
        settings: EngineSettings,
        receives: bool,
    ) -> None:
        self._store = store
        self._registry = registry
        self._dispatcher = dispatcher
        self._session = session
        self._runs = runs
        self._capacity_queue = capacity_queue
        self._background = background
        self._settings = settings
        self._receives = receives
        """False: this orchestrator drives certain runs only, and receives none."""
        self.given = 0
        self._next_transfer: dict[str, float] = {}
        """By the session that received runs: the monotonic time from which on its report counts again."""

    def spare(self, key: str) -> int:
        """Returns how many attempts of other orchestrators' runs this executor would take now."""
        if (
            not self._session.may_start
            or not self._receives
            or len(self._runs) >= self._settings.max_owned_runs
            or not self._is_shared(key)
            or key in self._capacity_queue.awaited_executors()
        ):
            return 0
        return self._dispatcher.free_slots(key)

    async def share(self) -> None:
        """Transfers runs that wait here and could start elsewhere."""
        session = self._session
        if not (session.peers and session.may_start):
            return
        waiting = {key: runs for key in self._capacity_queue.awaited_executors() if (runs := self._waiting(key))}
        if not waiting:
            return
        peers = [
            peer
            for peer in await self._background.in_thread(self._store.session_health)
            if peer.session.kind == "orchestrator" and peer.session.id != session.id
        ]
        self._next_transfer = {
            peer.session.id: self._next_transfer[peer.session.id]
            for peer in peers
            if peer.session.id in self._next_transfer
        }
        for key, runs in waiting.items():
            await self._share_queue(key, runs, peers)

    async def _share_queue(self, key: str, runs: list[ActiveRun], peers: Sequence[SessionHealth]) -> None:
        now = time.monotonic()
        spare = {
            peer.session.id: room
            for peer in peers
            if now >= self._next_transfer.get(peer.session.id, 0.0) and (room := _room(peer, key))
        }
        equal = len(runs) // (len(spare) + 1)
        for peer in peers:
            room = spare.get(peer.session.id)
            if room is not None:
                workflows = frozenset(peer.session.workflows)
                limit = min(max(room, equal), self._settings.claim_batch)
                # The runs may have changed while the database was read.
                chosen = [owned for owned in runs if self._may_transfer(owned, key, workflows)][:limit]
                if chosen:
                    await self._transfer(peer.session.id, chosen)

    async def _transfer(self, receiver: str, chosen: Sequence[ActiveRun]) -> None:
        given = frozenset[str]()
        for owned in chosen:
            owned.busy = True  # no transition is computed meanwhile
        try:
            run_ids = [owned.run_id for owned in chosen]
            transfer = self._background.in_thread(self._store.give_runs, self._session.id, receiver, run_ids)
            given = frozenset(await transfer)
        except StoreError as error:
            log.warning("%d waiting runs were not given to orchestrator %s: %s", len(chosen), receiver, error)
        finally:
            # If the outcome is unknown, the run's next commit shows it: the write is stale if the run was given.
            for owned in chosen:
                owned.busy = False
                if owned.run_id in given:
                    self._runs.release(owned)
                else:
                    self._runs.enqueue(owned)
        # The receiver reports what it took with its next heartbeat but one, at the latest.
        self._next_transfer[receiver] = time.monotonic() + self._settings.heartbeat
        if given:
            self.given += len(given)
            log.info("gave %d waiting runs to orchestrator %s, which has capacity", len(given), receiver)

    def _waiting(self, key: str) -> list[ActiveRun]:
        """Returns the runs in this executor's queue, by rank, if any has waited longer than ``MIN_WAIT``."""
        if not self._is_shared(key):
            return []
        runs, since = self._capacity_queue.waiting(key), time.monotonic() - MIN_WAIT
        return runs if any(owned.waiting_since.get(key, since) < since for owned in runs) else []

    def _is_shared(self, key: str) -> bool:
        """True if its runs may be transferred: not those for workers, which use every hub, nor with an open breaker."""
        dispatcher = self._dispatcher
        return (
            key in dispatcher.used
            and key not in dispatcher.assigners
            and dispatcher.breaker(key) == BreakerState.CLOSED
        )

    def _may_transfer(self, owned: ActiveRun, key: str, workflows: Collection[str]) -> bool:
        """True if nothing of this run is in flight here, and the other orchestrator has the run's code."""
        machine = owned.machine
        return (
            key in owned.queued_for
            and machine.new.workflow in workflows
            and machine.row.state is RunState.RUNNING
            and not (owned.dropped or owned.busy or owned.queued or owned.just_claimed or owned.has_lost_attempts)
            and not (owned.results or owned.commands or owned.grace)
            and not self._registry.is_superseded(machine.new)
            and all(row.state is not TaskState.RUNNING for row in machine.tasks)
        )


def _room(peer: SessionHealth, key: str) -> int:
    status = read_status(peer.health, peer.age)
    executor = None if status.stopping else status.executors.get(key)
    return 0 if executor is None else executor.spare
