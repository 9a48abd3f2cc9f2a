"""Connects threads to a SQLite file, and translates SQLite's errors."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from turnout.contracts.clock import boot_time
from turnout.errors import StoreError, StoreFull, StoreReadOnly, StoreRejected, StoreUnreachable, StoreUnusable
from turnout.store.database import Execute, Rows
from turnout.store.queries import Dialect, load_blocks
from turnout.store.saturation import Saturation
from turnout.store.sqlite.files import create_private

BUSY_TIMEOUT = 10.0
SMALL_CACHE, LARGE_CACHE = 2_048, 65_536
"""KiB of pages that a connection caches, and that of the ledger."""


@cache
def boot_id() -> str:
    """Returns the id of this boot: monotonic times of another boot mean nothing."""
    try:
        if sys.platform == "darwin":
            command = ["/usr/sbin/sysctl", "-n", "kern.bootsessionuuid"]
            return subprocess.run(command, capture_output=True, text=True, check=True, timeout=5).stdout.strip()
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except (OSError, subprocess.SubprocessError):
        return ""


class SqliteDatabase:
    """Runs blocks of SQL: one connection per thread for a file; one shared connection, behind a lock, for ``:memory:``.

    Writers of this process queue on a lock, since SQLite's busy handler sleeps and is not fair.
    """

    dialect: Dialect = "sqlite"

    def __init__(self, path: str, *, read_only: bool = False, create: bool = True) -> None:
        self.path = path
        self.in_memory = path == ":memory:"
        self._read_only = read_only
        self._create = create
        self._blocks = load_blocks("sqlite")
        self._local = threading.local()
        self._guard = threading.Lock()
        self._writer = threading.RLock()
        self._connections: dict[threading.Thread, sqlite3.Connection] = {}
        self._shared: sqlite3.Connection | None = None
        self._closed = False
        self.waits = Saturation(1)

    # -- connections --------------------------------------------------------------------------------------------
    def connection(self) -> sqlite3.Connection:
        if self._closed:
            raise StoreUnreachable(f"the store {self.path} is closed")
        if self.in_memory:
            with self._guard:
                if self._shared is None:
                    self._shared = self.connect()
                return self._shared
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._local.connection = self.connect()
            with self._guard:
                for thread in [thread for thread in self._connections if not thread.is_alive()]:
                    self._connections.pop(thread).close()
                self._connections[threading.current_thread()] = connection
        return connection

    def connect(self) -> sqlite3.Connection:
        """Returns a new connection with the settings of the store."""
        with translated(self.path):
            if self._create and not self.in_memory and not self._read_only:
                create_private(self.path)
            target = ":memory:" if self.in_memory else f"{Path(self.path).absolute().as_uri()}?mode={self._mode}"
            connection = sqlite3.connect(
                target,
                timeout=BUSY_TIMEOUT,
                isolation_level=None,
                check_same_thread=False,
                cached_statements=256,
                uri=True,
            )
            try:
                connection.execute("pragma synchronous = full")
                connection.execute(f"pragma cache_size = -{SMALL_CACHE}")
                connection.execute("pragma temp_store = memory")
                # 64 MB of log: at the default of 4 MB every commit of a few hundred steps would be a checkpoint too.
                connection.execute("pragma wal_autocheckpoint = 16000")
            except sqlite3.Error:
                connection.close()
                raise
            return connection

    @property
    def _mode(self) -> str:
        return "ro" if self._read_only else "rwc" if self._create else "rw"

    def close(self) -> None:
        self._closed = True
        # The writer's lock first, as everywhere: a writer that has just begun takes the guard to connect.
        with self._writer, self._guard:
            for connection in self._connections.values():
                connection.close()
            self._connections.clear()
            if self._shared is not None:
                self._shared.close()
                self._shared = None

    # -- the Database protocol ----------------------------------------------------------------------------------
    def read(self, block: str, **params: Any) -> Rows:
        with translated(self.path):
            connection = self.connection()
            if not self.in_memory:
                return self._run(connection, block, params)
            with self._writer:
                return self._run(connection, block, params)

    def write(self, block: str, *, wake: str | None = None, **params: Any) -> Rows:
        with self.transaction() as execute:
            return execute(block, **params)

    @contextmanager
    def transaction(self) -> Iterator[Execute]:
        with self.begin() as connection:
            yield lambda block, **params: self._run(connection, block, params)

    transaction_apart = transaction

    def write_apart(self, block: str, **params: Any) -> Rows:
        return self.write(block, **params)

    @contextmanager
    def begin(self) -> Iterator[sqlite3.Connection]:
        """Runs a writer's transaction."""
        served = None
        self.waits.arrives()
        try:
            with self._begun() as connection:
                served = self.waits.is_served()
                yield connection
        finally:
            if served is None:
                self.waits.gives_up()
            else:
                self.waits.leaves(served)

    @contextmanager
    def begin_lane(self) -> Iterator[sqlite3.Connection]:
        """Runs a transaction of the ledger, which does not count as saturation."""
        with self._begun() as connection:
            if not getattr(self._local, "lane", False):
                # Every thread has a connection with a cache; only the ledger's needs a large one.
                connection.execute(f"pragma cache_size = -{LARGE_CACHE}")
                self._local.lane = True
            self.waits.excuse(True)
            try:
                yield connection
            finally:
                self.waits.excuse(False)

    @contextmanager
    def _begun(self) -> Iterator[sqlite3.Connection]:
        with translated(self.path), self._writer:
            connection = self.connection()
            connection.execute("begin immediate")
            try:
                yield connection
                connection.execute("commit")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("rollback")
                raise

    def _run(self, connection: sqlite3.Connection, block: str, params: dict[str, Any]) -> Rows:
        # SQLite keeps a NUL, and cuts the text there in places; PostgreSQL refuses it. So both stores refuse it.
        if any(isinstance(value, str) and "\0" in value for value in params.values()):
            raise StoreRejected("the data holds a NUL character")
        clocks = {"now": time.time(), "lease_now": boot_time(), "boot": boot_id()}
        return connection.execute(self._blocks[block], clocks | params).fetchall()


