"""How things are named: identifiers, full names, and the opaque ids of tasks."""

from __future__ import annotations

import os
import re
import time
import uuid

IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,127}")


def is_identifier(name: str) -> bool:
    return IDENTIFIER.fullmatch(name) is not None


def new_run_id() -> str:
    """A time-ordered UUID (version 7), so that new runs sit together in every index."""
    stamp = time.time_ns() // 1_000_000
    number = (stamp << 80) | int.from_bytes(os.urandom(10), "big")
    number = (number & ~(0xF << 76)) | (0x7 << 76)
    number = (number & ~(0x3 << 62)) | (0x2 << 62)
    return str(uuid.UUID(int=number))


def task_id(run_id: str, pos: int) -> str:
    return f"{run_id}.{pos}"


def split_task_id(task: str) -> tuple[str, int]:
    run_id, _, pos = task.rpartition(".")
    return run_id, int(pos)
