"""Runs the event loop of one orchestrator in a thread, and closes open Runners at the end of the program."""

from __future__ import annotations

import asyncio
import atexit
import logging
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from contextvars import Context
from importlib import import_module
from typing import Any, Protocol, TypeVar

from turnout.errors import TurnoutError

log = logging.getLogger("turnout.runner")

T = TypeVar("T")
JOIN_TIMEOUT = 5.0


class EngineLoop:
    """Takes calls from any thread until it is closed. They never run in the caller's context, which may be that of a
    body."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, name="turnout-engine", daemon=True)
        self._closed = False
        self._closing = threading.Lock()
        """Held while a call is handed to the loop: once ``_closed`` is set, no call follows the stop."""

    def start(self) -> None:
        self._thread.start()

    def call(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Runs a coroutine on the loop, also while it is being closed."""
        return Context().run(asyncio.run_coroutine_threadsafe, work, self.loop)

    def call_soon(self, action: Callable[..., object], *args: Any) -> bool:
        """Calls ``action`` on the loop. Returns False if the loop is closed."""
        with self._closing:
            if not self._closed:
                self.loop.call_soon_threadsafe(action, *args, context=Context())
            return not self._closed

    def check_open(self) -> None:
        """Raises TurnoutError once the loop was closed."""
        if self._closed:
            raise closed_error()

    def close(self) -> bool:
        """Refuses calls from now on. Returns False if it was closed before."""
        with self._closing:
            before, self._closed = self._closed, True
        return not before

    def stop(self) -> None:
        """Ends the loop and its thread."""
        if self._thread.is_alive():
            self.loop.call_soon_threadsafe(self.loop.stop)
            self._thread.join(JOIN_TIMEOUT)
        if not self._thread.is_alive():
            self.loop.close()


def closed_error() -> TurnoutError:
    return TurnoutError("this Runner is closed", code="runner_closed")


class Closes(Protocol):
    def close(self) -> None: ...


_open: set[Closes] = set()


def close_at_exit(runner: Closes) -> None:
    """Closes the Runner when the program ends, unless it is closed before."""
    _open.add(runner)


def closed(runner: Closes) -> None:
    _open.discard(runner)


def _close_all() -> None:
    for runner in list(_open):
        try:
            runner.close()
        except Exception:
            log.exception("a Runner could not hand over at the end of the program; its lease will expire instead")


# At ``atexit`` the interpreter's thread pools are shut, and handing over needs them. The hook that the pools
# themselves use runs earlier, last registered first; it is private, so ``atexit`` is the fallback.
import_module("concurrent.futures.thread")
_register: Callable[[Callable[[], None]], Any] = getattr(threading, "_register_atexit", atexit.register)
_register(_close_all)
