"""Holds the stage executors of one stage: adds, removes and replaces them, and sums up their metrics."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Sequence

import msgspec

from turnout.orchestration.coordination.health import StageHealth
from turnout.orchestration.coordination.pool_breaker import PoolBreaker
from turnout.orchestration.coordination.scaling import PoolLoad
from turnout.orchestration.coordination.settings import CoordinatorSettings, PoolSettings
from turnout.orchestration.stages.stage import Stage, StageMetrics, WorkQueue
from turnout.orchestration.stages.stage_executor import Process, StageExecutor


class Sample(msgspec.Struct, frozen=True):
    """Totals of a pool at one time; two of them make a rate."""

    at: float
    metrics: StageMetrics


class ExecutorPool:
    """Grows and shrinks between its bounds. A removed executor finishes its batch, or returns it to the queue."""

    def __init__(
        self,
        stage: Stage,
        queue: WorkQueue,
        process: Process,
        settings: PoolSettings,
        coordinator: CoordinatorSettings,
        *,
        idle: Callable[[], None] = lambda: None,
        store_outage: Callable[[], str | None] = lambda: None,
    ) -> None:
        self.stage = stage
        self.settings = settings
        self.queue = queue
        self.gate = PoolBreaker(settings.breaker if settings.circuit_breaker_enabled else None)
        self.executors: list[StageExecutor] = []
        self.replaced = 0
        self.restarted = 0
        self.changed_at: float | None = None
        self.scaled_up = 0
        self.scaled_down = 0
        self._coordinator = coordinator
        self._new = lambda: StageExecutor(
            stage,
            self.queue,
            process,
            settings,
            gate=self.gate,
            coordinator=coordinator,
            idle=idle,
            store_outage=store_outage,
        )
        self._factor = 1.0
        self._retired = StageMetrics()
        self._stopping: dict[asyncio.Task[None], StageExecutor] = {}
        self._last = Sample(time.monotonic(), StageMetrics())
        self._utilisations: deque[tuple[float, float]] = deque()
        """Times and utilisations of the samples within the last cooldown."""
        self.throughput = 0.0
        """Items per second between the last two samples."""
        self.utilisation = 0.0

    async def start(self) -> None:
        await self.add(self.settings.min_executors)

    async def stop(self, timeout: float) -> None:
        await asyncio.gather(*(executor.stop(timeout) for executor in self.executors))
        if self._stopping:
            await asyncio.wait(self._stopping, timeout=timeout)

    # -- membership ---------------------------------------------------------------------------------------------
    async def add(self, count: int) -> None:
        for _ in range(count):
            executor = self._new()
            executor.apply_backpressure(self._factor)
            self.executors.append(executor)
            await executor.start()

    def remove(self, count: int) -> None:
        """Removes executors, idle ones first. They take no further batch."""
        for executor in sorted(self.executors, key=lambda executor: executor.busy)[:count]:
            self._retire(executor, self._coordinator.drain_timeout_seconds)

    async def replace(self, executor: StageExecutor, *, drain: bool) -> None:
        """Replaces an executor by a new one. Without ``drain`` it gets no time to finish its batch."""
        self._retire(executor, self._coordinator.drain_timeout_seconds if drain else 0.0)
        if drain:
            self.restarted += 1
        else:
            self.replaced += 1
        await self.add(1)

    def _retire(self, executor: StageExecutor, timeout: float) -> None:
        self.executors.remove(executor)
        stopping = asyncio.ensure_future(executor.stop(timeout))
        self._stopping[stopping] = executor
        stopping.add_done_callback(self._stopped)

    def _stopped(self, stopping: asyncio.Task[None]) -> None:
        self._retired = _sum([self._retired, self._stopping.pop(stopping).metrics_now()])

    def apply_backpressure(self, factor: float) -> None:
        self._factor = factor
        for executor in self.executors:
            executor.apply_backpressure(factor)

    # -- load and health ----------------------------------------------------------------------------------------
    def health(self) -> list[tuple[StageExecutor, StageHealth]]:
        return [(executor, executor.health()) for executor in self.executors]

    def totals(self) -> StageMetrics:
        """Returns the totals of present, stopping and former executors: a total never falls."""
        present = (*self.executors, *self._stopping.values())
        return _sum([self._retired, *(executor.metrics_now() for executor in present)])

    def look(self, now: float, *, saturation: float) -> PoolLoad:
        """Returns the load since the last sample."""
        before, self._last = self._last, Sample(now, self.totals())
        after, wall = self._last.metrics, max(now - before.at, 1e-6)
        count = len(self.executors)
        batches = after.batches - before.metrics.batches
        self.throughput = max(0.0, (after.items_processed - before.metrics.items_processed) / wall)
        # If no batch was taken since, the items that the next one would leave are counted.
        left_behind = (
            (after.left_behind - before.metrics.left_behind) / batches
            if batches
            else max(0, len(self.queue) - self.settings.batch_size)
        )
        busy = after.busy_seconds - before.metrics.busy_seconds
        self.utilisation = min(1.0, max(0.0, busy / (wall * max(1, count))))
        return PoolLoad(
            executors=count,
            min_executors=self.settings.min_executors,
            max_executors=self.settings.max_executors,
            utilisation=self.utilisation,
            peak=self._peak(now),
            left_behind=left_behind,
            backlog=len(self.queue),
            error_rate=(after.errors - before.metrics.errors) / max(1, batches),
            saturation=saturation,
            since_change=now - self.changed_at if self.changed_at is not None else float("inf"),
        )

    def _peak(self, now: float) -> float:
        looks = self._utilisations
        looks.append((now, self.utilisation))
        while looks[0][0] < now - self._coordinator.scaling_cooldown_seconds:
            looks.popleft()
        return max(utilisation for _, utilisation in looks)


def _sum(parts: Sequence[StageMetrics]) -> StageMetrics:
    return StageMetrics(
        items_processed=sum(part.items_processed for part in parts),
        batches=sum(part.batches for part in parts),
        errors=sum(part.errors for part in parts),
        busy_seconds=sum(part.busy_seconds for part in parts),
        left_behind=sum(part.left_behind for part in parts),
    )
