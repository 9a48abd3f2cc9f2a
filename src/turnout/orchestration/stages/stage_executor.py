"""One stage executor: takes a batch from its queue, waits for its commit, and goes on until it is stopped."""

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
from turnout.orchestration.stages.stage import BatchResult, Stage, StageMetrics, WorkQueue

log = logging.getLogger("turnout.stages")

Process = Callable[[list[Any]], Awaitable[None]]

AFTER_AN_ERROR = 0.1
MAX_PAUSE = 0.05
"""The pause after each batch at the strongest backpressure."""
MAX_SILENCE = 2.0
"""An idle executor gives a sign of life at least this often."""


class StageExecutor:
    """Works one stage. What it has in hand goes back to the queue, once, whatever becomes of it.

    The list in its hand is its hold on these items. Once it was taken away, nothing that it does with them counts."""

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
        excuse: Callable[[], str | None] = lambda: None,
    ) -> None:
        self.id = f"{stage.value}-{uuid.uuid4().hex[:8]}"
        self.executor_type = stage
        self._queue = queue
        self._process = process
        self._pool = pool
        self._gate = gate or PoolBreaker(None)
        self._thresholds = coordinator or CoordinatorSettings()
        self._idle = idle
        self._excuse = excuse
        self._factor = 1.0
        self._metrics = StageMetrics()
        self._recent: deque[bool] = deque(maxlen=self._thresholds.error_window)
        self._hand: list[Any] = []
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
        """Take nothing more, finish the batch in hand; after the timeout, abandon it."""
        self._stopping_at = self._stopping_at or time.monotonic()
        if self._task is None:
            return
        self._queue.wake_all()
        _, late = await asyncio.wait({self._task}, timeout=timeout)
        if late:
            self._task.cancel()
            await asyncio.wait({self._task}, timeout=1.0)
        if self._hand:
            # One that does not even hear its cancellation loses its hold on what it took.
            self._finished(self._hand, well=False)

    async def _loop(self) -> None:
        looked = time.monotonic()
        try:
            while self.should_continue():
                interval = min(self._pool.polling_interval_ms / 1000 / self._factor, MAX_SILENCE)
                found = await self._queue.wait(interval)
                self.heartbeat()
                if not found:
                    # Two that look by themselves whenever they were woken for what the other took would never rest.
                    if self._last_heartbeat - looked > 0.9 * interval:
                        looked = self._last_heartbeat
                        self._idle()
                elif self.should_continue() and await self._gate.wait():
                    # It may have been told to stop meanwhile: then it takes nothing.
                    await self.process_batch()
                    if self._factor < 1.0:
                        await asyncio.sleep((1.0 - self._factor) * MAX_PAUSE)
        finally:
            self._queue.hand_on()

    async def process_batch(self) -> BatchResult:
        size = max(1, int(self._pool.batch_size * self._factor))
        items = self._queue.take(size) if self.should_continue() else []
        if not items:
            self._gate.withdrew()
            return BatchResult(0, 0.0)
        self._metrics.left_behind += len(self._queue)
        self._hand, self._busy_since = items, time.monotonic()
        well, excused = False, False
        try:
            await self._process(items)
            well = True
        except StoreError as error:
            excused = True
            log.debug("%s: a batch of %d waits for the store: %s", self.id, len(items), error)
            await asyncio.sleep(AFTER_AN_ERROR)
        except Exception:
            self._metrics.errors += 1
            log.exception("%s failed on a batch of %d", self.id, len(items))
            await asyncio.sleep(AFTER_AN_ERROR)
        finally:
            seconds = self._finished(items, well=well, excused=excused)
        return BatchResult(len(items), seconds)

    def _finished(self, items: list[Any], *, well: bool, excused: bool = False) -> float:
        """The batch is over, one way or the other; how long it took."""
        if self._hand is not items or self._busy_since is None:
            return 0.0
        seconds = time.monotonic() - self._busy_since
        self._hand, self._busy_since = [], None
        metrics, gate = self._metrics, self._gate
        metrics.batches += 1
        metrics.busy_seconds += seconds
        if well:
            metrics.items_processed += len(items)
            if gate.troubled:
                gate.succeeded()
        else:
            # What a stage does is a compare-and-swap, so doing an item twice is harmless; losing one is not.
            self._queue.put_back(items)
            gate.failed()
        if not excused:
            self._recent.append(well)
        return seconds

    # -- what the coordinator sees and says -----------------------------------------------------------------------
    def heartbeat(self) -> None:
        self._last_heartbeat = time.monotonic()

    def should_continue(self) -> bool:
        return self._stopping_at is None

    def apply_backpressure(self, factor: float) -> None:
        """1.0 is full speed; less makes batches smaller, adds a pause after each, and looks less often."""
        self._factor = min(1.0, max(0.1, factor))

    @property
    def busy(self) -> bool:
        return self._busy_since is not None

    def metrics(self) -> StageMetrics:
        return self._metrics

    def metrics_now(self) -> StageMetrics:
        """The metrics with the time that the batch in hand has taken so far."""
        under_way = 0.0 if self._busy_since is None else time.monotonic() - self._busy_since
        return msgspec.structs.replace(self._metrics, busy_seconds=self._metrics.busy_seconds + under_way)

    def health(self) -> StageHealth:
        """The health check: looks, and moves its state."""
        health = self.look()
        if health.state is not self._state:
            self._state, self._state_since = health.state, time.monotonic()
        return health

    def look(self) -> StageHealth:
        """How it is now. Looking does no work and changes nothing, so that anybody may, at any time."""
        metrics = self._metrics
        signs = Signs(
            started_at=self.started_at,
            stopping_at=self._stopping_at,
            ended=self._task is not None and self._task.done(),
            last_heartbeat=self._last_heartbeat,
            busy_since=self._busy_since,
            excuse=self._excuse(),
            recent=tuple(self._recent),
            items_processed=metrics.items_processed,
            batches=metrics.batches,
            busy_seconds=metrics.busy_seconds,
        )
        return judge(signs, time.monotonic(), self._thresholds, self._state)

    def seconds_in(self, state: HealthState) -> float:
        """How long it has been in this state by its health checks; nothing if they have not found it so yet."""
        return time.monotonic() - self._state_since if state is self._state else 0.0

    def aged(self, now: float) -> bool:
        """Whether it has worked so long, or so much, that a new one should take its place."""
        return self.started_at is not None and (
            now - self.started_at > self._thresholds.restart_after_seconds
            or self._metrics.items_processed > self._thresholds.restart_after_items
        )
