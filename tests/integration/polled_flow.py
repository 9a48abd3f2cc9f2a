"""A workflow that a test submits and another process works on: ``python polled_flow.py DATABASE_URL KEY``."""

from __future__ import annotations

import os
import sys

from turnout import TaskInfo, task, workflow
from turnout.authoring.registry import Registry
from turnout.executors.polling import PollingExecutor
from turnout.orchestration.loading import StoreLoader
from turnout.store import connect


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


def main(url: str, key: str) -> None:
    registry = Registry()
    registry.add(polled)
    store = connect(url)
    store.open()
    poller = PollingExecutor(store, StoreLoader(store, registry), keys=[key])
    poller.start()
    print("polling", flush=True)
    sys.stdin.read()
    poller.stop()
    store.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
