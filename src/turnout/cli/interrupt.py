"""Ctrl-C while a run is displayed: the first cancels the run and waits for it, the second ends this process."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any

from turnout.cli.failure import Exit
from turnout.cli.output import print_line
from turnout.errors import TurnoutError
from turnout.runner import RunHandle

CANCELLING = "cancelling; press Ctrl-C once more to quit without waiting"
_LEAVE_DISPLAY = b"\x1b[?25h\r\n"
"""Shows the cursor, which a display hides, and starts a new line."""


class Interrupt:
    """Handles Ctrl-C inside of its ``with`` block."""

    def __init__(self) -> None:
        self._asked = False
        self._cancelled = False
        self._displayed = False
        self._before: Callable[[int, FrameType | None], Any] | int | None = None

    def __enter__(self) -> Interrupt:
        self._before = signal.signal(signal.SIGINT, self._on_signal)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        signal.signal(signal.SIGINT, self._before)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self._asked:
            # Running bodies are not waited for. The run's next owner continues the cancellation.
            if self._displayed:
                os.write(sys.stderr.fileno(), _LEAVE_DISPLAY)
            os._exit(Exit.INTERRUPTED)
        self._asked = True
        if not self._displayed:
            os.write(sys.stderr.fileno(), f"{CANCELLING}\n".encode())

    @property
    def asked(self) -> bool:
        return self._asked

    @contextmanager
    def display(self) -> Iterator[None]:
        """Marks that a display has the screen, which then shows itself that the run is being cancelled."""
        self._displayed = True
        try:
            yield
        finally:
            self._displayed = False

    def cancel(self, run: RunHandle[Any]) -> None:
        """Cancels the run once if that was asked for, without waiting."""
        if self._asked and not self._cancelled:
            self._cancelled = True
            threading.Thread(target=_cancel, args=(run,), daemon=True).start()


def _cancel(run: RunHandle[Any]) -> None:
    try:
        run.cancel("interrupted at the terminal")
    except TurnoutError as error:
        print_line(f"not cancelled: {error.message}", to=sys.stderr)
