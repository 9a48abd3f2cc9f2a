"""Stage executors of a real engine that hang, fail, are cancelled or do not hear: one at a time, in any stage."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from typing import Any, NoReturn

from tests.faults.children import eventually
from turnout import Runner
from turnout.orchestration.coordination.pool import ExecutorPool
from turnout.orchestration.stages.stage import Stage
from turnout.orchestration.stages.stage_executor import StageExecutor

Process = Callable[[list[Any]], Awaitable[None]]


class Victim:
    """One stage executor whose process function was replaced; all others of its pool work as they should."""

    def __init__(self, runner: Runner, stage: Stage, fault: str) -> None:
        self._runner = runner
        self.engine = runner._core.engine
        self.pool: ExecutorPool = self.engine.pools[stage]
        self.began = threading.Event()
        """It has taken a batch."""
        self._release = asyncio.Event()
        self._fault: Callable[[list[Any], Process], Awaitable[None]] = getattr(self, f"_{fault}")
        self._loop: asyncio.AbstractEventLoop = runner._core.loop.loop
        self.executor: StageExecutor = runner._core.loop.call(self._take_over()).result(10)

    async def _take_over(self) -> StageExecutor:
        executor = self.pool.executors[0]
        real = executor._process

        async def process(items: list[Any]) -> None:
            self.executor = executor
            self.began.set()
            await self._fault(items, real)

        executor._process = process
        return executor

    def begins(self) -> None:
        """Waits until it has taken a batch. On a slow machine it may be replaced before: then another is the victim."""
        while not self.began.is_set():
            eventually("it takes a batch", lambda: self.began.is_set() or self.executor not in self.pool.executors)
            if not self.began.is_set():
                self.executor = self._runner._core.loop.call(self._take_over()).result(10)

    def is_replaced(self) -> str:
        """Returns what the coordinator says of it, once another has its place."""
        self.begins()
        eventually("it is replaced", lambda: self.executor not in self.pool.executors)
        said = eventually("it is told", lambda: [e for e in list(self.engine.coordinator.events) if self._is_me(e)])
        return said[0].detail.partition(": ")[2]

    def _is_me(self, event: Any) -> bool:
        return event.detail.startswith(self.executor.id)

    def release(self) -> None:
        """Let those that did not hear go on with what they once took."""
        self._loop.call_soon_threadsafe(self._release.set)

    # -- the faults ---------------------------------------------------------------------------------------------
    async def _hangs(self, items: list[Any], real: Process) -> None:
        await _for_ever()

    async def _hangs_midway(self, items: list[Any], real: Process) -> None:
        """The work goes on, and nobody hears of it."""
        self._work = asyncio.ensure_future(real(items))
        await _for_ever()

    async def _hangs_afterwards(self, items: list[Any], real: Process) -> None:
        await real(items)
        await _for_ever()

    async def _raises(self, items: list[Any], real: Process) -> None:
        raise RuntimeError("a broken stage executor")

    async def _raises_afterwards(self, items: list[Any], real: Process) -> None:
        await real(items)
        raise RuntimeError("a broken stage executor")

    async def _is_cancelled(self, items: list[Any], real: Process) -> None:
        task = self.executor._task
        assert task is not None
        self._loop.call_soon(task.cancel)
        await real(items)
        await _for_ever()

    async def _is_deaf(self, items: list[Any], real: Process) -> None:
        """Does not hear that it is cancelled; much later it does what others have done long ago."""
        while not self._release.is_set():
            try:
                await self._release.wait()
            except asyncio.CancelledError:
                continue
        await real(items)


async def _for_ever() -> NoReturn:
    while True:
        await asyncio.Event().wait()
