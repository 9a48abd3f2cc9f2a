"""How things are named: identifiers, full names, and the opaque ids of tasks."""

from __future__ import annotations

import os
import re
import time
import uuid

IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,127}")

_HOOK = re.compile(r"(?:.+\.)?on_(?:success|failure|exit)\..+")


def is_identifier(name: str) -> bool:
    return IDENTIFIER.fullmatch(name) is not None


def hook_name(on: str, function: str, of: str = "") -> str:
    """How a hook is called in its run: ``on_failure.notify``, or ``charge.on_exit.tidy_up`` for a task's."""
    return f"{of}.on_{on}.{function}" if of else f"on_{on}.{function}"


def is_hook(name: str) -> bool:
    """Whether a task of this name is a hook; no other task may be named like one."""
    return _HOOK.fullmatch(name) is not None


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
