"""Where is it kept when several machines share it? The store on PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import psycopg

from turnout.errors import DatabaseNotFound, StoreReadOnly, StoreUnusable
from turnout.model.rows import RunWrite, StoreUse, WriteOutcome
from turnout.store.database import Database
from turnout.store.logs import Logs
from turnout.store.messages import Messages
from turnout.store.migrations import outstanding
from turnout.store.numbers import Numbers
from turnout.store.ownership import Ownership
from turnout.store.postgres.connection import PostgresDatabase
from turnout.store.postgres.errors import translated
from turnout.store.postgres.ledger import PostgresLedger
from turnout.store.postgres.listener import Listener
from turnout.store.postgres.settings import PostgresSettings
from turnout.store.retention import RetentionOfRuns
from turnout.store.run_queries import RunQueries
from turnout.store.urls import shown_url

MIGRATION_LOCK = 7_355_608_001


class PostgresStore(Ownership, Messages, RunQueries, Logs, Numbers, RetentionOfRuns):
    """The store on PostgreSQL."""

    _database: Database

    def __init__(self, url: str, settings: PostgresSettings | None = None, *, create: bool = True) -> None:
        self.url = url
        self._create = create
        self._settings = settings or PostgresSettings()
        self.lanes = self._settings.lanes
        self._postgres = PostgresDatabase(url, self._settings)
        self._database = self._postgres
        self._ledger = PostgresLedger(self._postgres)

    def open(self) -> None:
        with translated(), self._postgres.pool.lend() as lent:
            connection = lent.connection
            if connection.execute("show transaction_read_only").fetchone() == ("on",):
                raise StoreReadOnly("the database is read-only")
            _check_encoding(connection)
            if not self._create and not _present(connection):
                raise DatabaseNotFound(f"the database {shown_url(self.url)} has no tables of Turnout", url=self.url)
            patience = str(self._settings.migration_lock_timeout_ms)
            with connection.transaction():
                connection.execute("select set_config('lock_timeout', %s, true)", (patience,))
                connection.execute("set local statement_timeout = 0")
                connection.execute("select pg_advisory_xact_lock(%s)", (MIGRATION_LOCK,))
                connection.execute(
                    "create table if not exists migration (number integer primary key, checksum text not null,"
                    " applied_at double precision not null)"
                )
                applied = connection.execute("select number, checksum from migration").fetchall()
                for migration in outstanding("postgres", ((number, checksum) for number, checksum in applied)):
                    connection.execute(migration.text.encode(), prepare=False)
                    connection.execute(
                        "insert into migration values (%s, %s, extract(epoch from clock_timestamp()))",
                        (migration.number, migration.checksum),
                    )

    def close(self) -> None:
        self._postgres.close()

    def use(self) -> StoreUse:
        return self._postgres.pool.waits.look()

    def commit(self, writes: Sequence[RunWrite], *, wake: frozenset[str] = frozenset()) -> list[WriteOutcome]:
        return self._ledger.commit(writes, wake)

    def listen(self, on_wake: Callable[[str], None]) -> Callable[[], None]:
        return Listener(self._postgres, on_wake).stop


def _check_encoding(connection: psycopg.Connection[Any]) -> None:
    found = connection.execute("show server_encoding").fetchone()
    if found is not None and found[0] != "UTF8":
        raise StoreUnusable(
            f"the database is encoded in {found[0]}, which cannot keep every text: make one with createdb -E UTF8 -T "
            "template0",
            code="wrong_encoding",
            encoding=found[0],
        )


def _present(connection: psycopg.Connection[Any]) -> bool:
    """Whether a store has been opened in this database before, where its names are looked up."""
    found = connection.execute("select to_regclass('migration') is not null and to_regclass('run') is not null")
    return found.fetchone() == (True,)
