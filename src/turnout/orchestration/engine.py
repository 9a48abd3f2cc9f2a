"""Starts and stops one orchestrator, and keeps it going when its session or its database is lost."""

from __future__ import annotations

import asyncio
import logging
import math
import time

from turnout.authoring.registry import Registry
from turnout.contracts.dispatcher import Dispatcher
from turnout.contracts.store import Store
from turnout.errors import StoreError
from turnout.orchestration.engine_options import EngineCallbacks, EngineOptions
from turnout.orchestration.engine_parts import EngineParts
from turnout.orchestration.settings import EngineSettings

log = logging.getLogger("turnout.engine")


class Engine(EngineParts):
    """One orchestrator. Without a dispatcher all tasks are offered to pollers."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        store: Store,
        registry: Registry,
        dispatcher: Dispatcher | None,
        settings: EngineSettings,
        options: EngineOptions,
    ) -> None:
        self._answered_at = -math.inf
        """The monotonic time at which a commit succeeded after others had failed."""
        self._loops: list[asyncio.Task[None]] = []
        callbacks = EngineCallbacks(
            session_lost=self._session_lost,
            store_failed=self._store_failed,
            store_answered=self._store_answered,
            store_outage=self._store_outage,
        )
        super().__init__(loop, store, registry, dispatcher, settings, options, callbacks)

    # -- life ---------------------------------------------------------------------------------------------------
    async def start(self) -> None:
        """Opens the session, the executors and the pools."""
        in_thread = self.background.in_thread
        await in_thread(self.session.open)
        try:
            await self.dispatcher.open()
            self.dispatcher.start(self.intake.deliver, self.starter.on_capacity)
        except BaseException:
            await in_thread(self.session.stop_renewing)
            await in_thread(self.session.end)
            raise
        await self.coordinator.start()
        self._loops = [
            self.background.spawn(self.snapshot.keep_fresh()),
            self.background.spawn(self.ledger.heap.keep_trimmed()),
        ]

    async def start_upkeep(self) -> None:
        """Starts to claim runs, to sweep and to prune."""
        await self.declared_limits.start()
        await self.schedules.start()
        await self.sweeper.start()
        self.pruner.start()
        self.trigger_polls.start()

    async def stop_upkeep(self) -> None:
        await self.trigger_polls.stop()
        await self.pruner.stop()
        await self.sweeper.stop()
        await self.schedules.stop()

    async def stop(self, timeout: float) -> None:
        """Hands over: nothing new starts, running bodies get the timeout, other orchestrators get the runs."""
        self.session.begin_stopping()
        deadline = time.monotonic() + timeout
        stopping = asyncio.ensure_future(self.dispatcher.stop(timeout))
        while not stopping.done() or (self._has_work_in_flight and time.monotonic() < deadline):
            await self._release_idle()
            await asyncio.sleep(0.01)
        await self.coordinator.stop(max(0.1, deadline - time.monotonic()))
        for loop in self._loops:
            loop.cancel()
        self.submissions.close()
        self.session.stop_renewing()
        self.ledger.close()
        try:
            async with asyncio.timeout(5.0):
                await self.background.in_thread(self.session.end)
        except (StoreError, TimeoutError) as error:
            log.warning("the session was not ended, its lease will expire: %s", error)
        self.submissions.abandon()
        self.store_threads.close()
        self.waiters.close()

    @property
    def _has_work_in_flight(self) -> bool:
        return any(run.busy or run.queued for run in self.runs.values())

    async def _release_idle(self) -> None:
        """Releases runs that have nothing in flight here, so that other orchestrators claim them at once."""
        in_flight = {event.run_id for event in self.dispatcher.in_flight().values()}
        idle = [
            owned
            for owned in self.runs.values()
            if not (owned.busy or owned.queued or owned.results or owned.run_id in in_flight)
        ]
        if not idle:
            return
        for owned in idle:
            self.runs.release(owned)
        try:
            run_ids = [owned.run_id for owned in idle]
            await self.background.in_thread(self.store.release_runs, self.session.id, run_ids)
        except StoreError as error:
            log.warning("%d runs are handed over with the session: %s", len(idle), error)

    # -- the session --------------------------------------------------------------------------------------------
    def _session_lost(self) -> None:
        """Drops all runs and opens a new session: others have declared this one dead, and may own its runs."""
        log.error("session %s was declared dead: its runs are dropped here", self.session.id)
        self.versions.forget()
        for owned in list(self.runs.values()):
            self.runs.release(owned)
        self.dispatcher.disown()
        for event in list(self.dispatcher.in_flight().values()):
            self.dispatcher.cancel(event)
        if not self.session.stopping:
            self.background.spawn(self._reopen())

    async def _reopen(self) -> None:
        while not self.session.stopping:
            try:
                await self.background.in_thread(self.session.open)
            except StoreError as error:
                log.warning("no new session yet: %s", error)
                await asyncio.sleep(0.5)
            else:
                if self.session.stopping:
                    await self.background.in_thread(self.session.end)
                return self.claims.request()

    # -- the database -------------------------------------------------------------------------------------------
    def _store_outage(self) -> str | None:
        """Returns why batches may take long: during an outage, and until the backlog of one is written."""
        if self.ledger.outage is not None:
            return "the database does not answer"
        recent = time.monotonic() - self._answered_at < self.settings.coordinator.degraded_after_seconds
        return "the database has just come back" if recent else None

    def _store_failed(self) -> None:
        self.coordinator.store_failed()
        if (outage := self.ledger.outage) is not None:
            self.submissions.refuse_all(outage)

    def _store_answered(self) -> None:
        self._answered_at = time.monotonic()
        self.coordinator.store_answered()
