"""Measures the engine as a plain queue: runs of one task are stored first, then driven by one and by two processes.

``python benchmarks/plain_queue.py postgresql://…`` prints one JSON line for each number of processes. Time counts from
the moment at which the processes, which have had a Runner open before, may open one and claim runs, until the last run
has ended. So the figures compare with those of queues whose workers are idle and whose jobs are there when the clock
starts. ``submitted_per_s`` is the rate at which one process without an engine of its own stored the runs.
"""

from __future__ import annotations

import argparse
import json
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
from workloads import single

from turnout import Runner

RUNS, BATCH = 20_000, 1_000
TIMEOUT = 300.0


def drive(url: str) -> None:
    """Drives runs from the first line on standard input until the second."""
    with Runner(url, workflows=[single], handle_sigterm=False):
        print("ready", flush=True)
    sys.stdin.readline()
    with Runner(url, workflows=[single], handle_sigterm=False):
        sys.stdin.readline()


def measure(url: str, processes: int, runs: int = RUNS) -> dict[str, object]:
    command = [sys.executable, str(Path(__file__).resolve()), url, "--drive"]
    drivers = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(processes)
    ]
    try:
        for driver in drivers:
            assert driver.stdout is not None and driver.stdout.readline() == "ready\n"
        submitted = _store(url, runs)
        started = time.perf_counter()
        _say(drivers)
        seconds = _until_all_ended(url, started)
        _say(drivers)
        for driver in drivers:
            driver.wait(30)
    finally:
        for driver in drivers:
            driver.kill()
    return {
        "engine": "turnout",
        "store": url.partition(":")[0].replace("postgresql", "postgres"),
        "workload": f"W5x{processes}",
        "runs": runs,
        "runs_per_s": round(runs / seconds),
        "submitted_per_s": round(submitted),
        "seconds": round(seconds, 3),
    }


def _store(url: str, runs: int) -> float:
    """Stores runs that no orchestrator owns. Returns how many a second."""
    with Runner(url, drives=False, workflows=[single], handle_sigterm=False) as runner:
        started = time.perf_counter()
        for _ in range(0, runs, BATCH):
            runner.submit_many(single, [{}] * BATCH)
        return runs / (time.perf_counter() - started)


def _say(drivers: list[subprocess.Popen[str]]) -> None:
    for driver in drivers:
        assert driver.stdin is not None
        driver.stdin.write("\n")
        driver.stdin.flush()


ANY_OPEN = """select exists (select 1 from run where owner is not null)
    or exists (select 1 from run where owner is null and state in ('pending', 'running', 'paused', 'cancelling'))"""
"""A look into the indexes of open runs. A count of all of them would take a third of the database's time."""


def _until_all_ended(url: str, started: float) -> float:
    """Returns the seconds until no run is open."""
    with closing(_connected(url)) as connection:
        while connection.execute(ANY_OPEN).fetchone()[0]:
            assert time.perf_counter() - started < TIMEOUT, "the runs do not end"
            time.sleep(0.01)
        return time.perf_counter() - started


def _connected(url: str) -> Any:
    if url.startswith("sqlite"):
        return sqlite3.connect(url.removeprefix("sqlite:///"))
    return psycopg.connect(url, autocommit=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url")
    parser.add_argument("--drive", action="store_true", help="be one of the processes that drive runs")
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--processes", type=int, nargs="*", default=[1, 2])
    options = parser.parse_args()
    if options.drive:
        drive(options.url)
    else:
        for count in options.processes:
            print(json.dumps(measure(options.url, count, options.runs)), flush=True)
