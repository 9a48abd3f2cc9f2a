"""Which process is this, and is another one still there? What Linux knows of them; elsewhere nothing is known."""

from __future__ import annotations

import os
from pathlib import Path


def boot_id() -> str:
    """The same for all processes of a machine until it starts again."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def pid_namespace() -> str:
    """Process ids mean something only within it."""
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
