"""Runs one stage executor: takes a batch from its queue, waits for its commit, and repeats until it is stopped."""

from __future__ import annotations

import asyncio
import logging
import time
import uuid
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from turnout.errors import StoreError
from turnout.orchestration.coordination.health import HealthState, Signs, StageHealth, judge
from turnout.orchestration.coordination.pool_breaker import PoolBreaker
from turnout.orchestration.coordination.settings import CoordinatorSettings, PoolSettings
from turnout.orchestration.shared_ticks import aligned
from turnout.orchestration.stages.stage import BatchResult, Stage, StageMetrics, WorkQueue

log = logging.getLogger("turnout.stages")

Process = Callable[[list[Any]], Awaitable[None]]

ERROR_BACKOFF = 0.1
MAX_BACKPRESSURE_DELAY = 0.05
"""Seconds after each batch at the strongest backpressure."""
MAX_HEARTBEAT_INTERVAL = 2.0
"""Seconds between two heartbeats of an idle executor, at most."""


class StageExecutor:
    """Processes batches of one stage. An unfinished batch returns to the queue, once.

    The list in ``_batch`` is its claim on these items. Once that was taken away, nothing that it does with them
    counts."""

    def __init__(
        self,
        stage: Stage,
        queue: WorkQueue,
        process: Process,
        pool: PoolSettings,
        *,
        gate: PoolBreaker | None = None,
        coordinator: CoordinatorSettings | None = None,
        idle: Callable[[], None] = lambda: None,
        store_outage: Callable[[], str | None] = lambda: None,
    ) -> None:
        self.id = f"{stage.config_name}-{uuid.uuid4().hex[:8]}"
        self.executor_type = stage
        self._queue = queue
        self._process = process
        self._pool = pool
        self._gate = gate or PoolBreaker(None)
        self._thresholds = coordinator or CoordinatorSettings()
        self._idle = idle
        self._store_outage = store_outage
        self._factor = 1.0
        self._metrics = StageMetrics()
        self._recent: deque[bool] = deque(maxlen=self._thresholds.error_window)
        self._batch: list[Any] = []
        self._busy_since: float | None = None
        self._last_heartbeat = time.monotonic()
        self.started_at: float | None = None
        self._stopping_at: float | None = None
        self._state = HealthState.STARTING
        self._state_since = time.monotonic()
        self._task: asyncio.Task[None] | None = None

    # -- life ---------------------------------------------------------------------------------------------------
    async def start(self) -> None:
        self.started_at = time.monotonic()
        self.heartbeat()
        self._task = asyncio.get_running_loop().create_task(self._loop(), name=self.id)

    async def stop(self, timeout: float) -> None:
        """Takes no further batch and finishes the current one; abandons it after the timeout."""
        self._stopping_at = self._stopping_at or time.monotonic()
        if self._task is None:
            return
        self._queue.wake_all()
        _, late = await asyncio.wait({self._task}, timeout=timeout)
        if late:
            self._task.cancel()
            await asyncio.wait({self._task}, timeout=1.0)
        if self._batch:
            # An executor that ignores its cancellation loses its claim on the batch.
            self._finished(self._batch, well=False)

    async def _loop(self) -> None:
        idle_at = time.monotonic()
        clock = asyncio.get_running_loop().time
        try:
            while self.should_continue():
                interval = min(self._pool.polling_interval_ms / 1000 / self._factor, MAX_HEARTBEAT_INTERVAL)
                found = await self._queue.wait(aligned(interval, clock()))
                self.heartbeat()
                if not found:
                    # Only after a whole interval: two executors that wake one another for nothing would never rest.
                    if self._last_heartbeat - idle_at > 0.9 * interval:
                        idle_at = self._last_heartbeat
                        self._idle()
                elif self.should_continue() and await self._gate.wait():
                    # If it was stopped meanwhile, the batch is empty.
                    await self.process_batch()
                    if self._factor < 1.0:
                        await asyncio.sleep((1.0 - self._factor) * MAX_BACKPRESSURE_DELAY)
        finally:
            self._queue.pass_wakeup_on()

    async def process_batch(self) -> BatchResult:
        size = max(1, int(self._pool.batch_size * self._factor))
        items = self._queue.take(size) if self.should_continue() else []
        if not items:
            self._gate.unused()
            return BatchResult(0, 0.0)
        self._metrics.left_behind += len(self._queue)
        self._batch, self._busy_since = items, time.monotonic()
        well, excused = False, False
        try:
            await self._process(items)
            well = True
        except StoreError as error:
            excused = True
            log.debug("%s: a batch of %d waits for the store: %s", self.id, len(items), error)
            await asyncio.sleep(ERROR_BACKOFF)
        except Exception:
            self._metrics.errors += 1
            log.exception("%s failed on a batch of %d", self.id, len(items))
            await asyncio.sleep(ERROR_BACKOFF)
        finally:
            seconds = self._finished(items, well=well, excused=excused)
        return BatchResult(len(items), seconds)

    def _finished(self, items: list[Any], *, well: bool, excused: bool = False) -> float:
        """Ends the batch, and returns it to the queue if it failed. Returns how long it took."""
        if self._batch is not items or self._busy_since is None:
            return 0.0
        seconds = time.monotonic() - self._busy_since
        self._batch, self._busy_since = [], None
        metrics, gate = self._metrics, self._gate
        metrics.batches += 1
        metrics.busy_seconds += seconds
        if well:
            metrics.items_processed += len(items)
            if gate.has_failures:
                gate.succeeded()
        else:
            # Every write is a compare-and-swap, so processing an item twice is harmless; losing one is not.
            self._queue.put_back(items)
            gate.failed()
        if not excused:
            self._recent.append(well)
        return seconds

    # -- for the coordinator --------------------------------------------------------------------------------------
    def heartbeat(self) -> None:
        self._last_heartbeat = time.monotonic()

    def should_continue(self) -> bool:
        return self._stopping_at is None

    def apply_backpressure(self, factor: float) -> None:
        """Sets the factor: 1.0 is full speed; less means smaller batches, a delay after each, and fewer polls."""
        self._factor = min(1.0, max(0.1, factor))

    @property
    def busy(self) -> bool:
        return self._busy_since is not None

    def metrics(self) -> StageMetrics:
        return self._metrics

    def metrics_now(self) -> StageMetrics:
        """Returns the metrics, with the time that the current batch has taken so far."""
        current = 0.0 if self._busy_since is None else time.monotonic() - self._busy_since
        return msgspec.structs.replace(self._metrics, busy_seconds=self._metrics.busy_seconds + current)

    def health(self) -> StageHealth:
        """Checks its health, and records the state."""
        health = self.look()
        if health.state is not self._state:
            self._state, self._state_since = health.state, time.monotonic()
        return health

    def look(self) -> StageHealth:
        """Returns its health now. Changes nothing, so it may be called at any time."""
        metrics = self._metrics
        signs = Signs(
            started_at=self.started_at,
            stopping_at=self._stopping_at,
            ended=self._task is not None and self._task.done(),
            last_heartbeat=self._last_heartbeat,
            busy_since=self._busy_since,
            excuse=self._store_outage(),
            recent=tuple(self._recent),
            items_processed=metrics.items_processed,
            batches=metrics.batches,
            busy_seconds=metrics.busy_seconds,
        )
        return judge(signs, time.monotonic(), self._thresholds, self._state)

    def seconds_in(self, state: HealthState) -> float:
        """Returns for how many seconds health checks have found it in this state."""
        return time.monotonic() - self._state_since if state is self._state else 0.0

    def is_aged(self, now: float) -> bool:
        """True if it is so old, or has processed so many items, that it is to be replaced."""
        return self.started_at is not None and (
            now - self.started_at > self._thresholds.restart_after_seconds
            or self._metrics.items_processed > self._thresholds.restart_after_items
        )
