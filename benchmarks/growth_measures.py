"""Measures one database in a process of its own: throughput, latency, lists of runs, memory; prints one JSON object.

``growth.py`` starts it: ``python benchmarks/growth_measures.py stored postgresql://… '{"runs": 1000}'``.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cpu import Spent, of_postgres
from engine import throughput
from stored_runs import count, size
from workloads import chain, noop, single

from turnout import Runner, task, workflow
from turnout.executors.thread import ThreadExecutor
from turnout.model.states import RunState
from turnout.model.verdict import Limits
from turnout.runner import EngineSettings, Retention

TIMEOUT = 300.0
BURST = 200
PAGE = 20
"""Runs that ``turnout runs ls`` lists unless told otherwise."""


@task
def numbers(length: int) -> list[int]:
    return list(range(length))


@workflow(name="bench_items")
def items(length: int) -> object:
    """A task mapped over a list, and one that takes all of its results."""
    return noop(noop.map(numbers(length)))


class Gate:
    """Holds the bodies that entered until it is opened. All of them are on one event loop."""

    def __init__(self) -> None:
        self._entered = threading.Semaphore(0)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._opened = asyncio.Event()

    async def enter(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._entered.release()
        await self._opened.wait()

    def wait_for(self, bodies: int) -> None:
        for _ in range(bodies):
            assert self._entered.acquire(timeout=TIMEOUT)

    def open(self) -> None:
        assert self._loop is not None
        self._loop.call_soon_threadsafe(self._opened.set)


the_gate = Gate()


@task
async def gate() -> None:
    await the_gate.enter()


@workflow(name="bench_waiting")
def waiting() -> object:
    return gate()


@workflow(name="bench_waiting_chain")
def waiting_chain() -> object:
    """Ten tasks, of which the first waits."""
    value: object = gate()
    for _ in range(9):
        value = noop(value)
    return value


def stored(url: str, runs: int, samples: int) -> dict[str, float]:
    """Throughput, latency, lists and memory of a Runner on a database that may hold many runs."""
    found = {"bursts_runs_per_s": statistics.median([_burst(url) for _ in range(4)][1:])}
    with Runner(url, workflows=[chain, single], handle_sigterm=False) as runner:
        throughput(runner, chain, 50)
        spent = Spent({"cpu": time.process_time, "postgres_cpu": of_postgres(url)})
        spent.begin()
        found["steps_per_s"] = runs * 10 / throughput(runner, chain, runs)
        found |= {f"{name}_us_per_step": 1e5 * used / runs for name, used in spent.end().items()}
        times = sorted(_seconds(lambda: runner.submit(single).wait(TIMEOUT)) for _ in range(samples))
        found["p50_ms"] = 1000 * statistics.median(times)
        found["p99_ms"] = 1000 * times[int(0.99 * (samples - 1))]
        for name, given in LISTS.items():
            spent = [_seconds(lambda given=given: runner.list(limit=PAGE, **given)) for _ in range(PAGE)]
            found[f"{name}_ms"] = 1000 * statistics.median(spent)
        found["resident_mb"] = resident() / 1e6
    return found


LISTS: dict[str, dict[str, Any]] = {
    "ls": {},
    "ls_workflow_failed": {"workflow": "bench_single", "states": [RunState.FAILED]},
    "ls_cancelled": {"states": [RunState.CANCELLED]},
    "ls_running": {"states": [RunState.RUNNING]},
}
"""Pages of ``turnout runs ls``: the first one, one of a workflow's rare state, and two of states that no run has."""


def _burst(url: str) -> float:
    """Runs per second of a short burst by a Runner of its own: what it looks for when it starts is a part of it."""
    began = time.perf_counter()
    with Runner(url, workflows=[single], handle_sigterm=False) as runner:
        throughput(runner, single, BURST)
        return BURST / (time.perf_counter() - began)


