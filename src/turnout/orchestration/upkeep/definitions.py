"""Follows stored workflow definitions: refreshes the workflows of this orchestrator when one has changed."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from turnout.orchestration.background import Background
from turnout.orchestration.stages.claims import Claims

Refresh: TypeAlias = Callable[[], int]
"""Puts what has changed in the store in force here, and returns the number of the newest change. Blocks."""


class DefinitionUpdates:
    """Refreshes by notification, and whenever a look at the store shows a newer change than the last refresh."""

    def __init__(self, refresh: Refresh | None, claims: Claims, background: Background) -> None:
        self._refresh = refresh
        """None: this orchestrator does not use stored definitions."""
        self._claims = claims
        self._in_thread = background.in_thread
        self._revision = 0

    async def refresh(self) -> None:
        if self._refresh is None:
            return
        revision = await self._in_thread(self._refresh)
        if revision != self._revision:
            self._revision = revision
            # Runs that nothing here could drive may be claimable now.
            self._claims.forget_versions()
            self._claims.request()

    async def seen(self, newest: int) -> None:
        """Refreshes if the newest change in the store is not in force here."""
        if newest > self._revision:
            await self.refresh()
