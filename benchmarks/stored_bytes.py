"""Measures what one step stores in PostgreSQL: rows, WAL bytes, bytes on disk. It starts a server of its own.

    python benchmarks/stored_bytes.py [RUNS]

Prints one JSON line for runs of one task and one for runs of ten. Bytes do not depend on the load of the machine.
``scale_simulation.py`` is fed by them.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import psycopg

sys.path[:0] = [str(Path(__file__).parents[1] / "tests")]

from postgres import OwnServer  # noqa: E402
from workloads import chain, single  # noqa: E402

from turnout import Runner  # noqa: E402

RUNS = 500
TABLES = ("run", "task", "history_commit")


def measured(url: str, workflow: Any, runs: int, steps: int) -> dict[str, Any]:
    with Runner(url) as runner, psycopg.connect(url, autocommit=True) as watcher:
        runner.run(workflow)
        watcher.execute("checkpoint")
        before = _stored(watcher)
        for run in [runner.submit(workflow) for _ in range(runs)]:
            run.result()
        after = _stored(watcher)
    per = {name: round((after[name] - before[name]) / (runs * steps), 2) for name in after}
    return {"steps_per_run": steps, "runs": runs, "per_step": per}


def _stored(connection: psycopg.Connection[Any]) -> dict[str, float]:
    found = {"wal_bytes": _number(connection, "select pg_current_wal_insert_lsn() - '0/0'::pg_lsn")}
    found["disk_bytes"] = sum(_number(connection, f"select pg_total_relation_size('{table}')") for table in TABLES)
    found["rows"] = sum(_number(connection, f"select count(*) from {table}") for table in TABLES)
    return found


def _number(connection: psycopg.Connection[Any], query: Any) -> float:
    row = connection.execute(query).fetchone()
    assert row is not None
    return float(row[0])


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else RUNS
    server = OwnServer()
    try:
        for workflow, steps in ((single, 1), (chain, 10)):
            with server.database() as url:
                print(json.dumps(measured(url, workflow, runs, steps)), flush=True)
    finally:
        server.stop()


if __name__ == "__main__":
    main()
