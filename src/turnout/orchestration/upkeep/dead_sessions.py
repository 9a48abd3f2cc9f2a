"""Declares sessions dead whose leases are over or whose processes are gone."""

from __future__ import annotations

import logging
import time
from collections.abc import Collection

from turnout.contracts.dispatcher import Delivery
from turnout.contracts.store import OwnershipStore
from turnout.model.rows import Glance
from turnout.orchestration.background import Background
from turnout.orchestration.session import OrchestratorSession, process_is_gone

log = logging.getLogger("turnout.sweeper")


class Outage:
    """Decides for how long leases mean nothing after an outage of the database. Times are monotonic.

    After an outage no session is declared dead before all had the time of one lease to renew theirs. The same holds for
    workers and pollers after the start of an orchestrator: their hub may have been away with it for an unknown time.
    """

    def __init__(self, lease: float, started: float) -> None:
        self._lease = lease
        self._started = started
        self._since: float | None = None
        self._grace = 0.0
        self._until = 0.0

    def away(self, now: float) -> None:
        """Called when the database does not answer."""
        if self._since is None:
            self._since = now

    def spares_holders(self, now: float) -> bool:
        """True if workers and pollers whose leases are over may still reconnect to this new orchestrator."""
        return now < self._started + self._lease

    def grace(self, now: float) -> float:
        """Returns for how many seconds a lease may be over without its session being declared dead. Called when the
        database answers."""
        # Leases are renewed long before they end, so a shorter outage made no renewal late.
        if self._since is not None and now - self._since > self._lease / 2:
            self._grace, self._until = now - self._since + self._lease, now + self._lease
        self._since = None
        return self._grace if now < self._until else 0.0


class DeadSessions:
    """Declares sessions dead, so that their runs become unowned."""

    def __init__(
        self,
        store: OwnershipStore,
        delivery: Delivery,
        session: OrchestratorSession,
        background: Background,
        lease: float,
    ) -> None:
        self._store = store
        self._delivery = delivery
        self._session = session
        self._in_thread = background.in_thread
        self._outage = Outage(lease, time.monotonic())
        self.known = Glance()
        """What the last look at the store has shown."""
        self.outdated = True
        """True if a session may have been opened since, or the database did not answer."""

    def notified(self, topics: Collection[str]) -> None:
        """Called with topics that were announced, of which these may mean that a session was opened."""
        self.outdated |= "sessions" in topics or "any" in topics
        if "sessions" in topics:
            self._session.peer_opened()

    async def declare(self, *, by_lease: bool = False) -> list[str]:
        """Declares sessions dead whose processes are gone from this machine, with ``by_lease`` also those whose leases
        are over. Returns their ids."""
        if by_lease or self.outdated:
            await self.look()
        grace = self._outage.grace(time.monotonic())
        gone = [
            session.id for session in self.known.sessions if session.id != self._session.id and process_is_gone(session)
        ]
        if not gone and not (by_lease and self.known.overdue):
            return []
        self.outdated = True  # a session is declared dead once
        # After an outage the lease of every worker is over, also of those that are connected: they are renewed first.
        for assigner in self._delivery.assigners.values():
            await assigner.keep_holders()
        spare_holders = self._outage.spares_holders(time.monotonic())
        dead = await self._in_thread(self._store.bury_sessions, gone=gone, grace=grace, spare_holders=spare_holders)
        if dead:
            log.info("declared dead: %s", ", ".join(dead))
            self._delivery.holders_died(dead)
        return dead

    async def look(self) -> Glance:
        """Returns the state of the store, read with one statement."""
        self.outdated = False
        try:
            self.known = await self._in_thread(self._store.glance, self._session.id)
        except BaseException:
            self.outdated = True
            self._outage.away(time.monotonic())
            raise
        return self.known
