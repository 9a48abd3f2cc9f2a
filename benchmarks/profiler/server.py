"""Counts what a workload costs in PostgreSQL: rows by table, HOT updates, WAL, transactions, and time by statement."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import psycopg

from profiler.process import Reading
from turnout import Runner

EXTENSION = "pg_stat_statements"
OPTIONS = f"-c shared_preload_libraries={EXTENSION} -c {EXTENSION}.track_planning=on -c track_wal_io_timing=on"
"""Options of a server that counts statements."""
TABLES = ("run", "task", "history_commit")
_BLOCK = re.compile(r"/\* (\w+) \*/")


def counts_statements(dsn: str) -> bool:
    """True if the server can be started with ``OPTIONS``."""
    with psycopg.connect(dsn) as connection:
        found = connection.execute("select from pg_available_extensions where name = %s", (EXTENSION,))
        return found.fetchone() is not None


class Statement(NamedTuple):
    """Totals of one statement. Its time is elapsed time inside the server, without its commit."""

    name: str
    calls: int
    rows: int
    planning_us: float
    execution_us: float
    wal_bytes: int
    full_page_images: int


class ServerCounters:
    """Counters of the server. The statements of the runner's store are given their names as comments."""

    def __init__(self, url: str, runner: Runner) -> None:
        store: Any = runner.core.store
        self._database = store._postgres
        self._connection = psycopg.connect(url, autocommit=True)
        self.counts_statements = self._extended()
        statements = self._database.statements
        named = {name: each._replace(text=f"/* {name} */ ".encode() + each.text) for name, each in statements.items()}
        statements.update(named)

    def _extended(self) -> bool:
        preloaded = self._one("show shared_preload_libraries")[0]
        if EXTENSION not in preloaded:
            return False
        self._connection.execute(f"create extension if not exists {EXTENSION}")
        return True

    def begin(self) -> Reading:
        if self.counts_statements:
            self._connection.execute(f"select {EXTENSION}_reset()")
        return self.read()

    def read(self) -> Reading:
        self._flush()
        tables = self._connection.execute(
            "select relname, n_tup_ins, n_tup_upd, n_tup_hot_upd from pg_stat_user_tables"
        ).fetchall()
        found: Reading = {}
        for what, column in (("inserted", 1), ("updated", 2), ("hot", 3)):
            found[f"rows_{what}"] = sum(row[column] for row in tables)
            found |= {f"rows_{what}_{row[0]}": row[column] for row in tables if row[0] in TABLES}
        transactions = self._one("select xact_commit from pg_stat_database where datname = current_database()")[0]
        wal = self._one("select to_jsonb(w) from pg_stat_wal w")[0]
        return {
            **found,
            "transactions": transactions,
            "wal_bytes": float(self._one("select pg_current_wal_insert_lsn() - '0/0'::pg_lsn")[0]),
            "wal_syncs": wal.get("wal_sync", 0),
            "wal_sync_us": 1000 * wal.get("wal_sync_time", 0),
        }

    def statements(self) -> list[Statement]:
        """Returns the statements since ``begin``, the longest first. Unnamed ones get their first words as names."""
        if not self.counts_statements:
            return []
        rows = self._connection.execute(
            "select query, calls, rows, 1000 * total_plan_time, 1000 * total_exec_time, wal_bytes::bigint, wal_fpi"
            f" from {EXTENSION} where dbid = (select oid from pg_database where datname = current_database())"
            " and query not like '%pg_stat%' order by total_plan_time + total_exec_time desc"
        ).fetchall()
        return [Statement(_name(query), *totals) for query, *totals in rows]

    def close(self) -> None:
        self._connection.close()

    def _flush(self) -> None:
        """Lets every backend report what it has counted, which it otherwise does after up to 10 s of idleness."""
        if self._connection.info.server_version >= 150000:
            own = [connection for (_, _role), connection in self._database._own.items() if not connection.closed]
            for connection in [*own, self._connection]:
                connection.execute("select pg_stat_force_next_flush()")

    def _one(self, query: str) -> tuple[Any, ...]:
        row = self._connection.execute(query.encode()).fetchone()
        assert row is not None
        return row


def _name(query: str) -> str:
    found = _BLOCK.search(query)
    return found[1] if found else " ".join(query.split())[:40]
