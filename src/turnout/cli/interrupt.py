"""What does Ctrl-C do to a run that is watched? Once, the run is cancelled and waited for; twice, this process ends."""

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
from turnout.cli.output import say
from turnout.errors import TurnoutError
from turnout.runner import RunHandle

CANCELLING = "cancelling; press Ctrl-C once more to quit without waiting"
_LEAVE_DISPLAY = b"\x1b[?25h\r\n"
"""The cursor, which a display hides, and a line of its own for whatever comes next."""


class Interrupt:
    """Listens for Ctrl-C while it is entered."""

    def __init__(self) -> None:
        self._asked = False
        self._cancelled = False
        self._drawn = False
        self._before: Callable[[int, FrameType | None], Any] | int | None = None

    def __enter__(self) -> Interrupt:
        self._before = signal.signal(signal.SIGINT, self._heard)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        signal.signal(signal.SIGINT, self._before)

    def _heard(self, number: int, frame: FrameType | None) -> None:
        if self._asked:
            # At once, whatever the bodies do. Whoever owns the run next goes on with the cancellation.
            if self._drawn:
                os.write(sys.stderr.fileno(), _LEAVE_DISPLAY)
            os._exit(Exit.INTERRUPTED)
        self._asked = True
        if not self._drawn:
            os.write(sys.stderr.fileno(), f"{CANCELLING}\n".encode())

    @property
    def asked(self) -> bool:
        return self._asked

    @contextmanager
    def drawn(self) -> Iterator[None]:
        """While this is entered a display has the screen: it says itself that the run is being cancelled."""
        self._drawn = True
        try:
            yield
        finally:
            self._drawn = False

    def cancel(self, run: RunHandle[Any]) -> None:
        """Cancel the run if that was asked for and has not been done; does not wait for it."""
        if self._asked and not self._cancelled:
            self._cancelled = True
            threading.Thread(target=_cancel, args=(run,), daemon=True).start()


def _cancel(run: RunHandle[Any]) -> None:
    try:
        run.cancel("interrupted at the terminal")
    except TurnoutError as error:
        say(f"not cancelled: {error.message}", to=sys.stderr)
