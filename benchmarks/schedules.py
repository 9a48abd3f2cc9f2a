"""Measures what 10,000 schedules cost: the start, the CPU of an idle orchestrator, and the next due times.

    python benchmarks/schedules.py sqlite:///bench.db
    python benchmarks/schedules.py postgresql://…

Prints one JSON line. The database should be a new one: the first start stores all schedules, the second none.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from typing import Any

from turnout import Runner, Schedule, Workflow, task
from turnout.contracts.store import Store
from turnout.runner.schedule_views import next_fires
from turnout.store import connect

WORKFLOWS = 1_000
PER_WORKFLOW = 10
LOOKS = 50


@task
def nothing() -> None: ...


def workflows() -> list[Workflow[..., None]]:
    """Returns workflows whose schedules are due at all minutes of a day."""

    def body() -> None:
        nothing()

    def times(number: int) -> list[Schedule]:
        minutes = ((number * PER_WORKFLOW + each) * 7 % 1_440 for each in range(PER_WORKFLOW))
        return [Schedule(f"{each % 60} {each // 60} * * *", timezone="Europe/Rome") for each in minutes]

    return [Workflow.from_function(body, name=f"w{number}", schedule=times(number)) for number in range(WORKFLOWS)]


def started(url: str, flows: list[Workflow[..., None]]) -> tuple[Runner, float]:
    begin = time.perf_counter()
    runner = Runner(url, workflows=flows, schedules=True, config=False)
    return runner, time.perf_counter() - begin


def idle_share(seconds: float) -> float:
    """Returns the share of a core that this process uses while it waits."""
    cpu, wall = time.process_time(), time.perf_counter()
    time.sleep(seconds)
    return (time.process_time() - cpu) / (time.perf_counter() - wall)


def looks(store: Store, limit: int) -> list[float]:
    """Returns the milliseconds that each look at the next due times of all schedules takes."""
    taken: list[float] = []
    for _ in range(LOOKS):
        begin = time.perf_counter()
        assert len(next_fires(store, None, limit)) == limit
        taken.append((time.perf_counter() - begin) * 1_000)
    return taken


def measure(url: str, seconds: float) -> dict[str, Any]:
    flows = workflows()
    # Graphs are drawn when they are first needed; that is the cost of the workflows, not of their schedules.
    for flow in flows:
        flow.define()
    runner, first = started(url, flows)
    runner.close()
    with Runner(url, workflows=flows, config=False):
        share_without = idle_share(seconds / 2)
    runner, again = started(url, flows)
    with runner:
        time.sleep(2.0)
        share = idle_share(seconds)
        store = connect(url)
        store.open()
        found = looks(store, 20)
        count = len(store.schedules())
        store.close()
    return {
        "store": url.partition(":")[0],
        "schedules": count,
        "first_start_s": round(first, 2),
        "start_s": round(again, 2),
        "idle_cpu": round(share, 4),
        "idle_cpu_without_schedules": round(share_without, 4),
        "next_fires_p50_ms": round(statistics.median(found), 1),
        "next_fires_max_ms": round(max(found), 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url")
    parser.add_argument("--seconds", type=float, default=10.0, help="how long the orchestrator is watched")
    given = parser.parse_args()
    print(json.dumps(measure(given.url, given.seconds)))


if __name__ == "__main__":
    main()
