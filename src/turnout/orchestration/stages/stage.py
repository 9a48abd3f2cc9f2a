"""Defines the five stages of orchestration, the contract of a stage executor, and the queue that it works from."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from enum import StrEnum
from typing import Any, Protocol

import msgspec

from turnout.orchestration.coordination.health import StageHealth


class Stage(StrEnum):
    """A stage. Its value is its pool's name in configuration, health and metrics: there "task" means run and "step"
    means task."""

    SUBMIT = "task_request_processor"
    CLAIM = "task_claimer"
    START = "step_enqueuer"
    RESULT = "step_result_processor"
    FINISH = "task_finalizer"

    @property
    def config_name(self) -> str:
        """The name of the stage's pool in configuration, health and metrics."""
        return self.value


class StageMetrics(msgspec.Struct):
    """Totals of one stage executor."""

    items_processed: int = 0
    batches: int = 0
    errors: int = 0
    busy_seconds: float = 0.0
    left_behind: int = 0
    """Items that were in the queue after a batch was taken, summed over the batches."""


class BatchResult(msgspec.Struct, frozen=True):
    processed: int
    seconds: float


class OrchestrationExecutor(Protocol):
    """A stage executor, as pools hold and the coordinator supervises it."""

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
    """Items that wait for a stage, first in, first out. Idle executors sleep until there are some."""

    def __init__(self) -> None:
        self._items: deque[Any] = deque()
        self._sleepers: deque[asyncio.Future[None]] = deque()

    def __len__(self) -> int:
        return len(self._items)

    def put(self, item: Any) -> None:
        self._items.append(item)
        if self._sleepers:
            self.wake()

    def put_back(self, items: Sequence[Any]) -> None:
        self._items.extendleft(reversed(items))
        self.wake()

    def wake(self) -> None:
        """Wakes one sleeping executor."""
        while self._sleepers:
            sleeper = self._sleepers.popleft()
            if not sleeper.done():
                sleeper.set_result(None)
                return

    def wake_all(self) -> None:
        while self._sleepers:
            self.wake()

    def pass_wakeup_on(self) -> None:
        """Wakes another executor. Called by one that was woken and takes nothing."""
        if self._items:
            self.wake()

    def take(self, limit: int) -> list[Any]:
        items = self._items
        return [items.popleft() for _ in range(min(limit, len(items)))]

    async def wait(self, timeout: float) -> bool:
        """Waits for items until the timeout. Returns whether there are any."""
        if not self._items:
            loop = asyncio.get_running_loop()
            sleeper: asyncio.Future[None] = loop.create_future()
            self._sleepers.append(sleeper)
            timer = loop.call_later(timeout, _wake, sleeper)
            try:
                await sleeper
            finally:
                timer.cancel()
                with suppress(ValueError):
                    self._sleepers.remove(sleeper)
        return bool(self._items)


def _wake(sleeper: asyncio.Future[None]) -> None:
    if not sleeper.done():
        sleeper.set_result(None)
