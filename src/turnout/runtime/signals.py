"""Handles signals that ask a process to stop, in a thread that waits for them on a pipe.

The interpreter runs a handler when the main thread executes its next instruction. A signal that comes after the last
one and before that thread sleeps would be heard when it wakes for another reason, if ever. The byte that the
interpreter writes for every signal (``signal.set_wakeup_fd``) is read whatever the main thread does.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any

STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)
_END = b"\0"


class StopSignals:
    """While it is entered, ``heard`` is called for each of these signals, in a thread of its own. Outside of the main
    thread it does nothing: only the main thread can set signal handlers."""

    def __init__(self, heard: Callable[[int], None]) -> None:
        self._heard = heard
        self._before: dict[signal.Signals, Any] = {}
        self._before_fd = -1
        self._reader = self._writer = -1
        self._thread = threading.Thread(target=self._listen, name="turnout-signals", daemon=True)

    def __enter__(self) -> StopSignals:
        if threading.current_thread() is threading.main_thread():
            self._reader, self._writer = os.pipe()
            os.set_blocking(self._writer, False)
            self._thread.start()
            # The pipe before the handlers: every signal that a handler catches has its byte.
            self._before_fd = signal.set_wakeup_fd(self._writer, warn_on_full_buffer=False)
            self._before = {number: signal.signal(number, _noted) for number in STOP_SIGNALS}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if not self._before:
            return
        for number, handler in self._before.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(self._before_fd)
        os.set_blocking(self._writer, True)
        os.write(self._writer, _END)
        self._thread.join()
        os.close(self._reader)
        os.close(self._writer)

    def _listen(self) -> None:
        while True:
            for number in os.read(self._reader, 4096):
                if number == _END[0]:
                    return
                if number in STOP_SIGNALS:
                    self._heard(number)


def _noted(number: int, frame: object) -> None:
    """Does nothing: without a handler the interpreter writes no byte."""
