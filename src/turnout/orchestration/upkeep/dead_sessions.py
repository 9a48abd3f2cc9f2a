"""Sessions of other processes that have ended without saying so: their leases are over, or their processes are gone."""

from __future__ import annotations

import logging
import time

from turnout.contracts.dispatcher import Delivery
from turnout.contracts.store import OwnershipStore
from turnout.model.rows import Glance
from turnout.orchestration.background import Background
from turnout.orchestration.lease import seen_dead
from turnout.orchestration.session import OrchestratorSession
from turnout.orchestration.upkeep.outage import Outage

log = logging.getLogger("turnout.sweeper")


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
        """What the last look at the database has shown."""
        self.outdated = True
        """A session may have been opened since, or the database did not answer."""

    async def declare(self, *, by_lease: bool = False) -> list[str]:
        """Declares sessions dead whose processes are gone from this machine, with ``by_lease`` also those whose leases
        are over. Returns their ids."""
        if by_lease or self.outdated:
            await self._look()
        grace = self._outage.grace(time.monotonic())
        gone = [one.id for one in self.known.sessions if one.id != self._session.id and seen_dead(one)]
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

    async def _look(self) -> None:
        self.outdated = False
        try:
            self.known = await self._in_thread(self._store.glance, self._session.id)
        except BaseException:
            self.outdated = True
            self._outage.away(time.monotonic())
            raise
