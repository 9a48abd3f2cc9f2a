"""Which process is this? With what Linux knows of it, an orchestrator on the same machine sees its death at once."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import msgspec


class Identity(msgspec.Struct, frozen=True):
    """What tells a process from every other; empty where the system does not say."""

    boot_id: str
    pid_namespace: str
    process_started: str


def identity() -> Identity:
    """Of this process."""
    return Identity(
        boot_id=_known(lambda: Path("/proc/sys/kernel/random/boot_id").read_text().strip()),
        pid_namespace=_known(lambda: os.readlink("/proc/self/ns/pid")),
        process_started=_known(_started),
    )


def _started() -> str:
    """Field 22 of its stat; the second is a name in brackets that may hold anything."""
    return Path("/proc/self/stat").read_bytes().rpartition(b")")[2].split()[19].decode()


def _known(look: Callable[[], str]) -> str:
    try:
        return look()
    except OSError:
        return ""
