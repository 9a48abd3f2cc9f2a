"""Measures 1, 2 and 4 orchestrators on one PostgreSQL: throughput, fairness, claims and CPU. One JSON line for each
workload and number of orchestrators.

python benchmarks/orchestrators.py                        # everything (``make orchestrators``)
python benchmarks/orchestrators.py "200 ms" --rounds 1    # one of: 200 ms, 20 ms, burst, empty
python benchmarks/orchestrators.py --plot FILE.svg        # and the picture, with the knee of each workload

Runs are submitted by a process that drives none, and claimed by all orchestrators. Each orchestrator is a process of
its own with eight slots.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import psycopg
from cpu import Spent, of_postgres, of_processes
from plain_queue import ANY_OPEN
from plot import Chart, Line, Panel, stretches
from profile_engine import database_of, server_of
from profiler.server import ServerCounters
from workloads import chain, paused

from tests.postgres import NoPostgres
from turnout import Runner
from turnout.executors.thread import ThreadExecutor

COUNTS = (1, 2, 4)
SLOTS = 8
OVERLOAD = 1.25
"""Submitted tasks per task that all slots together get through."""
INTERVAL = 0.05
WARM_UP, WINDOW = 3.0, 8.0
BURST = 8.0
"""Seconds for which all slots are busy with the runs of a burst."""
CHAINS = 500
"""Runs of ten steps for each orchestrator."""
TIMEOUT = 120.0
MIN_SHARE_OF_LINEAR, MAX_CPU_RATIO = 0.8, 1.25
CLAIM, LOOK = "claimable_runs", "any_claimable"
"""Statements that claim runs, and that look whether there are any."""


def drive(url: str) -> None:
    """Drives runs until standard input is closed."""
    executors = {"default": ThreadExecutor(threads=SLOTS)}
    with Runner(url, workflows=[chain, paused], executors=executors, handle_sigterm=False) as runner:
        ServerCounters(url, runner).close()  # names the statements
        print("ready", flush=True)
        sys.stdin.read()


@contextmanager
def orchestrators(url: str, count: int) -> Iterator[list[int]]:
    """Yields the process ids of orchestrators."""
    command = [sys.executable, str(Path(__file__).resolve()), "--drive", url]
    pipe = subprocess.PIPE
    drivers = [subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) for _ in range(count)]
    try:
        for driver in drivers:
            assert driver.stdout is not None and driver.stdout.readline() == "ready\n"
        yield [driver.pid for driver in drivers]
        for driver in drivers:
            assert driver.stdin is not None
            driver.stdin.close()
        for driver in drivers:
            driver.wait(60)
    finally:
        for driver in drivers:
            driver.kill()


class Watch:
    """Counts notifications, and connections that wait for a lock."""

    def __init__(self, url: str) -> None:
        self._connection = psycopg.connect(url, autocommit=True)
        self._connection.execute("listen turnout")
        self.begin()

    def begin(self) -> None:
        self.notifications: Counter[str] = Counter()
        self._lock_waits: Counter[str] = Counter()
        self._looks = 0

    def wait(self) -> None:
        """Waits for an interval."""
        self.notifications.update(note.payload for note in self._connection.notifies(timeout=INTERVAL))
        waiting = "select wait_event from pg_stat_activity where wait_event_type = 'Lock'"
        self._lock_waits.update(row[0] for row in self._connection.execute(waiting))
        self._looks += 1

    def one(self, query: str, *params: object) -> Any:
        row = self._connection.execute(query.encode(), params).fetchone()
        return row and row[0]

    def shares(self, since: float, until: float) -> list[int]:
        """Returns the tasks of each process that ended between these times."""
        query = "select count(*) from task where finished_at between %s and %s group by output"
        return [row[0] for row in self._connection.execute(query, (since, until))]

    def read(self, server: ServerCounters, runs: int, seconds: float) -> dict[str, Any]:
        """Returns what was counted since ``begin``, per run and per second."""
        calls: Counter[str] = Counter()
        for statement in server.statements():
            calls[statement.name] += statement.calls
        return {
            "owners_per_run": round(float(self.one("select avg(epoch) from run where epoch > 0") or 0), 2),
            "claims_per_run": round(calls[CLAIM] / runs, 3),
            "looks_for_claims_per_run": round(calls[LOOK] / runs, 3),
            "claims_per_s": round(calls[CLAIM] / seconds, 1),
            "looks_for_claims_per_s": round(calls[LOOK] / seconds, 1),
            "statements_per_run": round(calls.total() / runs, 2),
            "notifications_per_run": round(self.notifications.total() / runs, 2),
            "notifications_per_s": {topic: round(n / seconds, 1) for topic, n in sorted(self.notifications.items())},
            "waiting_for_locks": {kind: round(n / self._looks, 2) for kind, n in sorted(self._lock_waits.items())},
        }


class Bench(NamedTuple):
    """One database with its orchestrators, a client that submits, and what counts."""

    client: Runner
    watch: Watch
    server: ServerCounters
    spent: Spent
    count: int

    def begin(self) -> None:
        self.watch.begin()
        self.server.begin()
        self.spent.begin()


def steady(bench: Bench, body: float) -> dict[str, Any]:
    """Submits more than all slots get through, for some seconds, and counts what ends in a window of them."""
    rate = OVERLOAD * bench.count * SLOTS / body
    started, submitted, began = time.time(), 0, 0.0
    while (now := time.time()) < started + WARM_UP + WINDOW:
        if not began and now >= started + WARM_UP:
            began = now
            bench.begin()
        if due := int(rate * (now - started)) - submitted:
            bench.client.submit_many(paused, [{"seconds": body}] * due)
            submitted += due
        bench.watch.wait()
    return _line(bench, body, began, now)


def burst(bench: Bench, body: float = 0.2) -> dict[str, Any]:
    """Submits at once what keeps all slots busy for some seconds, and waits for the end."""
    bench.begin()
    began = time.time()
    bench.client.submit_many(paused, [{"seconds": body}] * int(BURST * bench.count * SLOTS / body))
    _until_ended(bench.watch)
    return _line(bench, body, began, time.time())


def empty(bench: Bench) -> dict[str, Any]:
    """Drives chains of ten empty bodies."""
    bench.client.submit_many(chain, [{}] * 100)
    _until_ended(bench.watch)
    bench.begin()
    began = time.time()
    runs = CHAINS * bench.count
    bench.client.submit_many(chain, [{}] * runs)
    _until_ended(bench.watch)
    spent, steps = bench.spent.end(), runs * 10
    seconds = time.time() - began
    return {
        "steps_per_s": round(steps / seconds),
        **{f"{part}_cpu_us_per_step": round(1e6 * cpu / steps, 1) for part, cpu in spent.items()},
        "cpu_us_per_step": round(1e6 * sum(spent.values()) / steps, 1),
        **bench.watch.read(bench.server, runs, seconds),
    }


def _until_ended(watch: Watch) -> None:
    until = time.monotonic() + TIMEOUT
    while watch.one(ANY_OPEN):
        assert time.monotonic() < until, "the runs do not end"
        watch.wait()


def _line(bench: Bench, body: float, began: float, ended: float) -> dict[str, Any]:
    spent, shares, seconds = bench.spent.end(), bench.watch.shares(began, ended), ended - began
    shares += [0] * (bench.count - len(shares))
    done = sum(shares)
    return {
        "tasks_per_s": round(done / seconds, 1),
        "of_slots": round(done / seconds * body / SLOTS / bench.count, 2),
        "fairness": round(min(shares) / max(shares), 2),
        **{f"{part}_cpu_us_per_task": round(1e6 * cpu / done) for part, cpu in spent.items()},
        **bench.watch.read(bench.server, done, seconds),
    }


WORKLOADS: dict[str, Callable[[Bench], dict[str, Any]]] = {
    "200 ms": lambda bench: steady(bench, 0.2),
    "20 ms": lambda bench: steady(bench, 0.02),
    "burst": burst,
    "empty": empty,
}


def measured(workload: str, server: Any, count: int) -> dict[str, Any]:
    """Measures one workload on a database of its own."""
    load = os.getloadavg()[0]
    with (
        database_of(server) as url,
        Runner(url, drives=False, workflows=[chain, paused], handle_sigterm=False) as client,
    ):
        counters, watch = ServerCounters(url, client), Watch(url)
        with orchestrators(url, count) as pids:
            spent = Spent({"orchestrators": of_processes(pids), "postgres": of_postgres(url)})
            found = WORKLOADS[workload](Bench(client, watch, counters, spent, count))
        counters.close()
    return {**found, "load_average": round(load, 1)}


def measure(workload: str, server: Any, rounds: int) -> list[dict[str, Any]]:
    """Takes every count once per round. Ratios to one orchestrator are medians of those within a round."""
    figure = "cpu_us_per_step" if workload == "empty" else "tasks_per_s"
    found = [{count: measured(workload, server, count) for count in COUNTS} for _ in range(rounds)]
    lines: list[dict[str, Any]] = []
    for count in COUNTS:
        ratio = statistics.median(each[count][figure] / each[1][figure] for each in found)
        middle = sorted((each[count] for each in found), key=lambda line: line[figure])[rounds // 2]
        bar = {"times_one": round(ratio, 2), "bar": MAX_CPU_RATIO}
        if workload != "empty":
            bar = {"of_linear": round(ratio / count, 2), "bar": MIN_SHARE_OF_LINEAR}
        lines.append({"workload": workload, "orchestrators": count, **bar, **middle, "rounds": rounds})
        print(json.dumps({"engine": "turnout", "store": "postgres", **lines[-1]}), flush=True)
    return lines


def picture(found: dict[str, list[dict[str, Any]]]) -> Chart:
    """Draws throughput beside the linear line, and CPU per step. A band begins at the knee of its workload: the last
    number of orchestrators before one that misses its bar."""
    panels: list[Panel] = []
    for workload, lines in found.items():
        counts = [float(line["orchestrators"]) for line in lines]
        if workload == "empty":
            parts = ("orchestrators", "postgres")
            drawn = [Line(part, _points(lines, f"{part}_cpu_us_per_step"), marked=True) for part in parts]
            missed = [line["times_one"] > MAX_CPU_RATIO for line in lines]
            label, name = "CPU a step, µs", f"above {MAX_CPU_RATIO:g} × one"
        else:
            one = lines[0]["tasks_per_s"]
            linear = Line("linear", [(count, one * count) for count in counts])
            drawn = [Line("measured", _points(lines, "tasks_per_s"), marked=True), linear]
            missed = [line["of_linear"] < MIN_SHARE_OF_LINEAR for line in lines]
            label, name = f"{workload}, tasks/s", f"below {MIN_SHARE_OF_LINEAR:g} of linear"
        panels.append(Panel(label, drawn, bands=stretches(list(zip(counts, missed, strict=True)), name)))
    title = f"Orchestrators on one PostgreSQL, {SLOTS} slots each"
    return Chart(title, "orchestrators", panels, ticks=[float(count) for count in COUNTS])


def _points(lines: list[dict[str, Any]], figure: str) -> list[tuple[float, float]]:
    return [(float(line["orchestrators"]), line[figure]) for line in lines]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workloads", nargs="*", metavar="WORKLOAD", help=f"of {', '.join(WORKLOADS)}; all if none")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--plot", type=Path, help="the file for the picture")
    parser.add_argument("--drive", metavar="URL", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.drive:
        return drive(options.drive)
    wanted = options.workloads or list(WORKLOADS)
    if unknown := set(wanted) - WORKLOADS.keys():
        parser.error(f"{', '.join(sorted(unknown))}: there are {', '.join(WORKLOADS)}")
    try:
        with server_of("postgres") as server:
            found = {workload: measure(workload, server, options.rounds) for workload in wanted}
    except NoPostgres as error:
        sys.exit(str(error))
    if options.plot:
        options.plot.write_text(picture(found).svg())


if __name__ == "__main__":
    main()
