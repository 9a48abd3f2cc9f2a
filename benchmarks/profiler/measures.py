"""Runs one workload on one store, four times, and divides what it cost by its steps."""

from __future__ import annotations

import statistics
import time
from typing import Any, NamedTuple

from cpu import of_postgres
from workloads import chain, diamond, fan, single

from profiler.process import ProcessCounters, Reading, Statements, difference, memory_at_peak, statements
from profiler.samples import SamplerFailed, sampled
from profiler.server import EXTENSION, ServerCounters
from turnout import Runner

TOP, TOP_INCLUSIVE = 10, 20
"""Statements, and functions of a kind of thread by own time, that are listed; functions with all that they call."""


class Workload(NamedTuple):
    workflow: Any
    runs: int
    steps: int
    """Of one run."""
    at_once: bool = True
    """False: each run is submitted when the one before has ended."""


WORKLOADS = {
    "W1": Workload(chain, 100, 10),
    "W1x1000": Workload(chain, 1_000, 10),
    "W2": Workload(fan, 1, 502),
    "W3": Workload(single, 100, 1, at_once=False),
    "W4": Workload(diamond, 1_000, 4),
    "W5": Workload(single, 5_000, 1),
}


class Rounds:
    """Runs a workload again and again, and keeps how long it took: a round, or a run if they are not at once."""

    def __init__(self, runner: Runner, workload: Workload) -> None:
        self._runner = runner
        self._workload = workload
        self.steps = 0
        self.seconds: list[float] = []

    def one(self) -> None:
        workload = self._workload
        batches = [workload.runs] if workload.at_once else [1] * workload.runs
        for runs in batches:
            began = time.perf_counter()
            for handle in self._runner.submit_many(workload.workflow, [{}] * runs):
                assert handle.wait(300) == "completed"
            self.seconds.append(time.perf_counter() - began)
        self.steps += workload.runs * workload.steps

    def last(self, seconds: float) -> None:
        """Repeats the workload for this long, twice at least."""
        self.steps, self.seconds = 0, []
        until = time.perf_counter() + seconds
        while time.perf_counter() < until or self.steps <= self._workload.runs * self._workload.steps:
            self.one()

    def rate(self) -> Reading:
        middle = statistics.median(self.seconds)
        if self._workload.at_once:
            return {"per_second": self._workload.runs * self._workload.steps / middle}
        return {"p50_ms": 1000 * middle, "p99_ms": 1000 * sorted(self.seconds)[int(0.99 * (len(self.seconds) - 1))]}


def profile(url: str, name: str, seconds: int) -> dict[str, Any]:
    """Returns all measures of one workload, per step."""
    workload = WORKLOADS[name]
    with Runner(url, workflows=[workload.workflow], handle_sigterm=False) as runner:
        rounds = Rounds(runner, workload)
        server = ServerCounters(url, runner) if url.startswith("postgres") else None
        rounds.last(1)
        found = _counted(url, runner, rounds, server, seconds)
        with statements() as counted:
            rounds.last(1)
        found["measures"]["bytes_carried"] = counted.bytes_carried / rounds.steps
        if server is None:
            found["measures"]["bound_values"] = counted.bound_values / rounds.steps
            found["statements"] = _sqlite_statements(counted, rounds.steps)
        rounds.steps = 0
        peak = memory_at_peak(rounds.one)
        at_once = rounds.steps if workload.at_once else workload.steps
        found["measures"] |= {each: value / at_once for each, value in peak.items()}
        try:
            found |= _sampled(rounds, seconds, found["measures"])
        except SamplerFailed as error:
            found["notes"].append(str(error))
        if server is not None:
            server.close()
    return found


def _counted(url: str, runner: Runner, rounds: Rounds, server: ServerCounters | None, seconds: int) -> dict[str, Any]:
    """Runs the workload as it is. Returns what the counters of this process and of the server say."""
    process, server_cpu = ProcessCounters(runner), of_postgres(url)
    of_server = server.begin() if server else {}
    cpu = server_cpu() if server_cpu else 0.0
    of_process = process.read()
    rounds.last(seconds)
    total = difference(of_process, process.read())
    process.close()
    if server_cpu:
        total["server_cpu_us"] = 1e6 * (server_cpu() - cpu)
    if server:
        total |= difference(of_server, server.read())
    measures = {name: value / rounds.steps for name, value in total.items()}
    known = sum(value for name, value in measures.items() if name.startswith("cpu_us_") and name != "cpu_us_others")
    measures["cpu_us_others"] = max(0.0, measures["cpu_us"] - known)
    for table in ("", "_run", "_task"):
        if updated := total.get(f"rows_updated{table}"):
            measures[f"hot_percent{table}"] = 100 * total[f"rows_hot{table}"] / updated
    if total.get("wal_syncs"):
        measures["sync_us"] = total["wal_sync_us"] / total["wal_syncs"]
    notes = [] if server is None or server.counts_statements else [f"{EXTENSION} is not there: no time by statement"]
    listed = server.statements() if server else []
    return {
        "steps": rounds.steps,
        "measures": rounds.rate() | measures,
        "statements": [
            {
                "name": each.name,
                "calls": each.calls / rounds.steps,
                "rows": each.rows / rounds.steps,
                "us": (each.planning_us + each.execution_us) / rounds.steps,
                "planning_us": each.planning_us / rounds.steps,
                "wal_bytes": each.wal_bytes / rounds.steps,
                "full_page_images": each.full_page_images / rounds.steps,
            }
            for each in listed[:TOP]
        ],
        "notes": notes,
    }


def _sqlite_statements(counted: Statements, steps: int) -> list[dict[str, Any]]:
    """Returns the statements of the ledger, and what of a commit is outside of them."""
    spent = dict(counted.seconds)
    commit, write = spent.pop("_commit", 0.0), spent.pop("_write", 0.0)
    calls = counted.calls["_commit"]
    rows: list[dict[str, Any]] = [
        {"name": name, "calls": counted.calls[name], "rows": counted.rows[name], "us": 1e6 * seconds}
        for name, seconds in spent.items()
    ]
    rows.append({"name": "begin, commit with fsync", "calls": calls, "us": 1e6 * (commit - write)})
    rows.append({"name": "rows made from writes", "calls": calls, "us": 1e6 * (write - sum(spent.values()))})
    for row in rows:
        row.update({key: value / steps for key, value in row.items() if key != "name"})
    return sorted(rows, key=lambda row: -row["us"])


def _sampled(rounds: Rounds, seconds: int, measures: Reading) -> dict[str, Any]:
    """Samples the workload. Returns the functions of each kind of thread that take longest.

    The CPU of a kind of thread is divided among its functions by their samples."""
    on_core = sampled(rounds.one, seconds, gil=False)
    holding = sampled(rounds.one, seconds, gil=True)
    for kind in holding.own:
        measures[f"gil_percent_{kind}"] = holding.share(kind)
    measures["gil_percent"] = sum(map(holding.share, holding.own))
    functions: dict[str, Any] = {}
    for kind, own in on_core.own.items():
        cpu = measures.get(f"cpu_us_{kind}", 0.0) / own.total()
        functions[kind] = {
            "own": [
                {"function": name, "us": count * cpu, "gil_percent": 100 * holding.own[kind][name] / holding.ticks}
                for name, count in own.most_common(TOP)
            ],
            "inclusive": [
                {
                    "function": name,
                    "us": count * cpu,
                    "gil_percent": 100 * holding.inclusive[kind][name] / holding.ticks,
                }
                for name, count in on_core.inclusive[kind].most_common(TOP_INCLUSIVE)
            ],
        }
    return {"functions": functions}
