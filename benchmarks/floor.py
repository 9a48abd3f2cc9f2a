"""Measures how fast the rows of W1 (fences, checks and history included) are written, prebuilt, with no engine.

``python benchmarks/floor.py sqlite:///floor.db`` or ``… postgresql://…`` prints one JSON line.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator

from turnout.model.names import new_run_id
from turnout.model.rows import HistoryRow, NewRun, RunRow, RunWrite, TaskRow
from turnout.model.states import RunState, TaskState
from turnout.store import connect

BATCH = 500
SESSION = "0" * 32
DECISION = "default executor"
DETAIL = '{"executor":"default","reason":"default executor"}'


def floor(url: str, runs: int = 1000, steps: int = 10) -> float:
    """Steps per second of the bare commits."""
    store = connect(url)
    store.open()
    try:
        batches = list(_batches(runs, steps))
        start = time.perf_counter()
        for batch in batches:
            if not all(outcome.applied for outcome in store.commit(batch)):
                raise RuntimeError("a row of the floor was stale")
        return runs * steps / (time.perf_counter() - start)
    finally:
        store.close()


def _batches(runs: int, steps: int) -> Iterator[list[RunWrite]]:
    """Submissions first; then each step of all runs: it completes, and the next one starts."""
    ids = [new_run_id() for _ in range(runs)]
    chunks = [ids[start : start + BATCH] for start in range(0, runs, BATCH)]
    for chunk in chunks:
        yield [_submission(run_id, steps) for run_id in chunk]
    for step in range(steps):
        for chunk in chunks:
            yield [_advance(run_id, step, steps) for run_id in chunk]


def _submission(run_id: str, steps: int) -> RunWrite:
    now = time.time()
    new = NewRun(run_id=run_id, workflow="public::embedded::floor", version="0" * 32, input='{"n":1}', created_at=now)
    waiting = [TaskRow(pos=pos, name=f"step{pos}", state=TaskState.PENDING) for pos in range(1, steps)]
    return RunWrite(
        run_id=run_id,
        epoch=1,
        owner=SESSION,
        insert=new,
        run=RunRow(state=RunState.RUNNING, started_at=now),
        tasks=[_running(0, 2, now, was=None, name="step0"), *waiting],
        history=[HistoryRow(1, -1, None, "running"), _started(0, 2)],
    )


def _advance(run_id: str, step: int, steps: int) -> RunWrite:
    now, seq = time.time(), 3 + 2 * step
    done = TaskRow(
        pos=step,
        state=TaskState.COMPLETED,
        was=TaskState.RUNNING,
        was_attempt=1,
        attempt=1,
        executor="default",
        decision=DECISION,
        output="1",
        dispatched_at=now,
        started_at=now,
        finished_at=now,
        seq=seq,
    )
    write = RunWrite(run_id=run_id, epoch=1, tasks=[done], history=[HistoryRow(seq, step, "running", "completed", 1)])
    if step + 1 < steps:
        write.tasks.append(_running(step + 1, seq + 1, now, was=TaskState.PENDING))
        write.history.append(_started(step + 1, seq + 1))
    else:
        write.run = RunRow(state=RunState.COMPLETED, was=RunState.RUNNING, started_at=now, finished_at=now)
        write.history.append(HistoryRow(seq + 1, -1, "running", "completed"))
    return write


def _running(pos: int, seq: int, now: float, *, was: TaskState | None, name: str = "") -> TaskRow:
    return TaskRow(
        pos=pos,
        name=name,
        state=TaskState.RUNNING,
        was=was,
        attempt=1,
        executor="default",
        decision=DECISION,
        holder=SESSION,
        dispatched_at=now,
        seq=seq,
    )


def _started(pos: int, seq: int) -> HistoryRow:
    return HistoryRow(seq, pos, "pending", "running", 1, DETAIL)


def main() -> None:
    url = sys.argv[1]
    store = "sqlite" if url.startswith("sqlite") else "postgres"
    speed = max(floor(url) for _ in range(3))
    print(json.dumps({"engine": "floor", "store": store, "workload": "W1", "steps_per_s": round(speed)}))


if __name__ == "__main__":
    main()
