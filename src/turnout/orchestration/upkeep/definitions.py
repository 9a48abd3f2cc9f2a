"""Follows what all orchestrators share in the store, workflow definitions and routing rules: refreshes those of this
orchestrator when one has changed."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from turnout.contracts.store import DefinitionStore
from turnout.orchestration.background import Background
from turnout.orchestration.stages.claims import Claims

Refresh: TypeAlias = Callable[[], None]
"""Puts what has changed in the store in force here. Blocks."""


class DefinitionUpdates:
    """Refreshes by notification, and whenever a look at the store shows a newer change than the last refresh."""

    def __init__(self, store: DefinitionStore, refresh: Refresh | None, claims: Claims, background: Background) -> None:
        self._store = store
        self._refresh = refresh
        """None: this orchestrator uses nothing of it."""
        self._claims = claims
        self._in_thread = background.in_thread
        self._revision = 0

    async def refresh(self) -> None:
        if self._refresh is not None:
            await self.seen(await self._in_thread(self._store.newest_revision))

    async def seen(self, newest: int) -> None:
        """Refreshes if the newest change in the store is not in force here."""
        if self._refresh is None or newest <= self._revision:
            return
        await self._in_thread(self._refresh)
        self._revision = newest
        # Runs that nothing here could drive may be claimable now.
        self._claims.forget_versions()
        self._claims.request()
