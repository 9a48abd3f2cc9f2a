"""Stores the sizes of limits that the workflows of this orchestrator declare, and reports where sizes differ."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping

from turnout.authoring.registry import Registry
from turnout.contracts.store import LimitStore
from turnout.model.limit_declarations import LimitDeclaration, conflicts, declarations
from turnout.model.limits import LimitSize
from turnout.orchestration.background import Background

log = logging.getLogger("turnout.limits")

CONFIRM_INTERVAL = 60.0
"""Seconds after which the declarations are stored again, so that they count further."""


class DeclaredLimits:
    """The declarations of one orchestrator. Those of all orchestrators together decide the size that is in force."""

    def __init__(
        self,
        store: LimitStore,
        registry: Registry,
        background: Background,
        *,
        configured: Mapping[str, LimitSize],
        enabled: bool,
    ) -> None:
        self._store = store
        self._registry = registry
        self._in_thread = background.in_thread
        self._configured = configured
        self._enabled = enabled
        """False: this orchestrator starts nothing, and leaves the declarations to those that do."""
        self._revision = -1
        """The revision of the registry whose workflows were declared last."""
        self._declared: dict[str, tuple[LimitDeclaration, ...]] = {}
        """By workflow, for all that are registered."""
        self._declared_at = 0.0
        self._reported: set[str] = set()
        """Conflicts that are in the log."""

    async def start(self) -> None:
        """Declares the sizes before anything is started."""
        await self.seen()

    async def seen(self) -> None:
        """Called with each look at the store: declares what has changed, and confirms it from time to time."""
        overdue = time.monotonic() - self._declared_at >= CONFIRM_INTERVAL
        if self._enabled and (self._registry.revision != self._revision or overdue):
            await self._declare()

    async def _declare(self) -> None:
        revision, workflows = self._registry.revision, self._registry.workflows
        if revision == self._revision:
            found = self._declared
            given = {name: each for name, each in found.items() if each}
        else:
            found = given = {name: declarations(each.spec) for name, each in workflows.items()}
        gone = self._declared.keys() - found.keys()
        known = await self._in_thread(self._store.put_limit_declarations, given, gone)
        self._revision, self._declared, self._declared_at = revision, found, time.monotonic()
        for sentence in conflicts(known, self._configured).values():
            if sentence not in self._reported:
                self._reported.add(sentence)
                log.warning("%s", sentence)
