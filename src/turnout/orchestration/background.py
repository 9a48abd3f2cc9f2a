"""Runs coroutines, timers and blocking store calls for the parts of one orchestrator."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar

T = TypeVar("T")


class StoreThreads:
    """Runs store calls in threads, at most ``limit`` at once; the others wait in order. Used on one event loop."""

    def __init__(self, connections: int, usage: float) -> None:
        self._max_threads = max(1, int(connections * usage))
        self.limit = self._max_threads
        self.active = 0
        self._waiting: deque[tuple[Callable[[], Any], asyncio.Future[Any]]] = deque()
        self._threads = ThreadPoolExecutor(self._max_threads, thread_name_prefix="turnout-store")

    def apply_backpressure(self, factor: float) -> None:
        """Scales the limit. A lower one takes effect with the next call."""
        self.limit = max(1, int(self._max_threads * factor))
        self._next()

    def run(self, call: Callable[[], T]) -> asyncio.Future[T]:
        """Returns a future of the call's result."""
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._waiting.append((call, future))
        self._next()
        return future

    def close(self) -> None:
        self._threads.shutdown(wait=False)
        for _, future in self._waiting:
            future.cancel()
        self._waiting.clear()

    def _next(self) -> None:
        while self._waiting and self.active < self.limit:
            call, future = self._waiting.popleft()
            if future.done():
                continue
            self.active += 1
            done = asyncio.get_running_loop().run_in_executor(self._threads, call)
            done.add_done_callback(lambda done, future=future: self._resolve(done, future))

    def _resolve(self, done: asyncio.Future[Any], future: asyncio.Future[Any]) -> None:
        self.active -= 1
        if done.cancelled():
            future.cancel()
        elif (error := done.exception()) is not None:
            if not future.done():
                future.set_exception(error)
        elif not future.done():
            future.set_result(done.result())
        self._next()


class Background:
    """Starts work on the orchestrator's event loop, and store calls in its bounded set of threads."""

    def __init__(self, loop: asyncio.AbstractEventLoop, store_threads: StoreThreads) -> None:
        self._loop = loop
        self._store_threads = store_threads
        self._tasks: set[asyncio.Task[Any]] = set()

    def in_thread(self, function: Callable[..., T], *args: Any, **kwargs: Any) -> asyncio.Future[T]:
        """Runs a store call without blocking the loop."""
        return self._store_threads.run(partial(function, *args, **kwargs))

    def spawn(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Runs a coroutine beside the caller. The task is kept alive until it ends."""
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def later(self, seconds: float, action: Callable[[], object]) -> asyncio.TimerHandle:
        """Calls ``action`` on the loop after a delay."""
        return self._loop.call_later(seconds, action)

    def call_soon(self, action: Callable[..., object], *args: Any) -> None:
        """Calls ``action`` on the loop. May be used from any thread."""
        self._loop.call_soon_threadsafe(action, *args)


class Wakeups:
    """Collects topics for the sweeper until it takes them. Used on one event loop."""

    def __init__(self) -> None:
        self._topics: set[str] = set()
        self._announced = asyncio.Event()

    def announce(self, topic: str) -> None:
        self._topics.add(topic)
        self._announced.set()

    async def next(self) -> set[str]:
        """Waits for topics and takes them all."""
        await self._announced.wait()
        self._announced.clear()
        topics, self._topics = self._topics, set()
        return topics
