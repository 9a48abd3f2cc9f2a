"""How is the picture of ``turnout top`` kept up to date? One thread looks, the other draws and hears the keys."""

from __future__ import annotations

import os
import select
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from types import FrameType
from typing import Generic, TypeVar

from rich.console import Console
from rich.live import Live

from turnout.cli.dashboard import frame
from turnout.cli.database import Picture, Source
from turnout.cli.output import coloured
from turnout.cli.watch import as_text
from turnout.errors import TurnoutError

T = TypeVar("T")

LOOK = 1.0
DRAW = 0.5


class Observation(Generic[T]):
    """What was last seen. Looks in a thread of its own, so that a database that hangs does not hold up the keys."""

    def __init__(self, look: Callable[[], T], first: T) -> None:
        self.found = first
        self.note: str | None = None
        self._look = look
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._keep_looking, name="turnout-top", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> bool:
        """Whether it has stopped: one that waits for the database is left behind."""
        self._stop.set()
        self._thread.join(LOOK)
        return not self._thread.is_alive()

    def _keep_looking(self) -> None:
        while not self._stop.wait(LOOK):
            try:
                self.found, self.note = self._look(), None
            except TurnoutError as error:
                self.note = f"{error.message}; what follows was seen before"


def observe(source: Source, first: Picture) -> None:
    """Draw until somebody leaves."""
    console = Console(no_color=not coloured(), highlight=False)
    seen = Observation(source.picture, first)

    with ExitStack() as stack:
        stack.enter_context(_ended_by_signal())
        pressed = stack.enter_context(key_presses())
        live = stack.enter_context(Live(console=console, screen=True, auto_refresh=False))
        seen.start()
        try:
            while True:
                width, height = console.size
                found, now = seen.found, time.time()
                shown = frame(found.orchestrators, now, found.runs, width=width, height=height, note=seen.note)
                live.update(as_text(shown), refresh=True)
                if LEAVE in pressed(DRAW).lower():
                    break
        except KeyboardInterrupt:
            pass
    if seen.stop():
        source.close()


@contextmanager
def _ended_by_signal() -> Iterator[None]:
    """SIGTERM leaves too, by the door: the terminal must not stay as it is now."""

    def leave(number: int, _: FrameType | None) -> None:
        sys.exit(128 + number)

    before = signal.signal(signal.SIGTERM, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


LEAVE = "q"


@contextmanager
def key_presses() -> Iterator[Callable[[float], str]]:
    """Gives a function that waits for keys, so many seconds at most, and returns them."""
    try:
        import termios
        import tty
    except ImportError:  # Windows: Ctrl-C is the only key
        yield _nobody_types
        return
    if not sys.stdin.isatty():
        yield _nobody_types
        return
    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)
    tty.setcbreak(terminal)
    try:
        yield partial(_pressed, terminal)
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)


def _pressed(terminal: int, seconds: float) -> str:
    ready, _, _ = select.select([terminal], [], [], seconds)
    if not ready:
        return ""
    try:
        # Nothing to read although something was there: the terminal is gone.
        return os.read(terminal, 64).decode(errors="ignore") or LEAVE
    except OSError:
        return LEAVE


def _nobody_types(seconds: float) -> str:
    time.sleep(seconds)
    return ""
