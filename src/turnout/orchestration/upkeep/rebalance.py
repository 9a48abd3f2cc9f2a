"""Runs that wait for a full executor are given to orchestrators that have room for them.

Each orchestrator reports with its heartbeat how many more attempts each of its executors would take. One whose own runs
have waited longer than ``MIN_WAIT`` gives some of them to those that reported room: the runs change their owner in the
database, and the receiver claims them under a new epoch. Only runs without a running attempt are given. A receiver gets
what it can begin at once, and up to an equal share of all that waits, so that few transfers are needed however short or
long the bodies are.
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
from turnout.orchestration.active_run import ActiveRun
from turnout.orchestration.active_runs import ActiveRuns
from turnout.orchestration.background import Background
from turnout.orchestration.capacity_queue import CapacityQueue
from turnout.orchestration.session import OrchestratorSession
from turnout.orchestration.settings import EngineSettings

log = logging.getLogger("turnout.rebalance")

MIN_WAIT = 1.0
"""Seconds that some run in a line has waited before any of the line are given away."""


class Rebalance:
    """Gives waiting runs away, and says what this orchestrator would take."""

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
        """False: this orchestrator drives certain runs only, and takes none of others."""
        self.given = 0
        self._next_gift: dict[str, float] = {}
        """Orchestrators that were given runs, and when, by the monotonic clock, their report counts again."""

    def spare(self, key: str) -> int:
        """How many attempts of other orchestrators' runs this executor would take now."""
        if (
            not self._session.may_start
            or not self._receives
            or len(self._runs) >= self._settings.max_owned_runs
            or not self._is_shared(key)
            or key in self._capacity_queue.wanted()
        ):
            return 0
        return self._dispatcher.free_slots(key)

    async def share(self) -> None:
        """Give away what waits here and could run elsewhere."""
        session = self._session
        if not (session.peers and session.may_start):
            return
        waiting = {key: runs for key in self._capacity_queue.wanted() if (runs := self._waiting(key))}
        if not waiting:
            return
        peers = [
            peer
            for peer in await self._background.in_thread(self._store.session_health)
            if peer.session.kind == "orchestrator" and peer.session.id != session.id
        ]
        self._next_gift = {
            peer.session.id: self._next_gift[peer.session.id] for peer in peers if peer.session.id in self._next_gift
        }
        for key, runs in waiting.items():
            await self._share_line(key, runs, peers)

    async def _share_line(self, key: str, runs: list[ActiveRun], peers: Sequence[SessionHealth]) -> None:
        now = time.monotonic()
        spare = {
            peer.session.id: room
            for peer in peers
            if now >= self._next_gift.get(peer.session.id, 0.0) and (room := _room(peer, key))
        }
        equal = len(runs) // (len(spare) + 1)
        for peer in peers:
            room = spare.get(peer.session.id)
            if room is not None:
                workflows = frozenset(peer.session.workflows)
                limit = min(max(room, equal), self._settings.claim_batch)
                # The database was asked meanwhile: what was chosen before may have moved on.
                gift = [owned for owned in runs if self._may_go(owned, key, workflows)][:limit]
                if gift:
                    await self._give(peer.session.id, gift)

    async def _give(self, receiver: str, gift: Sequence[ActiveRun]) -> None:
        given = frozenset[str]()
        for owned in gift:
            owned.busy = True  # no turn is taken meanwhile
        try:
            run_ids = [owned.run_id for owned in gift]
            giving = self._background.in_thread(self._store.give_runs, self._session.id, receiver, run_ids)
            given = frozenset(await giving)
        except StoreError as error:
            log.warning("%d waiting runs were not given to orchestrator %s: %s", len(gift), receiver, error)
        finally:
            # Whether a gift of unknown outcome was made shows at the run's next turn: its write is refused if it was.
            for owned in gift:
                owned.busy = False
                if owned.run_id in given:
                    self._runs.release(owned)
                else:
                    self._runs.enqueue(owned)
        # It reports what it took with its next heartbeat but one, at the latest.
        self._next_gift[receiver] = time.monotonic() + self._settings.heartbeat
        if given:
            self.given += len(given)
            log.info("gave %d waiting runs to orchestrator %s, which has room", len(given), receiver)

    def _waiting(self, key: str) -> list[ActiveRun]:
        """The runs in this executor's line, by rank, if any has waited long enough to look for room elsewhere."""
        if not self._is_shared(key):
            return []
        runs, since = self._capacity_queue.waiting(key), time.monotonic() - MIN_WAIT
        return runs if any(owned.waiting_since.get(key, since) < since for owned in runs) else []

    def _is_shared(self, key: str) -> bool:
        """Workers are not: they connect to every hub themselves. Nor is an executor whose breaker is open."""
        dispatcher = self._dispatcher
        return (
            key in dispatcher.used
            and key not in dispatcher.assigners
            and dispatcher.breaker(key) == BreakerState.CLOSED
        )

    def _may_go(self, owned: ActiveRun, key: str, workflows: Collection[str]) -> bool:
        """Whether nothing of this run is under way here, and another orchestrator's code is the run's own."""
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
