"""Which process is this, so that others on its machine can tell when it has ended?"""

from __future__ import annotations

import os
from pathlib import Path


def boot_id() -> str:
    """Names this boot of this machine; empty where the system does not say."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def pid_namespace() -> str:
    """Where process ids mean the same; empty where the system does not say."""
    try:
        return os.readlink("/proc/self/ns/pid")
    except OSError:
        return ""


def process_started(pid: int) -> str | None:
    """When a process started, in clock ticks since boot: with its pid, an identity that is not used twice."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return None
    # A zombie has ended; it only waits for its parent to take notice.
    return None if fields[0] in (b"Z", b"X") else fields[19].decode()
