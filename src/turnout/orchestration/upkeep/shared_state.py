"""Follows what orchestrators on a database share: definitions, schedules, limits, and runs without an owner."""

from __future__ import annotations

from collections.abc import Collection

from turnout.model.rows import Glance
from turnout.orchestration.schedules.evaluation import Schedules
from turnout.orchestration.stages.limit_queue import LimitQueue
from turnout.orchestration.upkeep.definitions import DefinitionUpdates
from turnout.orchestration.upkeep.limit_declarations import DeclaredLimits
from turnout.orchestration.upkeep.stuck_runs import StuckRuns


class SharedState:
    """Tells each part of changes: at once by a notification, or at the next sweep if that was lost."""

    def __init__(
        self,
        definitions: DefinitionUpdates,
        schedules: Schedules,
        limits: LimitQueue,
        declared: DeclaredLimits,
        stuck: StuckRuns,
    ) -> None:
        self._definitions = definitions
        self._declared = declared
        self._schedules = schedules
        self._limits = limits
        self._stuck = stuck

    async def handle(self, topics: Collection[str]) -> None:
        every = "any" in topics
        if every or "definitions" in topics:
            await self._definitions.refresh()
            await self._declared.seen()
        if every or "schedules" in topics:
            await self._schedules.refresh()
        if "finished" in topics:
            self._schedules.run_ended()
        if "queued" in topics:
            self._limits.request()
        if every or "limits" in topics:
            await self._limits.refresh()

    async def seen(self, known: Glance) -> None:
        """Called by the sweep with the numbers of the newest changes."""
        await self._definitions.seen(known.definitions)
        await self._declared.seen()
        await self._schedules.seen(known)
        if known.limited:
            self._limits.request()
            await self._limits.report_deadlocks()
        if known.unowned or known.limited:
            await self._stuck.check()
