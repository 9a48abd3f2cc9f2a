"""The five stages of orchestration, the contract of a stage executor, and the queue that it takes its work from."""

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
    """Seed 002's pool names: in them "task" means run and "step" means task."""

    SUBMIT = "task_request_processor"
    CLAIM = "task_claimer"
    START = "step_enqueuer"
    RESULT = "step_result_processor"
    FINISH = "task_finalizer"


class StageMetrics(msgspec.Struct):
    """What one stage executor has done so far."""

    items_processed: int = 0
    batches: int = 0
    errors: int = 0
    busy_seconds: float = 0.0
    left_behind: int = 0
    """Items that were still in the queue after a batch was taken, summed over the batches."""


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

    async def wait(self, timeout: float) -> bool:
        """Until there is something, or the time is over; whether there is something."""
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
