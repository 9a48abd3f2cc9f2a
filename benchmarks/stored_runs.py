"""Fills a database with ended runs, as copies of one that was driven, by bulk SQL, and measures its size.

A run is two seconds older than the next one, and one in a thousand has failed.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import psycopg
from workloads import single

from turnout import Runner

SPACING = 2.0
ONE_FAILED_IN = 1_000
AT_ONCE = 100_000
"""Runs in one transaction."""
TABLES = {"run": "id", "task": "run_id", "history_commit": "run_id"}
"""The tables with rows of every run, and their column with its id."""
TIMES = frozenset({"created_at", "submitted_at", "dispatched_at", "started_at", "finished_at", "at"})

_SERIES = {
    "sqlite": "with recursive series(n) as (select {first} union all select n + 1 from series where n < {last})",
    "postgresql": "with series(n) as (select generate_series({first}, {last}))",
}
_ID = {
    "sqlite": "printf('%08x-%04x-7000-8000-%012x', ({ms}) >> 16, ({ms}) & 65535, n)",
    "postgresql": "(lpad(to_hex({ms}), 12, '0') || '70008000' || lpad(to_hex(n), 12, '0'))::uuid",
}
"""Ids that begin with the time, as those of real runs do."""


def fill(url: str, runs: int) -> None:
    """Stores this many ended runs of one task with their history, and leaves the tables as vacuum does."""
    template = _driven(url)
    until = time.time()
    with _connected(url) as connection:
        for first in range(1, runs + 1, AT_ONCE):
            last = min(runs, first + AT_ONCE - 1)
            connection.execute("begin")
            for table in TABLES:
                connection.execute(_copies(connection, url, table, template, first, last, until - SPACING * (runs + 1)))
            connection.execute("commit")
        if url.startswith("sqlite"):
            connection.execute("pragma wal_checkpoint(truncate)")
        else:
            connection.execute("vacuum analyze")
            connection.execute("checkpoint")


def size(url: str) -> int:
    """Returns the bytes that the database takes on disk, without the write-ahead log."""
    pages = "select page_count * page_size from pragma_page_count, pragma_page_size"
    with _connected(url) as connection:
        query = pages if url.startswith("sqlite") else "select pg_database_size(current_database())"
        return int(connection.execute(query).fetchone()[0])


def count(url: str) -> int:
    """Returns the number of stored runs."""
    with _connected(url) as connection:
        return int(connection.execute("select count(*) from run").fetchone()[0])


def _driven(url: str) -> str:
    """Returns the id of a run that is driven here."""
    with Runner(url, workflows=[single], handle_sigterm=False) as runner:
        handle = runner.submit(single)
        assert handle.wait(60) == "completed"
        return handle.id


def _copies(connection: Any, url: str, table: str, template: str, first: int, last: int, start: float) -> str:
    """Returns the statement that copies the rows of the template in one table, once for each number."""
    dialect = url.partition(":")[0]
    ms = f"cast({int(1000 * start)} + {int(1000 * SPACING)} * n as bigint)"
    made = {TABLES[table]: _ID[dialect].format(ms=ms)}
    if table != "history_commit":
        made["state"] = f"case when n % {ONE_FAILED_IN} = 0 then 'failed' else state end"
    made |= dict.fromkeys(TIMES, f"{start} + {SPACING} * n")
    names = [column[0] for column in connection.execute(f"select * from {table} limit 0").description]
    values = [made.get(name, name) for name in names]
    series = _SERIES[dialect].format(first=first, last=last)
    return (
        f"{series if dialect == 'postgresql' else ''} insert into {table} ({', '.join(names)}) "
        f"{series if dialect == 'sqlite' else ''} select {', '.join(values)} "
        f"from series cross join {table} where {TABLES[table]} = '{template}'"
    )


@contextmanager
def _connected(url: str) -> Iterator[Any]:
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None)) as connection:
            connection.execute("pragma cache_size = -262144")
            yield connection
    else:
        with psycopg.connect(url, autocommit=True) as connection:
            yield connection
