"""Holds what the parts of the hub share: router, pump, background tasks, and what the orchestrator binds."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any, Protocol, TypeAlias

from turnout.contracts.executor import Loader
from turnout.contracts.workers import Holders
from turnout.errors import StoreError

Heard: TypeAlias = Callable[[bytes, Sequence[bytes], str | None], None]
"""Takes the route of a connection, the frames of a message and, with encryption, the key of the connection."""


class Router(Protocol):
    """Sends and receives the messages of a hub, on one event loop."""

    address: str
    dropped: int
    """Number of messages that could not be sent."""

    @property
    def is_open(self) -> bool:
        """True if workers can be reached."""
        ...

    def open(self) -> None: ...

    def close(self) -> None: ...

    def send(self, route: bytes, frames: Sequence[bytes]) -> None: ...


MakeRouter: TypeAlias = Callable[[Heard, Callable[[], None]], Router]
"""Makes a router from what takes its messages, and what is called when all that had come were taken."""


class Pump:
    """Calls ``action`` now, or once in the next turn of the loop."""

    def __init__(self, action: Callable[[], None]) -> None:
        self._action = action
        self._scheduled = False

    def run(self) -> None:
        self._scheduled = False
        self._action()

    def schedule(self) -> None:
        if not self._scheduled:
            self._scheduled = True
            asyncio.get_running_loop().call_soon(self.run)


class BackgroundTasks:
    """Keeps tasks alive, and logs what they raise. Used on one event loop."""

    def __init__(self, log: logging.Logger) -> None:
        self._log = log
        self._tasks: set[asyncio.Task[None]] = set()

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def repeat(self, interval: Callable[[], float], action: Callable[[], Awaitable[None]], what: str) -> None:
        """Calls ``action`` after this interval, again and again, whatever it raises. ``what`` names it in the log."""
        self.spawn(self._repeat(interval, action, what))

    def cancel(self) -> None:
        for task in self._tasks:
            task.cancel()

    async def _repeat(self, interval: Callable[[], float], action: Callable[[], Awaitable[None]], what: str) -> None:
        while True:
            await asyncio.sleep(interval())
            try:
                await action()
            except StoreError as error:
                self._log.warning("%s is deferred: %s", what, error)
            except Exception:
                self._log.exception("%s failed and will be retried", what)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._log.error("a background task failed", exc_info=error)


class OrchestratorPorts:
    """The loader of attempts, and the store's side of workers. Both are bound once."""

    loader: Loader
    holders: Holders
