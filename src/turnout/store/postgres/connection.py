"""How does a thread get at PostgreSQL, what happens when the server goes away, and what do its complaints mean?"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any, TypeAlias, TypeVar

import psycopg
from psycopg import errors as pg
from psycopg.conninfo import conninfo_to_dict
from psycopg.types.string import TextLoader

from turnout.errors import InvalidSetting, StoreError, StoreFull, StoreReadOnly, StoreRejected, StoreUnreachable
from turnout.store.blocks import Dialect, load_blocks
from turnout.store.database import Execute, Rows
from turnout.store.postgres.settings import PostgresSettings

Connection: TypeAlias = psycopg.Connection[tuple[Any, ...]]
Cursor: TypeAlias = psycopg.Cursor[tuple[Any, ...]]
T = TypeVar("T")


def with_items(statement: str, blocks: Mapping[str, str]) -> str:
    """The statement that writes a batch, with the parts that add items of mapped tasks."""
    for mark, part in (
        ("/*held*/", blocks["held"]),
        ("/*and held*/", "and (select count(*) from held_run) >= 0"),
        ("/*items*/", blocks["added_items"]),
        ("/*and added*/", "union all select run_id, pos from added"),
        ("/*missing or*/", "(select count(*) from item_image) > (select count(*) from added) or"),
    ):
        statement = statement.replace(mark, part)
    return statement


class PostgresDatabase:
    """One connection per thread, made anew after it broke, and one more that only lease renewals use."""

    dialect: Dialect = "postgres"

    def __init__(self, url: str, settings: PostgresSettings) -> None:
        self._url = url
        self._settings = settings
        blocks = load_blocks("postgres")
        # Few writes answer or add anything, and every part of a statement costs time, also when it finds nothing to do.
        answering = blocks["update_batch"].replace("/*answers*/", blocks["answers"])
        self._blocks = {
            **blocks,
            "update_and_answer": answering,
            "update_and_add": with_items(blocks["update_batch"], blocks),
            "update_add_and_answer": with_items(answering, blocks),
        }
        self._local = threading.local()
        self._guard = threading.Lock()
        self._connections: dict[tuple[threading.Thread, str], Connection] = {}
        self._closed = False

    # -- connections --------------------------------------------------------------------------------------------
    def connection(self, role: str = "main") -> Connection:
        """The calling thread's connection for this role."""
        mine: dict[str, Connection] = self._local.__dict__
        connection = mine.get(role)
        if connection is None or connection.broken or connection.closed:
            connection = mine[role] = self.connect()
            with self._guard:
                for key in [key for key in self._connections if not key[0].is_alive()]:
                    self._connections.pop(key).close()
                self._connections[threading.current_thread(), role] = connection
        return connection

    def connect(self) -> Connection:
        """A new connection with our timeouts and planner settings."""
        if self._closed:
            raise StoreUnreachable("the store is closed")
        given = _parsed(self._url)
        with translated():
            options = f"{given.get('options') or ''} {self._settings.options()}".strip()
            arguments: dict[str, Any] = {**self._settings.connection(), **given, "options": options}
            connection = psycopg.connect(autocommit=True, prepare_threshold=0, **arguments)
            connection.adapters.register_loader("uuid", TextLoader)
            return connection

    def close(self) -> None:
        self._closed = True
        with self._guard:
            for connection in self._connections.values():
                connection.close()
            self._connections.clear()

    # -- the Database protocol ----------------------------------------------------------------------------------
    def read(self, block: str, **params: Any) -> Rows:
        return self.retried(lambda: self.statement(block, params))

    def retried(self, call: Callable[[], T]) -> T:
        """Do it once more if the connection turned out to be broken: for calls that change nothing."""
        try:
            return call()
        except StoreUnreachable:
            connection: Connection | None = self._local.__dict__.get("main")
            if self._closed or connection is None or not (connection.broken or connection.closed):
                raise
            return call()

    def write(self, block: str, *, wake: str | None = None, **params: Any) -> Rows:
        if wake is None:
            return self.statement(block, params)
        with self.transaction() as execute:
            rows = execute(block, **params)
            execute("notify", topic=wake)
        return rows

    def statement(self, block: str, params: dict[str, Any]) -> Rows:
        """One statement, which is its own transaction: one round trip."""
        connection = self.connection()
        with translated():
            return self._run(connection, block, params)

    @contextmanager
    def transaction(self, role: str = "main") -> Iterator[Execute]:
        with translated(), ExitStack() as stack:
            connection = self.connection(role)
            try:
                stack.enter_context(connection.transaction())
            except psycopg.OperationalError:
                # The link had died while it was idle. Nothing was asked of it yet, so a fresh one may take its place.
                connection = self.connection(role)
                stack.enter_context(connection.transaction())
            yield lambda block, **params: self._run(connection, block, params)

    def transaction_apart(self) -> AbstractContextManager[Execute]:
        return self.transaction("lease")

    def _run(self, connection: Connection, block: str, params: dict[str, Any]) -> Rows:
        cursor = self.execute(connection, block, params)
        return cursor.fetchall() if cursor.description else []

    def execute(self, connection: Connection, block: str, params: dict[str, Any]) -> Cursor:
        """The block's cursor, not fetched yet."""
        return connection.execute(self._blocks[block].encode(), params)


def _parsed(url: str) -> dict[str, Any]:
    try:
        return dict(conninfo_to_dict(url))
    except psycopg.ProgrammingError:
        # libpq quotes the part that it stumbles over, which may be half of the password.
        raise InvalidSetting(
            "the PostgreSQL URL cannot be read: write postgresql://user:password@host:5432/database, "
            "with special characters in the password as %XX",
            code="bad_database_url",
        ) from None


@contextmanager
def translated() -> Iterator[None]:
    """PostgreSQL's exceptions as StoreErrors. Messages never hold the connection string."""
    try:
        yield
    except psycopg.Error as error:
        raise _translate(error) from error
    except UnicodeEncodeError as error:
        raise StoreRejected("the data holds a lone surrogate, which is not text") from error


_REFUSED = (
    psycopg.DataError,
    psycopg.IntegrityError,
    psycopg.NotSupportedError,
    pg.RaiseException,
    pg.ProgramLimitExceeded,
    pg.StatementTooComplex,
)


def _translate(error: psycopg.Error) -> StoreError:
    text = error.diag.message_primary or (str(error).strip() or type(error).__name__).splitlines()[0]
    if isinstance(error, pg.ReadOnlySqlTransaction):
        return StoreReadOnly(f"the database is read-only: {text}")
    if isinstance(error, pg.DiskFull):
        return StoreFull(f"there is no room left for the database: {text}")
    if isinstance(error, _REFUSED):
        return StoreRejected(f"the database refused the data: {text}", sqlstate=error.sqlstate)
    # The rest says nothing about the data: a lost link, a shutdown, a deadlock, a timeout, a missing privilege.
    return StoreUnreachable(f"the database cannot be reached or did not answer: {text}", sqlstate=error.sqlstate)
