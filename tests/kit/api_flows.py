"""Workflows for tests of the API: quick ones, one that fails, one that waits, with items, children and lines."""

from __future__ import annotations

import logging
import threading
from typing import Any

from turnout import task, workflow

GATE = threading.Event()
"""Bodies of ``hold`` wait for it, for at most a minute."""
log = logging.getLogger("tests.flows")


@task
def add(n: int) -> int:
    print(f"adding to {n}")
    return n + 1


@task
def check(n: int) -> int:
    if n < 0:
        raise ValueError(f"{n} is negative")
    return n


@task
def wait_for_gate(n: int) -> int:
    log.warning("waiting with %d", n)
    GATE.wait(60)
    return n


@task
def spread(n: int) -> list[int]:
    return list(range(n))


@workflow
def twice(n: int, label: str = "none") -> int:
    return add(add(n))


@workflow
def checked(n: int) -> int:
    return check(add(n))


@workflow
def hold(n: int = 0) -> int:
    return add(wait_for_gate(n))


@workflow
def mapped(n: int) -> list[int]:
    return add.map(spread(n))


@workflow
def family(n: int) -> Any:
    return twice(n)


FLOWS = (twice, checked, hold, mapped, family)
