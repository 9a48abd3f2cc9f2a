"""A word about a wait that takes longer than people expect, while it lasts."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from turnout.cli.output import say

SLOW = 1.5
"""Seconds after which it is said."""


@contextmanager
def said_if_slow(text: str, *, quiet: bool = False) -> Iterator[None]:
    """Say on standard error what is waited for, if this is not left soon."""
    timer = threading.Timer(SLOW, lambda: say([(text, "yellow")], to=sys.stderr))
    timer.daemon = True
    if not quiet:
        timer.start()
    try:
        yield
    finally:
        timer.cancel()
