"""Waiting for what only another process, a file or the database can tell."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

PATIENCE = 150.0
"""Seconds after which a test that waits has failed; never a time that a passing test takes."""

T = TypeVar("T")


def until(check: Callable[[], T], what: str = "what the test waits for has not come") -> T:
    """Wait until the check gives something true, and return that; fail with the sentence ``what`` otherwise."""
    deadline = time.monotonic() + PATIENCE
    while not (found := check()):
        assert time.monotonic() < deadline, what
        time.sleep(0.01)
    return found


def stop_process(pid: int) -> None:
    """SIGSTOP; returns when all of its threads have stopped. On a busy machine they go on for some milliseconds after
    the signal was sent, and what they do then was not done by a process that had been stopped."""
    os.kill(pid, signal.SIGSTOP)
    until(lambda: stands_still(pid))


def stands_still(pid: int) -> bool:
    try:
        stats = [(each / "stat").read_text() for each in Path(f"/proc/{pid}/task").iterdir()]
    except (FileNotFoundError, ProcessLookupError):
        return False  # a thread that has just ended
    return {stat.rpartition(")")[2].split()[0] for stat in stats} == {"T"}
