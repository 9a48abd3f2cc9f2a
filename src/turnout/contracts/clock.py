"""Holds the clock that leases are judged by, the same for all processes of one machine."""

from __future__ import annotations

import time

_CLOCK = getattr(time, "CLOCK_BOOTTIME", getattr(time, "CLOCK_MONOTONIC", None))


def boot_time() -> float:
    """Seconds since the machine started. It goes on while this process is stopped, and while the machine sleeps where
    the system can say so; nobody sets it, and all processes of one machine have the same."""
    return time.monotonic() if _CLOCK is None else time.clock_gettime(_CLOCK)
