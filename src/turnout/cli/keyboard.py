"""Which key was pressed? Keys without Enter, while the screen is used; the terminal is as before afterwards."""

from __future__ import annotations

import os
import select
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

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
