"""The boot that times of the leases' clock belong to."""

from __future__ import annotations

import subprocess
import sys
from functools import cache
from pathlib import Path


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
