"""A workflow whose bodies tell what they know of their attempts, wherever they run."""

from __future__ import annotations

import asyncio
import os
from typing import Any

from turnout import Defer, TaskInfo, injected, task, workflow

TIMEOUT = 30.0


def told(info: TaskInfo) -> dict[str, Any]:
    """Everything that stays the same for the whole attempt; the first attempt puts itself off."""
    if info.saved is None:
        raise Defer("10ms", save={"by": info.attempt})
    info.progress(1, 2)
    names = ("task_id", "task_name", "attempt", "max_attempts", "workflow", "name", "index", "item", "labels")
    more = ("timeout", "saved", "idempotency_key", "token", "is_last_attempt", "shadow", "cancelled")
    return {name: getattr(info, name) for name in (*names, *more)}


@task(timeout=TIMEOUT, retries=1)
def here(letter: str, info: TaskInfo = injected()) -> dict[str, Any]:
    return {"letter": letter, **told(info)}


@task(timeout=TIMEOUT, retries=1)
async def later(letter: str, info: TaskInfo = injected()) -> dict[str, Any]:
    await asyncio.sleep(0)
    return {"letter": letter, **told(info)}


@workflow
def asking(letters: list[str]) -> list[Any]:
    return [here.map(letters), later.map(letters)]


@task(timeout="300ms")
def deaf() -> str:
    """Longer than its timeout and its grace together; it takes no notice of either."""
    import time

    time.sleep(8)
    return "done all the same"


@workflow
def too_slow() -> str:
    return deaf()


@task(retries=2)
def unsteady(order: str, info: TaskInfo = injected()) -> str:
    """Fails twice, and says something each time."""
    print(f"call {info.attempt} about {order}")
    if info.attempt < 3:
        raise LookupError(f"no answer to call {info.attempt}")
    return f"{order} paid"


@workflow
def paying(order: str) -> str:
    return unsteady(order)


@task(conditions=[os.path.exists])
def opened(path: str, info: TaskInfo = injected()) -> list[Any]:
    """Waits for a file; what it found and which attempt saved it."""
    if info.saved is None:
        raise Defer(condition=os.path.exists, args=[path], every="20ms", save=info.attempt)
    return [os.path.exists(path), info.saved]


@task(conditions=[os.path.exists])
async def opened_later(path: str, info: TaskInfo = injected()) -> list[Any]:
    await asyncio.sleep(0)
    if info.saved is None:
        raise Defer(condition=os.path.exists, args=[path], every="20ms", save=info.attempt)
    return [os.path.exists(path), info.saved]


@workflow
def waiting(path: str) -> list[Any]:
    return [opened(path), opened_later(path)]
