"""Holds the workloads of the benchmarks: no-op tasks, so that the engine is what is measured, and one that sleeps."""

from __future__ import annotations

import os
import time

from turnout import task, workflow


@task
def noop(i: object = None) -> dict[str, object]:
    return {"ok": True}


@workflow(name="bench_chain")
def chain() -> object:
    """W1: ten steps, one after the other."""
    value = noop(0)
    for _ in range(9):
        value = noop(value)
    return value


@workflow(name="bench_fan")
def fan() -> object:
    """W2: 1 → 500 → 1."""
    first = noop(0)
    return noop([noop(first) for _ in range(500)])


@task
def five_hundred(i: object = None) -> list[int]:
    return list(range(500))


@workflow(name="bench_fan_mapped")
def fan_mapped() -> object:
    """W2map: 1 → 500 → 1, the 500 found at run time."""
    return noop(noop.map(five_hundred(0)))


@workflow(name="bench_single")
def single() -> object:
    """W3 and W5: one task."""
    return noop(0)


@workflow(name="bench_diamond")
def diamond() -> object:
    """W4: 1 → 2 → 1."""
    first = noop(0)
    return noop([noop(first), noop(first)])


@task
def pause(seconds: float) -> int:
    """Holds a slot. Returns the id of the process that ran the body."""
    time.sleep(seconds)
    return os.getpid()


@workflow(name="bench_paused")
def paused(seconds: float) -> int:
    """One task that sleeps."""
    return pause(seconds)