def steady(url: str, seconds: float, older_than: float | None) -> dict[str, float]:
    """Steps per second of W1 for a while, two batches of 500 runs at a time; with an age, under retention."""
    retention = None if older_than is None else Retention(older_than=older_than, every=1.0)
    with Runner(url, workflows=[chain], settings=EngineSettings(retention=retention), handle_sigterm=False) as runner:
        before = count(url)
        for _ in range(3):
            throughput(runner, chain, 500)
        batches = deque([runner.submit_many(chain, [{}] * 500)])
        spent = Spent({"cpu": time.process_time, "postgres_cpu": of_postgres(url)})
        spent.begin()
        ended, began = 0, time.perf_counter()
        while (took := time.perf_counter() - began) < seconds:
            batches.append(runner.submit_many(chain, [{}] * 500))
            for handle in batches.popleft():
                assert handle.wait(TIMEOUT) == "completed"
            ended += 500
        cpu = {f"{name}_us_per_step": 1e6 * used / (10 * ended) for name, used in spent.end().items()}
        for handle in batches.pop():
            handle.wait(TIMEOUT)
    deleted = before + 1_500 + ended + 500 - count(url)
    return {"steps_per_s": 10 * ended / took, **cpu, "deleted_runs_per_s": deleted / (time.perf_counter() - began)}


def mapped(url: str, length: int) -> dict[str, float]:
    """One run with this many mapped items."""
    settings = EngineSettings(limits=Limits(map_items=length))
    with Runner(url, workflows=[items], settings=settings, handle_sigterm=False) as runner:
        assert runner.submit(items, 100).wait(TIMEOUT) == "completed"
        memory, disk, began = resident(), size(url), time.perf_counter()
        assert runner.submit(items, length).wait(TIMEOUT) == "completed"
        took = time.perf_counter() - began
        peak = _status("VmHWM")
    return {
        "seconds": took,
        "steps_per_s": (length + 2) / took,
        "peak_mb": peak / 1e6,
        "memory_bytes_per_item": (peak - memory) / length,
        "disk_bytes_per_item": (size(url) - disk) / length,
    }


def in_flight(url: str, runs: int, tasks: int) -> dict[str, float]:
    """Runs of 1 or 10 tasks, all of which are begun and wait."""
    which = waiting if tasks == 1 else waiting_chain
    executors = {"default": ThreadExecutor(coroutines=runs)}
    settings = EngineSettings(max_owned_runs=runs)
    with Runner(url, workflows=[which], executors=executors, settings=settings, handle_sigterm=False) as runner:
        memory, disk, began = resident(), size(url), time.perf_counter()
        handles = [handle for _ in range(0, runs, 1_000) for handle in runner.submit_many(which, [{}] * 1_000)]
        the_gate.wait_for(runs)
        took = time.perf_counter() - began
        at_rest, on_disk = resident(), size(url)
        the_gate.open()
        for handle in handles:
            assert handle.wait(TIMEOUT) == "completed"
    return {
        "seconds_until_all_wait": took,
        "resident_mb": at_rest / 1e6,
        "memory_bytes_per_run": (at_rest - memory) / runs,
        "memory_bytes_per_task": (at_rest - memory) / (runs * tasks),
        "disk_bytes_per_task": (on_disk - disk) / (runs * tasks),
    }


def resident() -> int:
    """Returns the bytes of memory that this process has."""
    return _status("VmRSS")


def _status(name: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * int(next(line for line in lines if line.startswith(name)).split()[1])


def _seconds(action: Callable[[], object]) -> float:
    began = time.perf_counter()
    action()
    return time.perf_counter() - began


MEASURES: dict[str, Callable[..., dict[str, float]]] = {
    "stored": stored,
    "steady": steady,
    "mapped": mapped,
    "in_flight": in_flight,
}

if __name__ == "__main__":
    measure, url, given = sys.argv[1:]
    print(json.dumps(MEASURES[measure](url, **json.loads(given))))
