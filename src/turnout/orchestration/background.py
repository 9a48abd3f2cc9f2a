"""Coroutines, timers and blocking store calls on behalf of the parts of one orchestrator."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, TypeVar

from turnout.orchestration.store_threads import StoreThreads

T = TypeVar("T")


class Background:
    """Starts work on the orchestrator's event loop, and store calls in its bounded set of threads."""

    def __init__(self, loop: asyncio.AbstractEventLoop, share: StoreThreads) -> None:
        self._loop = loop
        self._share = share
        self._tasks: set[asyncio.Task[Any]] = set()

    def in_thread(self, function: Callable[..., T], *args: Any, **kwargs: Any) -> asyncio.Future[T]:
        """Runs a store call without blocking the loop."""
        return self._share.run(partial(function, *args, **kwargs))

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
