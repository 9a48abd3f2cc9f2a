"""The store on SQLite: one file, or memory."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from turnout.errors import DatabaseNotFound, StoreError, StoreReadOnly, StoreUnreachable
from turnout.model.names import suggest_similar
from turnout.model.rows import RunWrite, StoreUse, WriteOutcome
from turnout.store.access import AccessTables
from turnout.store.database import Database
from turnout.store.definitions import Definitions
from turnout.store.figures import Figures
from turnout.store.limit_declarations import LimitDeclarations
from turnout.store.limits import Limits
from turnout.store.logs import Logs
from turnout.store.messages import Messages
from turnout.store.migrations import outstanding
from turnout.store.ownership import Ownership
from turnout.store.retention import RetentionOfRuns
from turnout.store.routing import Routing
from turnout.store.run_changes import RunChanges
from turnout.store.run_lists import RunLists
from turnout.store.run_queries import RunQueries
from turnout.store.schedules import Schedules
from turnout.store.sqlite.commit_watch import CommitWatch, log_of
from turnout.store.sqlite.connection import SqliteDatabase, translated
from turnout.store.sqlite.file_watch import FileWatch
from turnout.store.sqlite.files import warn_if_exposed
from turnout.store.sqlite.ledger import SqliteLedger
from turnout.store.task_lists import TaskLists
from turnout.store.triggers import Triggers
from turnout.store.webhooks import Webhooks

_TABLES = {"migration", "run"}
MAGIC = b"SQLite format 3\x00"
"""The first bytes of every SQLite file."""
POLL_INTERVAL = 0.05
"""Seconds between two looks for commits while there are some, and where the kernel gives no notice of writes."""
FALLBACK_INTERVAL = 1.0
"""Seconds between two looks for commits of which no notice came."""


def refuse_absence(database: SqliteDatabase) -> None:
    """Raises DatabaseNotFound unless the file exists and a store has been opened in it before. Writes nothing."""
    if database.in_memory:
        return
    path = Path(database.path)
    if path.is_dir():
        raise DatabaseNotFound(f"{path} is a folder: name the database file in it", path=str(path))
    if not path.exists():
        raise DatabaseNotFound(f"there is no database {path.absolute()}{_meant(path)}", path=str(path))
    if not _is_sqlite(path):
        raise DatabaseNotFound(
            f"{path} is a file of something else, or a database whose beginning is damaged", path=str(path)
        )
    with translated(database.path):
        tables = {name for (name,) in database.connection().execute("select name from sqlite_master")}
    if not tables >= _TABLES:
        raise DatabaseNotFound(f"{path} is no database of Turnout: its tables are not there", path=str(path))


def _meant(path: Path) -> str:
    """Returns what to add to the message: the file that was probably meant."""
    rooted = Path("/") / path
    if not path.is_absolute() and rooted.is_file():
        return f"; an absolute path has four slashes: sqlite:///{rooted}"
    if not path.parent.is_dir():
        return f": there is no folder {path.parent.absolute()}"
    return suggest_similar(path.name, [each.name for each in path.parent.iterdir() if each.is_file()])


def _is_sqlite(path: Path) -> bool:
    """True unless the file begins with other bytes. If it cannot be read, opening it explains why."""
    try:
        with path.open("rb") as file:
            begin = file.read(len(MAGIC))
    except OSError:
        return True
    return not begin or begin == MAGIC


class SqliteStore(
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
    """The store on SQLite: one writer at a time, several processes on one file."""

    lanes = 1
    _database: Database

    def __init__(self, url: str, path: str, *, read_only: bool = False, create: bool = True) -> None:
        self.url = url
        self._sqlite = SqliteDatabase(path, read_only=read_only, create=create)
        self._database = self._sqlite
        self._read_only = read_only
        self._create = create
        self._ledger = SqliteLedger(self._sqlite)

    def open(self) -> None:
        if self._read_only:
            raise StoreReadOnly(f"the database {self._sqlite.path} is opened read-only")
        if not self._create:
            refuse_absence(self._sqlite)
        if not self._sqlite.in_memory:
            self._use_write_ahead_log()
            warn_if_exposed(self._sqlite.path)
        with self._sqlite.begin() as connection:
            _migrate(connection)

    def close(self) -> None:
        self._sqlite.close()

    def use(self) -> StoreUse:
        return self._sqlite.waits.look()

    def commit(self, writes: Sequence[RunWrite], *, wake: frozenset[str] = frozenset()) -> list[WriteOutcome]:
        return self._ledger.commit(writes)

    def commit_channel(self) -> None:
        """There is none: a commit is made in the thread that calls for it."""

    def listen(self, on_wake: Callable[[str], None]) -> Callable[[], None]:
        writes = FileWatch(log_of(self._sqlite), poll=POLL_INTERVAL, fallback=FALLBACK_INTERVAL)
        thread = threading.Thread(target=self._watch, args=(on_wake, writes), name="turnout-listen", daemon=True)
        thread.start()

        def end() -> None:
            writes.end()
            if thread is not threading.current_thread():
                thread.join(timeout=5)

        return end

    def _watch(self, on_wake: Callable[[str], None], writes: FileWatch) -> None:
        commits = CommitWatch(self._sqlite)
        try:
            while writes.wait(settled=commits.settled):
                try:
                    changed = commits.look()
                except StoreError:
                    continue
                # The first look notifies too: commits before it may have been missed.
                if changed:
                    on_wake("any")
        finally:
            writes.close()

    def _use_write_ahead_log(self) -> None:
        # The switch needs exclusive use of the file for a moment, and SQLite does not wait for that.
        deadline = time.monotonic() + 10
        while True:
            try:
                with translated(self._sqlite.path):
                    self._sqlite.connection().execute("pragma journal_mode = wal")
                return
            except StoreUnreachable as error:
                if "locked" not in str(error) or time.monotonic() > deadline:
                    raise
                time.sleep(0.02)


def _migrate(connection: sqlite3.Connection) -> None:
    connection.execute(
        "create table if not exists migration"
        " (number integer primary key, checksum text not null, applied_at real not null) strict"
    )
    applied = connection.execute("select number, checksum from migration").fetchall()
    for migration in outstanding("sqlite", applied):
        for statement in _statements(migration.text):
            connection.execute(statement)
        row = (migration.number, migration.checksum, time.time())
        connection.execute("insert into migration values (?, ?, ?)", row)


def _statements(script: str) -> list[str]:
    """Returns the script's statements; a trigger's body has semicolons of its own."""
    statements: list[str] = []
    current = ""
    for line in script.splitlines(keepends=True):
        current += line
        if sqlite3.complete_statement(current):
            statements.append(current)
            current = ""
    return statements
