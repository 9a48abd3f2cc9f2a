"""Runs that this session owns by the store and does not know."""

from __future__ import annotations

import logging

from turnout.contracts.store import ReadStore
from turnout.orchestration.active_runs import ActiveRuns
from turnout.orchestration.background import Background
from turnout.orchestration.session import OrchestratorSession
from turnout.orchestration.stages.claims import Claims

log = logging.getLogger("turnout.sweeper")

FEW = 64
"""Owned runs up to which a look costs next to nothing: SQLite does not say what has changed."""


class UnknownRuns:
    """Claims them: another orchestrator gave them to this session, or the answer to a claim was lost."""

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
        """True if some were seen once."""
        return bool(self._seen)

    @property
    def few(self) -> bool:
        """True if this orchestrator has so little to do that others may give it runs."""
        return len(self._runs) <= FEW

    async def sweep(self) -> None:
        """Claims those that are seen for the second time while no claim is under way."""
        if self._claims.claiming:
            return
        unknown = set(await self._in_thread(self._store.owned_runs, self._session.id)) - self._runs.keys()
        again = sorted(unknown & self._seen)
        self._seen = unknown - self._seen
        if again and not self._claims.claiming:
            claimed = await self._claims.claim(again)
            log.info("took up %d runs that this orchestrator owned and did not know", claimed)
