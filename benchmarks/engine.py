"""Measures the throughput of the engine: runs W1 to W5 on one store and prints one JSON line for each.

python benchmarks/engine.py sqlite:///bench.db W1 W3
python benchmarks/engine.py postgresql://… --profile W1
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from typing import Any

from cpu import of_postgres
from workloads import chain, diamond, fan, fan_mapped, single

from turnout import Runner

MIN_SECONDS = 1.0
STEPS = {"W1": 1_000, "W1x1000": 10_000}
"""Steps of a round, of the workloads that show what a step costs PostgreSQL."""


def throughput(runner: Runner, workflow: Any, runs: int) -> float:
    """Seconds from the first submission to the last run seen completed."""
    started = time.perf_counter()
    handles = runner.submit_many(workflow, [{}] * runs)
    for handle in handles:
        assert handle.wait(300) == "completed"
    return time.perf_counter() - started


def w1(runner: Runner, runs: int) -> dict[str, Any]:
    cpu = time.process_time()
    seconds = throughput(runner, chain, runs)
    cpu = time.process_time() - cpu
    return {
        "runs": runs,
        "steps_per_s": round(runs * 10 / seconds),
        "seconds": round(seconds, 3),
        "cpu_us_per_step": round(cpu / runs * 1e5, 1),
    }


def w2(runner: Runner, workflow: Any) -> dict[str, Any]:
    seconds = throughput(runner, workflow, 1)
    return {"runs": 1, "steps_per_s": round(502 / seconds), "seconds": round(seconds, 3)}


def w3(runner: Runner) -> dict[str, Any]:
    times: list[float] = []
    for _ in range(100):
        started = time.perf_counter()
        runner.submit(single).wait(30)
        times.append(1000 * (time.perf_counter() - started))
    return {"p50_ms": round(statistics.median(times), 2), "p99_ms": round(sorted(times)[98], 2)}


def w4(runner: Runner) -> dict[str, Any]:
    seconds = throughput(runner, diamond, 1_000)
    return {"runs": 1_000, "runs_per_s": round(1_000 / seconds), "seconds": round(seconds, 3)}


def w5(runner: Runner) -> dict[str, Any]:
    seconds = throughput(runner, single, 5_000)
    return {"runs": 5_000, "runs_per_s": round(5_000 / seconds), "seconds": round(seconds, 3)}


WORKLOADS: dict[str, Callable[[Runner], dict[str, Any]]] = {
    "W1": lambda runner: w1(runner, 100),
    "W1x1000": lambda runner: w1(runner, 1_000),
    "W2": lambda runner: w2(runner, fan),
    "W2map": lambda runner: w2(runner, fan_mapped),
    "W3": w3,
    "W4": w4,
    "W5": w5,
}


def measure(url: str, names: list[str], rounds: int = 3) -> list[dict[str, Any]]:
    """The median round of each workload, on a warm engine. One that takes less than ``MIN_SECONDS`` is repeated for so
    long: a round of W1 or W2 is over in a twentieth of a second."""
    lines: list[dict[str, Any]] = []
    with Runner(url, workflows=[chain, fan, fan_mapped, single, diamond], handle_sigterm=False) as runner:
        throughput(runner, chain, 50)
        for name in names:
            clock = of_postgres(url) if name in STEPS else None
            spent = clock() if clock is not None else 0.0
            results = [WORKLOADS[name](runner)]
            started = time.perf_counter()
            while len(results) < rounds or time.perf_counter() - started < MIN_SECONDS:
                results.append(WORKLOADS[name](runner))
            if clock is not None:
                each = (clock() - spent) / len(results) / STEPS[name]
                results = [{**one, "postgres_cpu_us_per_step": round(each * 1e6, 1)} for one in results]
            results.sort(key=lambda one: one.get("seconds", one.get("p50_ms")))
            store = url.partition(":")[0].replace("postgresql", "postgres")
            lines.append({"engine": "turnout", "store": store, "workload": name, **results[len(results) // 2]})
            print(json.dumps(lines[-1]), flush=True)
    return lines


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url")
    parser.add_argument("workloads", nargs="*", help=f"of {', '.join(WORKLOADS)}; all if none is given")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    measure(options.url, options.workloads or list(WORKLOADS), options.rounds)
