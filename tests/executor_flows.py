"""The workflows of the executor conformance suite: one file, unchanged, for every executor."""

from __future__ import annotations

import logging
import os
import signal
import time
from pathlib import Path
from typing import Any

from turnout import Context, Defer, TaskInfo, Workflow, task, workflow

HELD = 0.02
"""Seconds between two looks at a file that a body waits for."""


def note(path: str, text: str) -> None:
    """Appends a line: what a body did is known wherever it ran, and also if its process is killed next."""
    with open(path, "a", encoding="utf-8") as file:
        file.write(f"{text}\n")


@task
def greet(name: str, times: int, info: TaskInfo) -> dict[str, Any]:
    for number in range(times):
        print(f"hello {name} {number}")
    logging.getLogger("greetings").warning("greeted %s", name)
    info.progress(times, times, "greeted")
    return {"name": name, "attempt": info.attempt, "task": info.task_name.rpartition("::")[2]}


@task
def count(greeting: dict[str, Any], weights: tuple[float, ...]) -> float:
    return len(greeting["name"]) * sum(weights)


@workflow
def success(name: str) -> float:
    return count(greet(name, times=3), weights=(0.5, 1.5))


@task
def gather(context: Context) -> None:
    context["seen"] = sorted(context)


contextual = Workflow("contextual", tasks=[gather])


class NoSuchOrder(LookupError):
    """Raised by ``look_up``."""


@task
def look_up(order: int) -> int:
    raise NoSuchOrder(f"order {order} is unknown")


@workflow
def failure(order: int) -> int:
    return look_up(order)


@task(retries=2, retry_delay=0.01, retry_if=lambda error: "unlucky" in str(error))
def flaky(info: TaskInfo) -> int:
    if info.attempt < 3:
        raise RuntimeError(f"unlucky {info.attempt}")
    return info.attempt


@workflow
def retried() -> int:
    return flaky()


def hold(path: str, go: str) -> int:
    note(path, f"begun {os.getpid()}")
    while not Path(go).exists():
        time.sleep(HELD)
    note(path, f"ended {os.getpid()}")
    return os.getpid()


# Long enough for a process that starts on a busy machine: the body notes that it has begun.
@task(timeout=3)
def slow(path: str) -> int:
    return hold(path, "/nowhere/at/all")


@workflow
def late(path: str) -> int:
    return slow(path)


@task
def held(path: str, go: str) -> int:
    return hold(path, go)


@task(at_most_once=True)
def held_once(path: str, go: str) -> int:
    return hold(path, go)


@workflow
def holding(path: str, go: str) -> int:
    return held(path, go)


@workflow
def holding_once(path: str, go: str) -> int:
    return held_once(path, go)


@task(resources={"gpu": 1, "license": 1})
def held_with(path: str, go: str, info: TaskInfo) -> int:
    info.progress(1, 2, "held")
    return hold(path, go)


@workflow
def equipped(path: str, go: str) -> int:
    return held_with(path, go)


@workflow
def greedy(path: str, go: str) -> int:
    return held_with.options(resources={"gpu": 4})(path, go)


@task
def patient(info: TaskInfo) -> list[int]:
    seen = info.saved or []
    if len(seen) < 2:
        raise Defer(seconds=0.01, save=[*seen, len(seen)])
    return seen


@workflow
def deferred() -> list[int]:
    return patient()


@task
def large(size: int) -> str:
    return "x" * size


@task
def length(text: str) -> int:
    return len(text)


@workflow
def bulky(size: int) -> int:
    return length(large(size))


@task
def deadly() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@workflow
def crash() -> None:
    deadly()


@task(retries=50)
def step(path: str, key: str, seconds: float) -> str:
    note(path, f"step {key}")
    time.sleep(seconds)
    return key


@task(at_most_once=True)
def pay(path: str, key: str, seconds: float) -> str:
    note(path, f"pay {key}")
    time.sleep(seconds)
    return key


@workflow
def stepping(path: str, key: str, seconds: float) -> str:
    return step(path, step(path, key, seconds), seconds)


@workflow
def paying(path: str, key: str, seconds: float) -> str:
    return pay(path, key, seconds)


FLOWS: list[Workflow[..., Any]] = [
    success, contextual, failure, retried, late, holding, holding_once, deferred, bulky, crash, stepping, paying,
    equipped, greedy,
]  # fmt: skip
