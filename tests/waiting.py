"""Waiting for what only another process, a file or the database can tell."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

PATIENCE = 150.0
"""Seconds after which a test that waits has failed; never a time that a passing test takes."""

T = TypeVar("T")


def until(check: Callable[[], T]) -> T:
    """Wait until the check gives something true, and return that."""
    deadline = time.monotonic() + PATIENCE
    while not (found := check()):
        assert time.monotonic() < deadline, "what the test waits for has not come"
        time.sleep(0.01)
    return found
