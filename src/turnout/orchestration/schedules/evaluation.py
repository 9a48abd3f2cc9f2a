"""Acts on schedules when they are due: registers those of this orchestrator's workflows, and waits for the next.

Every orchestrator that has a workflow decides the due times of its schedules; the store accepts one decision for each.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time

from turnout.authoring.registry import Registry
from turnout.contracts.store import Store
from turnout.errors import StoreError
from turnout.model.rows import Glance
from turnout.orchestration.background import Background
from turnout.orchestration.schedules.effects import ScheduleEffects
from turnout.orchestration.schedules.registration import Registration, register
from turnout.orchestration.schedules.timetable import Timetable
from turnout.orchestration.schedules.turns import take_turns
from turnout.orchestration.session import OrchestratorSession
from turnout.rate_limited_log import RateLimitedLog

log = logging.getLogger("turnout.schedules")

ACTOR = "definition"
"""The actor of changes that the code of workflows makes."""
BATCH = 500
"""Schedules that are decided in one transaction."""
RETRY_INTERVAL = 1.0


class Schedules:
    """The schedules of one orchestrator. Used on one event loop."""

    def __init__(
        self,
        store: Store,
        registry: Registry,
        session: OrchestratorSession,
        *,
        effects: ScheduleEffects,
        background: Background,
        enabled: bool,
    ) -> None:
        self._store = store
        self._registry = registry
        self._session = session
        self._effects = effects
        self._in_thread = background.in_thread
        self._background = background
        self._enabled = enabled
        self._timetable = Timetable()
        self._declared: frozenset[str] = frozenset()
        """The workflows whose schedules were compared with the store."""
        self._compared = -1
        """The revision of the registry then."""
        self._revision = -1
        """The newest change of a schedule that is known here."""
        self._ahead = 0.0
        """Seconds by which the database's clock is ahead of the monotonic one."""
        self._undone = False
        """True if decisions wait for their effect."""
        self._changed = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._rate_limited_log = RateLimitedLog(log)

    # -- life ---------------------------------------------------------------------------------------------------
    async def start(self) -> None:
        if self._enabled:
            self._set_clock(await self._in_thread(self._store.clock))
            await self._register()
            self._undone = True
            self._changed.set()
            self._task = self._background.spawn(self._run())

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    # -- news -----------------------------------------------------------------------------------------------------
    async def seen(self, known: Glance) -> None:
        """Called with each look at the store."""
        if not self._enabled:
            return
        self._set_clock(known.now)
        if self._registry.revision != self._compared:
            await self._register()
        elif known.schedules > self._revision:
            await self.refresh(known.schedules)
        self._undone |= known.undone
        self._changed.set()

    async def refresh(self, revision: int | None = None) -> None:
        """Reads the schedules that were changed."""
        if not self._enabled:
            return
        changed = await self._in_thread(self._store.schedules, since=self._revision)
        newest = max((each.revision for each in changed), default=self._revision)
        self._revision = max(self._revision, newest, revision or 0)
        self._timetable.put(changed)
        # A run that an operator has asked for is announced as a change, too.
        self._undone = True
        self._changed.set()

    def run_ended(self) -> None:
        """Called when a run may have ended that another one waits for."""
        if self._undone:
            self._changed.set()

    async def _register(self) -> None:
        """Stores the schedules that the workflows of this orchestrator declare, where they differ."""
        await self.refresh()
        compared = self._registry.revision
        declared = {name: each.schedules for name, each in self._registry.workflows.items()}
        gone = self._declared - declared.keys()
        found: Registration = await self._in_thread(
            register, declared, gone, list(self._timetable.schedules.values()), self._now
        )
        if found.changes:
            await self._in_thread(self._store.put_schedules, found.changes, ACTOR)
        if found.removed:
            await self._in_thread(self._store.remove_schedules, found.removed, ACTOR)
        changed = {each.workflow for each in found.changes} if self._declared else declared
        self._effects.report_refused(self._registry.workflows[name] for name in changed if declared[name])
        if found.changes or found.removed:
            log.info("%d schedules changed, %d removed", len(found.changes), len(found.removed))
            await self.refresh()
        self._declared, self._compared = frozenset(declared), compared
        self._timetable.restrict(self._declared)

    # -- due times --------------------------------------------------------------------------------------------------
    @property
    def _now(self) -> float:
        """The time by the database's clock, without asking it."""
        return time.monotonic() + self._ahead

    def _set_clock(self, now: float) -> None:
        self._ahead = now - time.monotonic()

    async def _run(self) -> None:
        while True:
            await self._wait()
            try:
                await self._turn()
                self._rate_limited_log.recovered("schedules are decided again")
            except StoreError as error:
                self._rate_limited_log.failure("schedules are decided later: %s", error)
                await asyncio.sleep(RETRY_INTERVAL)
            except Exception:
                log.exception("schedules could not be decided")
                await asyncio.sleep(RETRY_INTERVAL)

    async def _wait(self) -> None:
        """Returns when a due time has come, or something has changed."""
        next_at = self._timetable.next_at
        timeout = None if next_at is None else max(0.0, next_at - self._now)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout):
                await self._changed.wait()
        self._changed.clear()

    async def _turn(self) -> None:
        if not self._session.may_start:
            await asyncio.sleep(RETRY_INTERVAL)
            return
        if self._registry.revision != self._compared:
            await self._register()
        while due := self._timetable.due(self._now, BATCH):
            turned = await self._in_thread(take_turns, self._store, due)
            self._set_clock(turned.now)
            self._timetable.put(turned.schedules)
            if turned.fired:
                self._undone |= any(each.blocked or each.run_id is None for each in turned.fired)
                await self._effects.apply(turned.fired)
        if self._undone:
            self._undone = await self._effects.finish_pending()
