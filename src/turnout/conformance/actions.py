"""Declares the acts of a script that need sockets or the program, and its verdicts."""

from __future__ import annotations

from enum import StrEnum
from typing import TypeAlias

import msgspec


class Post(msgspec.Struct, frozen=True):
    hub: int
    route: bytes
    frames: list[bytes]


class Drop(msgspec.Struct, frozen=True):
    """Close the hub's socket, and open it again unless it is to stay away."""

    hub: int
    down: bool


class Kill(msgspec.Struct, frozen=True):
    signal: str


class Relaunch(msgspec.Struct, frozen=True):
    """Start the program again; the one before has ended."""


class Look(msgspec.Struct, frozen=True):
    """Say what is in this file: call ``looked``."""

    file: str


Act: TypeAlias = Post | Drop | Kill | Relaunch | Look


class Verdict(StrEnum):
    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"
