"""Measures the engine as a plain queue: runs of one task are stored first, then driven by one and by two processes.

``python benchmarks/plain_queue.py postgresql://…`` prints one JSON line for each number of processes. Time counts from
the moment at which the processes, which have had a Runner open before, may open one and claim runs, until the last run
has ended. So the figures compare with those of queues whose workers are idle and whose jobs are there when the clock
starts. ``submitted_per_s`` is the rate at which one process without an engine of its own stored the runs.
``drivers_us`` and ``postgres_us`` are the CPU of a run in the driving processes and in PostgreSQL.
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

import cpu
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
        clocks = {
            "drivers_us": cpu.of_processes([driver.pid for driver in drivers]),
            "postgres_us": cpu.of_postgres(url),
        }
        spent = cpu.Spent(clocks)
        spent.begin()
        started = time.perf_counter()
        _say(drivers)
        seconds = _until_all_ended(url, started)
        used = spent.end()
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
        **{name: round(seconds_used / runs * 1e6, 1) for name, seconds_used in used.items()},
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


OPEN = "state in ('pending', 'running', 'paused', 'cancelling')"
LAST = "select id from run order by submitted_at desc, id desc limit 1"
ANY_OPEN = f"select exists (select 1 from run where {OPEN})"


def _until_all_ended(url: str, started: float) -> float:
    """Returns the seconds until no run is open.

    Runs are claimed in the order of their submission, so as long as the last one is open nothing else is looked at: a
    look for any open run passes those that have ended, which would take a tenth of the database's time."""
    with closing(_connected(url)) as connection:
        last = connection.execute(LAST).fetchone()[0]
        for look in (f"select exists (select 1 from run where id = '{last}' and {OPEN})", ANY_OPEN):
            while connection.execute(look).fetchone()[0]:
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
