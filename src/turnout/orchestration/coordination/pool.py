"""The stage executors of one stage: who is there, who comes, who goes, and what they did together."""

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


class Look(msgspec.Struct, frozen=True):
    """Totals of a pool at one moment; two of them make a rate."""

    at: float
    metrics: StageMetrics


class ExecutorPool:
    """Grows and shrinks between its bounds. Who leaves finishes the batch in hand; what is not finished returns."""

    def __init__(
        self,
        stage: Stage,
        queue: WorkQueue,
        process: Process,
        settings: PoolSettings,
        coordinator: CoordinatorSettings,
        *,
        idle: Callable[[], None] = lambda: None,
        excuse: Callable[[], str | None] = lambda: None,
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
            stage, self.queue, process, settings, gate=self.gate, coordinator=coordinator, idle=idle, excuse=excuse
        )
        self._factor = 1.0
        self._retired = StageMetrics()
        self._leaving: dict[asyncio.Task[None], StageExecutor] = {}
        self._last = Look(time.monotonic(), StageMetrics())
        self._utilisations: deque[tuple[float, float]] = deque()
        """Of the looks within the last cooldown, with their times."""
        self.throughput = 0.0
        """Items a second between the last two looks."""
        self.utilisation = 0.0

    async def start(self) -> None:
        await self.add(self.settings.min_executors)

    async def stop(self, timeout: float) -> None:
        await asyncio.gather(*(executor.stop(timeout) for executor in self.executors))
        if self._leaving:
            await asyncio.wait(self._leaving, timeout=timeout)

    # -- coming and going ---------------------------------------------------------------------------------------
    async def add(self, count: int) -> None:
        for _ in range(count):
            executor = self._new()
            executor.apply_backpressure(self._factor)
            self.executors.append(executor)
            await executor.start()

    def remove(self, count: int) -> None:
        """Let some go, those without a batch in hand first. They take nothing more; the rest happens by itself."""
        for executor in sorted(self.executors, key=lambda one: one.busy)[:count]:
            self._dismiss(executor, self._coordinator.drain_timeout_seconds)

    async def replace(self, executor: StageExecutor, *, drain: bool) -> None:
        """Put a new one in its place. One that is beyond help is given no time."""
        self._dismiss(executor, self._coordinator.drain_timeout_seconds if drain else 0.0)
        if drain:
            self.restarted += 1
        else:
            self.replaced += 1
        await self.add(1)

    def _dismiss(self, executor: StageExecutor, timeout: float) -> None:
        self.executors.remove(executor)
        leaving = asyncio.ensure_future(executor.stop(timeout))
        self._leaving[leaving] = executor
        leaving.add_done_callback(self._left)

    def _left(self, leaving: asyncio.Task[None]) -> None:
        self._retired = _sum([self._retired, self._leaving.pop(leaving).metrics_now()])

    def apply_backpressure(self, factor: float) -> None:
        self._factor = factor
        for executor in self.executors:
            executor.apply_backpressure(factor)

    # -- looking ------------------------------------------------------------------------------------------------
    def health(self) -> list[tuple[StageExecutor, StageHealth]]:
        return [(executor, executor.health()) for executor in self.executors]

    def totals(self) -> StageMetrics:
        """Of all who are here, are leaving or have left: a total never falls."""
        everybody = (*self.executors, *self._leaving.values())
        return _sum([self._retired, *(executor.metrics_now() for executor in everybody)])

    def look(self, now: float, *, saturation: float) -> PoolLoad:
        """What it did since the last look."""
        before, self._last = self._last, Look(now, self.totals())
        after, wall = self._last.metrics, max(now - before.at, 1e-6)
        count = len(self.executors)
        batches = after.batches - before.metrics.batches
        self.throughput = max(0.0, (after.items_processed - before.metrics.items_processed) / wall)
        # Where no batch was taken since, what the next one would leave behind speaks for it.
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
