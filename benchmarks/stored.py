"""Measures what stored runs cost: short bursts in turn on an empty database and on one that holds many runs.

python benchmarks/stored.py sqlite:///empty.db sqlite:///full.db --stored 100000
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Iterator

from engine import throughput
from workloads import single

from turnout import Runner
from turnout.model.names import new_run_id
from turnout.model.rows import HistoryRow, NewRun, RunRow, RunWrite, TaskRow
from turnout.model.states import RunState, TaskState
from turnout.store import connect

AT_ONCE = 1_000


def fill(url: str, runs: int) -> None:
    """Stores this many completed runs of one task, with their history."""
    store = connect(url)
    store.open()
    known = store.runs(limit=1)
    template = known[0].new if known else _template(url)
    for start in range(0, runs, AT_ONCE):
        store.commit([_ended(template) for _ in range(min(AT_ONCE, runs - start))])
    store.close()


def _template(url: str) -> NewRun:
    """Returns a stored run of the workload as a template, from one that is run here."""
    with Runner(url, workflows=[single], handle_sigterm=False) as runner:
        handle = runner.submit(single)
        assert handle.wait(60) == "completed"
        run = runner.core.reader.stored(handle.id)
    return run.new


def _ended(like: NewRun) -> RunWrite:
    run_id, now = new_run_id(), time.time()
    new = NewRun(run_id=run_id, workflow=like.workflow, version=like.version, input=like.input, created_at=now)
    task = TaskRow(
        pos=0,
        name="noop",
        state=TaskState.COMPLETED,
        attempt=1,
        executor="default",
        decision="the default executor",
        holder="somebody",
        output='{"ok":true}',
        dispatched_at=now,
        started_at=now,
        finished_at=now,
        seq=3,
    )
    return RunWrite(
        run_id=run_id,
        epoch=1,
        insert=new,
        run=RunRow(state=RunState.COMPLETED, started_at=now, finished_at=now),
        tasks=[task],
        history=list(_moves()),
    )


def _moves() -> Iterator[HistoryRow]:
    yield HistoryRow(0, -1, None, "running")
    yield HistoryRow(1, 0, "pending", "ready")
    yield HistoryRow(2, 0, "ready", "running", 1, '{"executor":"default","reason":"the default executor"}')
    yield HistoryRow(3, 0, "running", "completed", 1)
    yield HistoryRow(4, -1, "running", "completed")


def measure(empty: str, full: str, stored: int, rounds: int, runs: int) -> dict[str, object]:
    """The median burst on the full database as a share of the one on the empty one, interleaved."""
    fill(full, stored)
    seconds: dict[str, list[float]] = {empty: [], full: []}
    for number in range(rounds + 1):
        for url in (empty, full) if number % 2 else (full, empty):
            # Each burst with a Runner of its own: what it looks for when it starts is part of what is asked.
            started = time.perf_counter()
            with Runner(url, workflows=[single], handle_sigterm=False) as runner:
                throughput(runner, single, runs)
                took = time.perf_counter() - started
            if number:  # the first warms up
                seconds[url].append(took)
    of_empty, of_full = statistics.median(seconds[empty]), statistics.median(seconds[full])
    return {
        "benchmark": "stored",
        "store": full.partition(":")[0].replace("postgresql", "postgres"),
        "stored_runs": stored,
        "rounds": rounds,
        "runs_per_s_empty": round(runs / of_empty),
        "runs_per_s_full": round(runs / of_full),
        "ratio": round(of_empty / of_full, 3),
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("empty", help="URL of a database that nothing is stored in")
    parser.add_argument("full", help="URL of the one that is filled")
    parser.add_argument("--stored", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--runs", type=int, default=200, help="in one burst")
    options = parser.parse_args()
    print(json.dumps(measure(options.empty, options.full, options.stored, options.rounds, options.runs)), flush=True)
