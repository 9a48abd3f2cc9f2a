"""Holds ``Reply``: a value that the engine sets once, and that callers in other threads or event loops wait for."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Generic, TypeVar

T = TypeVar("T")

_LOCK = threading.Lock()
"""Held for a few instructions by whichever reply changes: one lock for all is cheaper than one for each."""


class Reply(Generic[T]):
    """The answer to one request: a value or an error, set once.

    There are two for each submitted run. A ``concurrent.futures.Future`` is a dozen objects, a condition among them; a
    reply makes an event only if a thread really waits for it.
    """

    __slots__ = ("__weakref__", "_callbacks", "_error", "_event", "_settled", "_value")

    def __init__(self) -> None:
        self._settled = False
        self._value: T | None = None
        self._error: BaseException | None = None
        self._event: threading.Event | None = None
        self._callbacks: tuple[Callable[[Reply[T]], object], ...] = ()

    def done(self) -> bool:
        return self._settled

    @property
    def error(self) -> BaseException | None:
        """The error that was set, if any."""
        return self._error

    def set_result(self, value: T) -> bool:
        """Sets the value. Returns False, and changes nothing, if the reply was set before."""
        return self._settle(value, None)

    def set_exception(self, error: BaseException) -> bool:
        """Sets the error. Returns False, and changes nothing, if the reply was set before."""
        return self._settle(None, error)

    def _settle(self, value: T | None, error: BaseException | None) -> bool:
        with _LOCK:
            if self._settled:
                return False
            self._value, self._error = value, error
            self._settled = True
            callbacks, self._callbacks = self._callbacks, ()
        if self._event is not None:
            self._event.set()
        for callback in callbacks:
            callback(self)
        return True

    def add_done_callback(self, callback: Callable[[Reply[T]], object]) -> None:
        """Calls this once the reply is set, in the thread that sets it; now if it is set already."""
        with _LOCK:
            if not self._settled:
                self._callbacks = (*self._callbacks, callback)
                return
        callback(self)

    def result(self, timeout: float | None = None) -> T:
        """Waits for the reply. Returns its value, or raises its error; TimeoutError after ``timeout`` seconds."""
        if not self._settled:
            with _LOCK:
                if self._event is None:
                    self._event = threading.Event()
            # A reply that was set before the event was there does not set it.
            if not self._settled and not self._event.wait(timeout):
                raise TimeoutError
        if self._error is not None:
            raise self._error
        value: Any = self._value
        return value

    async def wait(self) -> T:
        """Waits for the reply on the running event loop, whichever thread sets it."""
        if not self._settled:
            loop = asyncio.get_running_loop()
            woken: asyncio.Future[None] = loop.create_future()

            def wake() -> None:
                if not woken.done():
                    woken.set_result(None)

            def wake_soon(_: Reply[T]) -> None:
                with suppress(RuntimeError):  # the loop was closed meanwhile
                    loop.call_soon_threadsafe(wake)

            self.add_done_callback(wake_soon)
            await woken
        return self.result()
