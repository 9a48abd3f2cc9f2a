"""Measures what growth costs: stored runs, retention beside a load, one run of many mapped items, many runs in flight.

    python benchmarks/growth.py                                   # everything on both stores (``make growth``)
    python benchmarks/growth.py stored postgres --stored 1000000  # one measurement, one store
    python benchmarks/growth.py retention mapped in_flight sqlite

One JSON line per measurement. Each database is measured by a process of its own (``growth_measures.py``), in rounds
that take all databases, or cases, one after the other. Ratios are taken within a round; their median is printed.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import psycopg  # noqa: E402
from stored_runs import TABLES, fill, size  # noqa: E402

from tests.postgres import NoPostgres, OwnServer  # noqa: E402

STORES = ("sqlite", "postgres")
CHILD_TIMEOUT = 600
NAPTIME = "-c autovacuum_naptime=2s"
"""Autovacuum looks this often instead of once a minute, so that it falls into every round."""
Reading = dict[str, float]


class Databases:
    """Makes databases of one store until it is left."""

    def __init__(self, store: str, server: OwnServer | None, stack: ExitStack) -> None:
        self.store = store
        self._server = server
        self._stack = stack

    def new(self) -> str:
        if self._server is not None:
            return self._stack.enter_context(self._server.database())
        folder = self._stack.enter_context(tempfile.TemporaryDirectory(prefix="turnout-growth-"))
        return f"sqlite:///{folder}/growth.db"


@contextmanager
def databases(store: str) -> Iterator[Databases]:
    with ExitStack() as stack:
        server = None
        if store == "postgres":
            server = OwnServer()
            stack.callback(server.destroy)
            server.stop()
            server.start(NAPTIME)
        yield Databases(store, server, stack)


def measure(what: str, url: str, **given: object) -> Reading:
    """Returns what one process measured on one database."""
    command = [sys.executable, str(ROOT / "benchmarks" / "growth_measures.py"), what, url, json.dumps(given)]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, timeout=CHILD_TIMEOUT).stdout)


def in_rounds(rounds: int, cases: Mapping[str, Any]) -> dict[str, list[Reading]]:
    """Takes each case once per round, in another order each time; a case is a function without arguments."""
    found: dict[str, list[Reading]] = {name: [] for name in cases}
    order = list(cases)
    for _ in range(rounds):
        for name in order:
            found[name].append(cases[name]())
        order = order[1:] + order[:1]
    return found


def summary(readings: Sequence[Reading], beside: Sequence[Reading] | None = None) -> dict[str, Any]:
    """Returns the median of each figure; with readings of the same rounds ``beside``, also the median ratio to them."""
    line: dict[str, Any] = {name: _short(_median(readings, name)) for name in readings[0]}
    if beside is not None:
        pairs = list(zip(readings, beside, strict=True))
        for name in readings[0]:
            ratios = [one[name] / other[name] for one, other in pairs if other[name]]
            line[f"{name}_ratio"] = round(statistics.median(ratios), 3) if ratios else None
    return line


def stored(made: Databases, options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Yields figures at each number of stored runs, with their ratio to those of the database that began empty."""
    urls: dict[str, str] = {}
    filled: dict[str, dict[str, Any]] = {}
    for runs in sorted({0, *options.stored}):
        urls[str(runs)] = url = made.new()
        fill(url, 0)
        empty, began = size(url), time.perf_counter()
        fill(url, runs)
        filled[str(runs)] = {"stored_runs": runs, "fill_seconds": round(time.perf_counter() - began, 1)}
        if runs:
            filled[str(runs)]["disk_bytes_per_run"] = round((size(url) - empty) / runs)
    given = {"runs": options.runs, "samples": options.samples}
    found = in_rounds(options.rounds, {name: _measured("stored", url, given) for name, url in urls.items()})
    for name, readings in found.items():
        yield {**filled[name], "rounds": options.rounds, **summary(readings, None if name == "0" else found["0"])}


def retention(made: Databases, options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Yields the throughput of a steady load without retention, with it, and without autovacuum.

    ``steady``: runs are deleted two seconds after their end, as many as are made. ``backlog``: runs that were stored
    before are deleted as fast as the pruner goes."""
    urls = {name: made.new() for name in ("none", "steady", "backlog")}
    fill(urls["backlog"], options.backlog)
    ages = {"none": None, "steady": 2.0, "backlog": 60.0}
    if made.store == "postgres":
        urls["no_autovacuum"], ages["no_autovacuum"] = made.new(), None
        _stop_autovacuum(urls["no_autovacuum"])
    cases = {
        name: _measured("steady", url, {"seconds": options.seconds, "older_than": ages[name]})
        for name, url in urls.items()
    }
    found = in_rounds(options.rounds, cases)
    for name, readings in found.items():
        line = summary(readings, None if name == "none" else found["none"])
        yield {"retention": name, "rounds": options.rounds, "seconds": options.seconds, **line}


def mapped(made: Databases, options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    yield {"items": options.items, **summary([measure("mapped", made.new(), length=options.items)])}


def in_flight(made: Databases, options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    for tasks in (1, 10):
        found = measure("in_flight", made.new(), runs=options.in_flight, tasks=tasks)
        yield {"runs": options.in_flight, "tasks_per_run": tasks, **summary([found])}


MEASUREMENTS = {"stored": stored, "retention": retention, "mapped": mapped, "in_flight": in_flight}


def _measured(what: str, url: str, given: Mapping[str, object]) -> Any:
    return lambda: measure(what, url, **given)


def _stop_autovacuum(url: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        for table in TABLES:
            connection.execute(f"alter table {table} set (autovacuum_enabled = false)".encode())


def _median(readings: Sequence[Reading], name: str) -> float:
    return statistics.median(reading[name] for reading in readings)


def _short(value: float) -> float:
    return round(value) if value >= 100 else round(value, 2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("chosen", nargs="*", help=f"of {', '.join((*STORES, *MEASUREMENTS))}; default: all")
    parser.add_argument("--stored", type=int, nargs="*", default=[100_000, 1_000_000], help="numbers of stored runs")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--runs", type=int, default=1_000, help="runs of W1 at once")
    parser.add_argument("--samples", type=int, default=300, help="runs of W3, one after the other")
    parser.add_argument("--seconds", type=float, default=8.0, help="length of the load beside retention")
    parser.add_argument("--backlog", type=int, default=300_000, help="stored runs that retention deletes")
    parser.add_argument("--items", type=int, default=100_000, help="items of the mapped task")
    parser.add_argument("--in-flight", type=int, default=10_000, help="runs in flight")
    options = parser.parse_args()
    if unknown := set(options.chosen) - {*STORES, *MEASUREMENTS}:
        parser.error(f"neither a store nor a measurement: {', '.join(sorted(unknown))}")
    for store in [each for each in STORES if each in options.chosen] or STORES:
        for name in [each for each in MEASUREMENTS if each in options.chosen] or MEASUREMENTS:
            try:
                with databases(store) as made:
                    for line in MEASUREMENTS[name](made, options):
                        print(json.dumps({"benchmark": name, "store": store, **line}), flush=True)
            except NoPostgres as error:
                print(error, file=sys.stderr)
                break


if __name__ == "__main__":
    main()
