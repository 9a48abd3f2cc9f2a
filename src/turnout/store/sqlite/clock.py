"""What time is it for a lease? A clock that no administrator sets, and the boot that it belongs to."""

from __future__ import annotations

import subprocess
import sys
import time
from functools import cache
from pathlib import Path

_CLOCK = getattr(time, "CLOCK_BOOTTIME", getattr(time, "CLOCK_MONOTONIC", None))


def boot_time() -> float:
    """Seconds since the machine started, sleep included where the system can say so."""
    return time.monotonic() if _CLOCK is None else time.clock_gettime(_CLOCK)


@cache
def boot_id() -> str:
    """Names this boot: times of another boot mean nothing now."""
    try:
        if sys.platform == "darwin":
            command = ["/usr/sbin/sysctl", "-n", "kern.bootsessionuuid"]
            return subprocess.run(command, capture_output=True, text=True, check=True, timeout=5).stdout.strip()
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except (OSError, subprocess.SubprocessError):
        return ""
