"""Holds the clock that leases are judged by, the same for all processes of one machine."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

_CLOCK = getattr(time, "CLOCK_BOOTTIME", getattr(time, "CLOCK_MONOTONIC", None))

boot_time: Callable[[], float] = time.monotonic if _CLOCK is None else partial(time.clock_gettime, _CLOCK)
"""Returns the seconds since the machine started. It also counts while this process is stopped and, where the system can
measure that, while the machine sleeps. It cannot be set, and all processes of one machine read the same value."""