@contextmanager
def translated(path: str) -> Iterator[None]:
    """Raises SQLite's exceptions as StoreErrors."""
    try:
        yield
    except sqlite3.Error as error:
        raise _translate(error, path) from error
    except OSError as error:
        raise StoreUnreachable(f"the database {path} cannot be opened: {error.strerror}", path=path) from error
    except UnicodeEncodeError as error:
        raise StoreRejected("the data holds a lone surrogate, which is not text") from error
    except UnicodeDecodeError as error:
        # Its schema, or a stored text, is not UTF-8.
        raise _damaged(path, f"it holds text that is not UTF-8, {error.object[:40]!r}") from error


def _damaged(path: str, text: str) -> StoreUnusable:
    if text == "file is not a database":
        text = "it is a file of something else, or its beginning is damaged"
    return StoreUnusable(
        f"{path} is not a usable database: {text}; name another file, or put a backup in its place",
        code="store_damaged",
        path=path,
    )


def _translate(error: sqlite3.Error, path: str) -> StoreError:
    text = str(error)
    if "malformed" in text or "not UTF-8" in text or "Could not decode" in text:
        return _damaged(path, text)
    if "readonly" in text:
        return StoreReadOnly(f"the database {path} is read-only", path=path)
    if "is full" in text:
        return StoreFull(f"there is no room left for the database {path}", path=path)
    if isinstance(error, sqlite3.OperationalError | sqlite3.ProgrammingError | sqlite3.InterfaceError):
        return StoreUnreachable(f"the database {path} cannot be used: {text}", path=path)
    if type(error) is sqlite3.DatabaseError:
        return _damaged(path, text)
    return StoreRejected(f"the database refused the data: {text}")
