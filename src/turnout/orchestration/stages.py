"""Who does the work of orchestration: five stages, each a queue of runs worked by a pool of stage executors."""

from __future__ import annotations

import asyncio
import logging
import time
import uuid
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from enum import StrEnum
from typing import Any, Protocol

import msgspec

log = logging.getLogger("turnout.stages")


class Stage(StrEnum):
    """Seed 002's pool names: in them "task" means run and "step" means task."""

    TASK_REQUEST_PROCESSOR = "task_request_processor"
    TASK_CLAIMER = "task_claimer"
    STEP_ENQUEUER = "step_enqueuer"
    STEP_RESULT_PROCESSOR = "step_result_processor"
    TASK_FINALIZER = "task_finalizer"


class StageMetrics(msgspec.Struct):
    """What one stage executor has done so far."""

    items_processed: int = 0
    batches: int = 0
    errors: int = 0
    busy_seconds: float = 0.0


class StageHealth(msgspec.Struct, frozen=True):
    """How one stage executor is; the coordinator judges by it."""

    state: str
    last_heartbeat: float
    items_processed: int
    avg_processing_time_ms: float
    error_rate: float
    reason: str | None = None


class BatchResult(msgspec.Struct, frozen=True):
    processed: int
    seconds: float


class OrchestrationExecutor(Protocol):
    """What a pool holds and a coordinator supervises."""

    id: str
    executor_type: Stage

    async def start(self) -> None: ...
    async def stop(self, timeout: float) -> None: ...
    def health(self) -> StageHealth: ...
    def metrics(self) -> StageMetrics: ...
    async def process_batch(self) -> BatchResult: ...
    def heartbeat(self) -> None: ...
    def should_continue(self) -> bool: ...
    def apply_backpressure(self, factor: float) -> None: ...


class WorkQueue:
    """Items that wait for a stage. Taking is first come, first served; an executor sleeps until there is something."""

    def __init__(self) -> None:
        self._items: deque[Any] = deque()
        self._sleepers: deque[asyncio.Future[None]] = deque()

    def __len__(self) -> int:
        return len(self._items)

    def put(self, item: Any) -> None:
        self._items.append(item)
        self.wake()

    def put_back(self, items: Sequence[Any]) -> None:
        self._items.extendleft(reversed(items))
        self.wake()

    def wake(self) -> None:
        """Let one sleeping executor look."""
        while self._sleepers:
            sleeper = self._sleepers.popleft()
            if not sleeper.done():
                sleeper.set_result(None)
                return

    def wake_all(self) -> None:
        while self._sleepers:
            self.wake()

    def hand_on(self) -> None:
        """Who was woken and will not take anything wakes another."""
        if self._items:
            self.wake()

    def take(self, limit: int) -> list[Any]:
        items = self._items
        return [items.popleft() for _ in range(min(limit, len(items)))]

    async def wait(self) -> None:
        if not self._items:
            sleeper: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._sleepers.append(sleeper)
            await sleeper


class StageExecutor:
    """Works one stage: takes a batch from its queue, processes it, waits for its commit, goes on."""

    def __init__(
        self, stage: Stage, queue: WorkQueue, process: Callable[[list[Any]], Awaitable[None]], batch_size: int
    ) -> None:
        self.id = f"{stage.value}-{uuid.uuid4().hex[:8]}"
        self.executor_type = stage
        self._queue = queue
        self._process = process
        self._batch_size = batch_size
        self._factor = 1.0
        self._metrics = StageMetrics()
        self._last_heartbeat = time.monotonic()
        self._stopping = False
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._loop(), name=self.id)

    async def stop(self, timeout: float) -> None:
        """Take nothing more, finish the batch in hand; after the timeout, abandon it."""
        self._stopping = True
        if self._task is None:
            return
        self._queue.wake_all()
        _, late = await asyncio.wait({self._task}, timeout=timeout)
        if late:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _loop(self) -> None:
        try:
            while self.should_continue():
                await self._queue.wait()
                self.heartbeat()
                if self.should_continue():
                    await self.process_batch()
                    if self._factor < 1.0:
                        await asyncio.sleep((1.0 - self._factor) * 0.05)
        finally:
            self._queue.hand_on()

    async def process_batch(self) -> BatchResult:
        started = time.monotonic()
        items = self._queue.take(max(1, int(self._batch_size * self._factor)))
        if not items:
            return BatchResult(0, 0.0)
        try:
            await self._process(items)
            self._metrics.items_processed += len(items)
        except asyncio.CancelledError:
            self._queue.put_back(items)
            raise
        except Exception:
            # What a stage does is a compare-and-swap, so doing an item twice is harmless; losing one is not.
            self._metrics.errors += 1
            log.exception("%s failed on a batch of %d", self.id, len(items))
            try:
                await asyncio.sleep(0.1)
            finally:
                self._queue.put_back(items)
        seconds = time.monotonic() - started
        self._metrics.batches += 1
        self._metrics.busy_seconds += seconds
        return BatchResult(len(items), seconds)

    def heartbeat(self) -> None:
        self._last_heartbeat = time.monotonic()

    def should_continue(self) -> bool:
        return not self._stopping

    def apply_backpressure(self, factor: float) -> None:
        """1.0 is full speed; less makes batches smaller and adds a pause after each."""
        self._factor = min(1.0, max(0.1, factor))

    def metrics(self) -> StageMetrics:
        return self._metrics

    def health(self) -> StageHealth:
        metrics = self._metrics
        if self._task is None:
            state = "starting"
        elif self._stopping:
            state = "stopping"
        elif self._task.done():
            state = "unhealthy"
        else:
            state = "healthy"
        return StageHealth(
            state=state,
            last_heartbeat=self._last_heartbeat,
            items_processed=metrics.items_processed,
            avg_processing_time_ms=1000 * metrics.busy_seconds / max(1, metrics.batches),
            error_rate=metrics.errors / max(1, metrics.batches),
        )


class StagePool:
    """The executors of one stage, of fixed number."""

    def __init__(
        self, stage: Stage, process: Callable[[list[Any]], Awaitable[None]], *, size: int, batch_size: int
    ) -> None:
        self.stage = stage
        self.queue = WorkQueue()
        self.executors: list[OrchestrationExecutor] = [
            StageExecutor(stage, self.queue, process, batch_size) for _ in range(size)
        ]

    async def start(self) -> None:
        for executor in self.executors:
            await executor.start()

    async def stop(self, timeout: float) -> None:
        await asyncio.gather(*(executor.stop(timeout) for executor in self.executors))
