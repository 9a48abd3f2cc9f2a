"""Sizes and supervises the pools: three slow loops that apply pure decisions."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from functools import partial

from turnout.model.breaker import Breaker, BreakerState
from turnout.model.health import Event
from turnout.model.rows import StoreUse
from turnout.orchestration.coordination.backpressure import Backpressure
from turnout.orchestration.coordination.health import HealthState
from turnout.orchestration.coordination.pool import ExecutorPool
from turnout.orchestration.coordination.scaling import scale
from turnout.orchestration.coordination.settings import CoordinatorSettings
from turnout.orchestration.shared_ticks import aligned
from turnout.orchestration.stages.stage import Stage

log = logging.getLogger("turnout.coordinator")

MAX_REMEMBERED_EVENTS = 200
UNUSED = StoreUse(size=0, active=0, waiting=0, saturation=0.0)


class OrchestrationLoopCoordinator:
    """Sizes the pools by their load, replaces unhealthy stage executors, and applies backpressure for the database."""

    def __init__(
        self,
        pools: Mapping[Stage, ExecutorPool],
        settings: CoordinatorSettings,
        *,
        store_use: Callable[[], StoreUse] = lambda: UNUSED,
        slow_down: Callable[[float], None] = lambda factor: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.pools = pools
        self.settings = settings
        self.backpressure = Backpressure()
        self.store_use = UNUSED
        self.backpressure_events = 0
        self.events: deque[Event] = deque(maxlen=MAX_REMEMBERED_EVENTS)
        self.started_at: float | None = None
        self._store_use = store_use
        self._slow_down = slow_down
        self._clock = clock
        self._looked_at = clock()
        for pool in pools.values():
            pool.gate.on_change = partial(self._breaker_moved, pool)
        self._loops: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        self.started_at = self._looked_at = self._clock()
        self.store_use = self._store_use()
        for pool in self.pools.values():
            await pool.start()
        settings = self.settings
        self._loops = [
            asyncio.ensure_future(self._every(settings.health_check_interval_seconds, self.check_health)),
            asyncio.ensure_future(self._every(settings.scaling_interval_seconds, self.check_load)),
            asyncio.ensure_future(self._every(settings.backpressure_interval_seconds, self.check_store)),
        ]

    async def stop(self, timeout: float) -> None:
        """Stops the loops, then the pools."""
        for loop in self._loops:
            loop.cancel()
        await asyncio.gather(*self._loops, return_exceptions=True)
        await asyncio.gather(*(pool.stop(timeout) for pool in self.pools.values()))

    async def _every(self, seconds: float, action: Callable[[], Awaitable[None]]) -> None:
        clock = asyncio.get_running_loop().time
        while True:
            await asyncio.sleep(aligned(seconds, clock()))
            try:
                await action()
            except Exception:
                log.exception("a check of the coordinator failed")

    # -- health -------------------------------------------------------------------------------------------------
    async def check_health(self) -> None:
        """Replaces unhealthy stage executors at once and aged ones after their batch."""
        before, self._looked_at = self._looked_at, self._clock()
        now, settings = self._looked_at, self.settings
        if now - before > settings.health_check_interval_seconds + settings.degraded_after_seconds / 2:
            return  # this check is late itself: the loop was blocked, so heartbeats on it mean nothing
        for pool in self.pools.values():
            for executor, health in pool.health():
                if health.state is HealthState.UNHEALTHY:
                    await pool.replace(executor, drain=False)
                    self._note("replaced", pool, f"{executor.id}: {health.reason}", logging.WARNING)
                elif executor.is_aged(now):
                    await pool.replace(executor, drain=True)
                    self._note("restarted", pool, f"{executor.id}: {health.items_processed} items", logging.INFO)

    # -- load ---------------------------------------------------------------------------------------------------
    async def check_load(self) -> None:
        now = self._clock()
        for pool in self.pools.values():
            load = pool.look(now, saturation=self.store_use.saturation)
            action = scale(load, self.settings)
            if not action.change or not self.settings.auto_scaling_enabled:
                continue
            pool.changed_at = now
            if action.change > 0:
                pool.scaled_up += 1
                await pool.add(action.change)
            else:
                pool.scaled_down += 1
                pool.remove(-action.change)
            self._note("scaled", pool, f"{action.change:+d}: {action.reason}", logging.INFO)

    # -- the database -------------------------------------------------------------------------------------------
    async def check_store(self) -> None:
        self.store_use = self._store_use()
        before, self.backpressure = self.backpressure, self.backpressure.seen(self.store_use.saturation)
        if self.backpressure.factor == before.factor:
            return
        self._slow_down(self.backpressure.factor)
        for pool in self.pools.values():
            pool.apply_backpressure(self.backpressure.factor)
        self.backpressure_events += 1
        detail = f"factor {self.backpressure.factor:g} at a saturation of {self.store_use.saturation:.0%}"
        self._note("backpressure", None, detail, logging.INFO)

    def store_failed(self) -> None:
        """Called when a commit failed: pools with a batch in flight count it against their breakers."""
        for pool in self.pools.values():
            if any(executor.busy for executor in pool.executors):
                pool.gate.failed()

    def store_answered(self) -> None:
        """Called when a commit succeeded after others had failed."""
        for pool in self.pools.values():
            pool.gate.reset()

    def _breaker_moved(self, pool: ExecutorPool, before: Breaker, after: Breaker) -> None:
        level = logging.WARNING if after.state is BreakerState.OPEN else logging.INFO
        failures = after.failures or before.failures
        self._note("breaker", pool, f"{after.state.value} after {failures} failures in a row", level)

    def _note(self, kind: str, pool: ExecutorPool | None, detail: str, level: int) -> None:
        name = pool.stage.config_name if pool else None
        count = len(pool.executors) if pool else 0
        self.events.append(Event(at=time.time(), kind=kind, pool=name, detail=detail, executors=count))
        log.log(level, "%s %s: %s", kind, name or "all pools", detail)
