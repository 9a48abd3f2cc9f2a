"""Workflows with an open run in every situation that a database may keep, for the test of an upgrade.

    python flows.py write URL      # submits the runs and waits until each is where it is to stop; then it is killed
    python flows.py finish URL     # drives every open run to its end and prints the results as JSON

A task that stops at the gate runs until the process is killed; with TURNOUT_GATE=open it completes at once.
``tools/upgrade_dump.py`` makes the dumps beside this file with the version that is to be upgraded from.
"""

from __future__ import annotations

import json
import os
import sys
import time

from turnout import Branch, Defer, Runner, TaskInfo, injected, task, workflow

OPEN = os.environ.get("TURNOUT_GATE") == "open"


def gate() -> None:
    while not OPEN:
        time.sleep(0.05)


@task
def double(number: int) -> int:
    return 2 * number


@task
def stop_here(number: int) -> int:
    gate()
    return number


@workflow
def chain(number: int) -> int:
    return double(stop_here(double(number)))


@task(retries=2, retry_delay="20s")
def fails_first(number: int, info: TaskInfo = injected()) -> int:
    if not OPEN:
        raise ValueError("the first attempt fails")
    return number + info.attempt


@workflow
def retried(number: int) -> int:
    return double(fails_first(number))


@workflow
def mapped(count: int) -> list[int]:
    return stop_here.map(numbers(count))


@task
def numbers(count: int) -> list[int]:
    return list(range(count))


@task
def choose(number: int) -> Branch[int]:
    return Branch("left" if number % 2 else "right", value=number)


@task
def left(number: int) -> str:
    return f"left {stop(number)}"


@task
def right(number: int) -> str:
    return f"right {stop(number)}"


def stop(number: int) -> int:
    gate()
    return number


@task
def joined(one: str | None, other: str | None) -> str:
    return one or other or "none"


@workflow
def branched(number: int) -> str:
    chosen = choose(number)
    return joined(left(chosen), right(chosen))


@task
def deferred_once(info: TaskInfo = injected()) -> str:
    if info.saved is None:
        raise Defer("20s", save="saved before the upgrade")
    return str(info.saved)


@workflow
def deferred() -> str:
    return deferred_once()


@workflow
def inner(number: int) -> int:
    return stop_here(number)


@workflow
def outer(number: int) -> int:
    return double(inner(number))


def write(url: str) -> None:
    with Runner(url) as runner:
        runs = [runner.submit(chain, number) for number in range(3)]
        runs += [runner.submit(retried, 5), runner.submit(mapped, 4), runner.submit(branched, 3)]
        runs += [runner.submit(deferred), runner.submit(outer, 7)]
        paused = runner.submit(chain, 100)
        while paused.tasks()[0].state != "completed":
            time.sleep(0.05)
        paused.pause()
        print("submitted", flush=True)
        time.sleep(3600)


def finish(url: str) -> None:
    with Runner(url) as runner:
        results = {}
        for view in runner.list(limit=100):
            handle = runner.get(view.id)
            if view.state == "paused":
                handle.resume()
            if view.parent_run is None:
                results[f"{view.workflow.rsplit('::')[-1]} {json.dumps(view.input)}"] = handle.result(timeout=60)
        print(json.dumps(results))


if __name__ == "__main__":
    {"write": write, "finish": finish}[sys.argv[1]](sys.argv[2])
