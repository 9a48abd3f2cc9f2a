"""Runs items as coroutines on an event loop of their own, so that a body that blocks it never blocks the engine."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import logging
import threading
from collections.abc import Callable, Coroutine, Hashable, Mapping
from functools import partial
from typing import Any, TypeVar

from turnout.runtime.priority_queue import QueueConsumer, Rank

log = logging.getLogger(__name__)

T = TypeVar("T", bound=Hashable)


class CoroutinePool(QueueConsumer[T]):
    """Runs ``run(item)`` as an asyncio task for each item, at most ``limit`` at once; of the rest, the highest
    rank goes first, in order of arrival within a rank.

    ``run`` must not raise anything but CancelledError. All methods may be called from any thread.
    """

    def __init__(
        self,
        limit: int,
        run: Callable[[T], Coroutine[Any, Any, None]],
        name: str = "turnout-async",
        rank: Callable[[T], Rank] = lambda _: (0, 0),
    ) -> None:
        super().__init__(limit, name, rank)
        self._run = run
        self._tasks: dict[T, asyncio.Task[None]] = {}
        self._signalled = False
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    @property
    def running(self) -> int:
        return len(self._tasks)

    def cancel(self, item: T) -> None:
        """Cancels the item's task if it has one."""
        loop = self._loop
        if loop is not None:
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(self._cancel, item)

    def close(self) -> None:
        """Cancels what runs and ends the loop's thread, without waiting for either."""
        with self._lock:
            loop, self._loop, self._thread = self._loop, None, None
            tasks, self._tasks = self._tasks, {}
            self._signalled = False
        if loop is not None:
            loop.call_soon_threadsafe(_end, loop, tasks)

    def _wake(self) -> None:
        loop = self._loop or self._start()
        # The flag is cleared before the items are looked at, so an item put while it is set is always seen.
        if not self._signalled:
            self._signalled = True
            with contextlib.suppress(RuntimeError):  # closed meanwhile: what closed it drains what is left
                loop.call_soon_threadsafe(self._take)

    def _start(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=self._run_loop, args=(self._loop,), name=self._name, daemon=True)
                self._thread.start()
            return self._loop

    def _run_loop(self, loop: asyncio.AbstractEventLoop) -> None:
        asyncio.set_event_loop(loop)
        while True:
            try:
                loop.run_forever()
                break
            except BaseException:
                # A task that a body started beside itself raised SystemExit or KeyboardInterrupt: the others go on.
                log.exception("the event loop of async bodies goes on after an error outside of any body")
        loop.close()

    def _take(self) -> None:
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            return  # closed: what comes now belongs to the next loop
        self._signalled = False
        while self._items and len(self._tasks) < self._limit:
            try:
                item = self._items.popleft()
            except IndexError:
                return
            # An empty context: a body does not see what the caller's thread or an earlier body has set.
            task = loop.create_task(self._run(item), context=contextvars.Context())
            self._tasks[item] = task
            task.add_done_callback(partial(self._done, item))

    def _done(self, item: T, _: asyncio.Task[None]) -> None:
        self._tasks.pop(item, None)
        if self._items:
            self._take()

    def _cancel(self, item: T) -> None:
        task = self._tasks.get(item)
        if task is not None:
            task.cancel()


def _end(loop: asyncio.AbstractEventLoop, tasks: Mapping[Any, asyncio.Task[None]]) -> None:
    for task in list(tasks.values()):
        task.cancel()
    loop.set_exception_handler(_ignore)
    # Two turns: one for the cancellation to be thrown into the bodies, one for what they do about it at once.
    loop.call_soon(lambda: loop.call_soon(loop.stop))


def _ignore(_loop: asyncio.AbstractEventLoop, _context: dict[str, Any]) -> None:
    """Logs nothing: tasks that resist cancellation are abandoned when the loop ends."""
