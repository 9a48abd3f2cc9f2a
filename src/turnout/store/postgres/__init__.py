"""The store on PostgreSQL, for orchestrators on several machines."""

from __future__ import annotations

import contextlib
import os
import selectors
import threading
from collections.abc import Callable, Sequence
from typing import Any

import psycopg

from turnout.errors import DatabaseNotFound, StoreError, StoreReadOnly, StoreUnusable
from turnout.model.rows import RunWrite, StoreUse, WriteOutcome
from turnout.store.access import AccessTables
from turnout.store.database import Database, shown_url
from turnout.store.definitions import Definitions
from turnout.store.figures import Figures
from turnout.store.limit_declarations import LimitDeclarations
from turnout.store.limits import Limits
from turnout.store.logs import Logs
from turnout.store.messages import Messages
from turnout.store.migrations import Migration, outstanding
from turnout.store.ownership import Ownership
from turnout.store.postgres.connection import Connection, PostgresDatabase
from turnout.store.postgres.errors import translated
from turnout.store.postgres.ledger import PostgresLedger
from turnout.store.postgres.settings import PostgresSettings
from turnout.store.retention import RetentionOfRuns
from turnout.store.routing import Routing
from turnout.store.run_changes import RunChanges
from turnout.store.run_lists import RunLists
from turnout.store.run_queries import RunQueries
from turnout.store.schedules import Schedules
from turnout.store.task_lists import TaskLists
from turnout.store.triggers import Triggers
from turnout.store.webhooks import Webhooks

CHANNEL = "turnout"
INITIAL_BACKOFF, MAX_BACKOFF = 0.1, 2.0
MIGRATION_LOCK = 7_355_608_001


class Listener:
    """Waits for notifications in a thread. Announces ``any`` when it begins, since it may have missed some."""

    def __init__(self, database: PostgresDatabase, on_wake: Callable[[str], None]) -> None:
        self._database = database
        self._on_wake = on_wake
        self._stopping = threading.Event()
        self._read, self._write = os.pipe()
        self._thread = threading.Thread(target=self._run, name="turnout-listen", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        if self._stopping.is_set():
            return
        # In this order: once it sees the flag, the thread closes the pipe.
        os.write(self._write, b"x")
        self._stopping.set()
        if self._thread is not threading.current_thread():
            self._thread.join(timeout=10)

    def _run(self) -> None:
        backoff = INITIAL_BACKOFF
        while not self._stopping.is_set():
            try:
                with contextlib.closing(self._database.connect()) as connection:
                    connection.execute(f"listen {CHANNEL}")
                    # Notifications before this point were missed.
                    self._on_wake("any")
                    backoff = INITIAL_BACKOFF
                    self._wait(connection)
            except (StoreError, psycopg.Error):
                self._stopping.wait(backoff)
                backoff = min(backoff * 2, MAX_BACKOFF)
        os.close(self._read)
        os.close(self._write)

    def _wait(self, connection: Connection) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(connection.fileno(), selectors.EVENT_READ)
            selector.register(self._read, selectors.EVENT_READ)
            while not self._stopping.is_set():
                selector.select()
                connection.pgconn.consume_input()
                topics: dict[str, None] = {}
                while note := connection.pgconn.notifies():
                    topics[note.extra.decode()] = None
                for topic in topics:
                    self._on_wake(topic)


class PostgresStore(
    Ownership,
    Messages,
    RunQueries,
    RunLists,
    TaskLists,
    RunChanges,
    Logs,
    RetentionOfRuns,
    AccessTables,
    Definitions,
    Routing,
    Schedules,
    LimitDeclarations,
    Limits,
    Webhooks,
    Triggers,
    Figures,
):
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
            timeout = str(self._settings.migration_lock_timeout_ms)
            with connection.transaction():
                connection.execute("select set_config('lock_timeout', %s, true)", (timeout,))
                connection.execute("set local statement_timeout = 0")
                connection.execute("select pg_advisory_xact_lock(%s)", (MIGRATION_LOCK,))
                connection.execute(
                    "create table if not exists migration (number integer primary key, checksum text not null,"
                    " applied_at double precision not null)"
                )
                applied = connection.execute("select number, checksum from migration").fetchall()
                _apply(connection, outstanding("postgres", ((number, checksum) for number, checksum in applied)))

    def close(self) -> None:
        self._postgres.close()

    def use(self) -> StoreUse:
        return self._postgres.pool.waits.look()

    def commit(self, writes: Sequence[RunWrite], *, wake: frozenset[str] = frozenset()) -> list[WriteOutcome]:
        return self._ledger.commit(writes, wake)

    def listen(self, on_wake: Callable[[str], None]) -> Callable[[], None]:
        return Listener(self._postgres, on_wake).stop


def _apply(connection: psycopg.Connection[Any], missing: Sequence[Migration]) -> None:
    """Applies migrations, in two round trips however many they are."""
    if not missing:
        return
    connection.execute("".join(f"{migration.text}\n;\n" for migration in missing).encode(), prepare=False)
    connection.execute(
        "insert into migration select number, checksum, extract(epoch from clock_timestamp())"
        " from unnest(%s::integer[], %s::text[]) as applied (number, checksum)",
        ([migration.number for migration in missing], [migration.checksum for migration in missing]),
    )


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
    """True if a store has been opened in this database before, in the search path."""
    found = connection.execute("select to_regclass('migration') is not null and to_regclass('run') is not null")
    return found.fetchone() == (True,)
