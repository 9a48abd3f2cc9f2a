"""A workflow that a test submits and another process works on: ``python polled_flow.py DATABASE_URL KEY``."""

from __future__ import annotations

import os
import sys

from turnout import TaskInfo, task, workflow
from turnout.runner import Poller


@task(retries=1)
def where(number: int, info: TaskInfo) -> dict[str, int]:
    if number == 13 and info.attempt == 1:
        raise ValueError("an unlucky number")
    return {"pid": os.getpid(), "number": number, "attempt": info.attempt}


@task
def collect(found: list[dict[str, int]]) -> dict[str, list[int]]:
    return {name: [each[name] for each in found] for name in ("pid", "number", "attempt")}


@workflow
def polled(start: int) -> dict[str, list[int]]:
    return collect([where(start), where(13)])


if __name__ == "__main__":
    with Poller(sys.argv[1], keys=[sys.argv[2]]):
        print("polling", flush=True)
        sys.stdin.read()
