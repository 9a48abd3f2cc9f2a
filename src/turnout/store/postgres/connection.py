"""Connects threads to PostgreSQL: a bounded pool, and connections of their own for lanes and lease."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple, TypeAlias

import psycopg

from turnout.errors import StoreError, StoreUnreachable
from turnout.store.database import Execute, Rows
from turnout.store.postgres.connector import Connector
from turnout.store.postgres.errors import translated
from turnout.store.postgres.pool import Connection, ConnectionPool
from turnout.store.postgres.settings import PostgresSettings
from turnout.store.queries import Dialect, load_blocks

Cursor: TypeAlias = psycopg.RawCursor[tuple[Any, ...]]

LEASE = "lease"
_NAMED = re.compile(r"%\((\w+)\)s")


def with_items(statement: str, blocks: Mapping[str, str]) -> str:
    """Returns the statement that writes a batch, with the parts that add items of mapped tasks."""
    for mark, part in (
        ("/*held*/", blocks["held"]),
        ("/*and held*/", "and (select count(*) from held_run) >= 0"),
        ("/*items*/", blocks["added_items"]),
        ("/*and added*/", "union all select run_id, pos from added"),
        ("/*missing or*/", "(select count(*) from item_image) > (select count(*) from added) or"),
    ):
        statement = statement.replace(mark, part)
    return statement


class NumberedStatement(NamedTuple):
    """A block as the server takes it: ``$1`` in place of names, which the driver would look for in every execution."""

    text: bytes
    names: tuple[str, ...]

    @classmethod
    def of(cls, block: str) -> NumberedStatement:
        names = tuple(dict.fromkeys(_NAMED.findall(block)))
        text = _NAMED.sub(lambda found: f"${names.index(found[1]) + 1}", block)
        return cls(text.replace("%%", "%").encode(), names)

    def values(self, params: Mapping[str, Any]) -> list[Any]:
        return [params[name] for name in self.names]


class PostgresDatabase:
    """Runs blocks of SQL on a bounded pool; the ledger's lanes and lease renewal have connections of their own."""

    dialect: Dialect = "postgres"

    def __init__(self, url: str, settings: PostgresSettings, direct_url: str | None = None) -> None:
        self._connector = Connector(url, direct_url, settings)
        blocks = load_blocks("postgres")
        # Few writes need all parts, and every part of a statement costs time, also if it finds no rows.
        answering = blocks["update_batch"].replace("/*answers*/", blocks["answers"])
        parts = {
            **blocks,
            "update_and_answer": answering,
            "update_and_add": with_items(blocks["update_batch"], blocks),
            "update_add_and_answer": with_items(answering, blocks),
            "insert_with_others": blocks["insert_batch"].replace("/*others*/", blocks["inserted_others"]),
        }
        self.statements = {name: NumberedStatement.of(block) for name, block in parts.items()}
        self.pool = ConnectionPool(self.connect, settings.pool_size, settings.pool_patience)
        self._own: dict[tuple[threading.Thread, str], Connection] = {}
        self._local = threading.local()
        self._guard = threading.Lock()
        self._closed = False

    # -- connections --------------------------------------------------------------------------------------------
    def own(self, role: str) -> Connection:
        """Returns the calling thread's own connection for this role, which no other work delays."""
        mine: dict[str, tuple[Connection, int]] = self._local.__dict__
        connection, breaks = mine.get(role, (None, 0))
        # When one connection broke, the server may have dropped all of them: each is replaced before its next use.
        if connection is None or connection.broken or connection.closed or breaks != self.pool.breaks:
            if connection is not None:
                connection.close()
            breaks = self.pool.breaks
            connection = self._for_lease() if role == LEASE else self.connect()
            mine[role] = connection, breaks
            with self._guard:
                for key in [key for key in self._own if not key[0].is_alive()]:
                    self._own.pop(key).close()
                self._own[threading.current_thread(), role] = connection
        return connection

    def take_own(self, role: str) -> Connection:
        """Returns the calling thread's own connection for this role, and leaves it to the caller. The thread gets
        another one when it needs it."""
        connection = self.own(role)
        del self._local.__dict__[role]
        with self._guard:
            self._own.pop((threading.current_thread(), role), None)
        return connection

    def connect(self) -> Connection:
        """Returns a new connection for transactions."""
        self._check_open()
        return self._connector.connect()

    def session(self) -> Connection:
        """Returns a new connection that keeps its session, which one through a pooler may not."""
        self._check_open()
        return self._connector.session()

    def _for_lease(self) -> Connection:
        """Returns a connection past the pooler, in which others may queue; one through it if there is no other way."""
        try:
            return self.session()
        except StoreError:
            if not self.pooled:
                raise
            return self.connect()

    def _check_open(self) -> None:
        if self._closed:
            raise StoreUnreachable("the store is closed")

    @property
    def pooled(self) -> bool:
        """True if connections lead through a pooler in transaction mode."""
        return self._connector.pooled

    def close(self) -> None:
        self._closed = True
        self.pool.close()
        with self._guard:
            for connection in self._own.values():
                connection.close()
            self._own.clear()

    # -- the Database protocol ----------------------------------------------------------------------------------
    def read(self, block: str, **params: Any) -> Rows:
        """Runs a SELECT. Retried once if the connection was broken, since it changes nothing."""
        with self.pool.lend() as lent:
            try:
                with translated():
                    return self._run(lent.connection, block, params)
            except StoreUnreachable:
                if self._closed or not (lent.connection.broken or lent.connection.closed):
                    raise
                with translated():
                    return self._run(lent.renew(), block, params)

    def write(self, block: str, *, wake: str | None = None, **params: Any) -> Rows:
        if wake is None:
            with translated(), self.pool.lend() as lent:
                return self._run(lent.connection, block, params)
        with self.transaction() as execute:
            rows = execute(block, **params)
            execute("notify", topic=wake)
        return rows

    def statement(self, block: str, params: dict[str, Any]) -> Rows:
        """Runs one statement of the ledger, which is its own transaction: one round trip."""
        with self.for_ledger() as connection, translated():
            return self._run(connection, block, params)

    @contextmanager
    def for_ledger(self) -> Iterator[Connection]:
        """Yields the calling lane's own connection; one of the pool's if the server has no room for one more."""
        try:
            connection = self.own("ledger")
        except StoreUnreachable:
            with self.pool.lend() as lent:
                yield lent.connection
            return
        yield connection

    @contextmanager
    def transaction(self) -> Iterator[Execute]:
        with translated(), self.pool.lend() as lent, ExitStack() as stack:
            try:
                stack.enter_context(lent.connection.transaction())
            except psycopg.OperationalError:
                # The connection broke while it was idle. Nothing was sent yet, so a new one can replace it.
                stack.enter_context(lent.renew().transaction())
            yield lambda block, **params: self._run(lent.connection, block, params)

    def write_apart(self, block: str, **params: Any) -> Rows:
        with translated():
            connection = self.own(LEASE)
            try:
                return self._run(connection, block, params)
            except psycopg.OperationalError:
                # The connection broke while it was idle. Statements that are written this way may be written twice.
                if not (connection.broken or connection.closed):
                    raise
                return self._run(self.own(LEASE), block, params)

    @contextmanager
    def transaction_apart(self) -> Iterator[Execute]:
        with translated(), ExitStack() as stack:
            connection = self.own(LEASE)
            try:
                stack.enter_context(connection.transaction())
            except psycopg.OperationalError:
                connection = self.own(LEASE)
                stack.enter_context(connection.transaction())
            yield lambda block, **params: self._run(connection, block, params)

    def _run(self, connection: Connection, block: str, params: dict[str, Any]) -> Rows:
        if not self.pooled:
            return _rows(self.execute(connection, block, params))
        # What a pipeline sends is one transaction, and one round trip.
        with connection.pipeline():
            self.apply_settings(connection)
            cursor = self.execute(connection, block, params)
        return _rows(cursor)

    def apply_settings(self, connection: Connection) -> None:
        """Sends the settings for the current transaction, where the connection does not keep them."""
        if self._connector.settings_of_transaction is not None:
            connection.execute(self._connector.settings_of_transaction)

    def execute(self, connection: Connection, block: str, params: dict[str, Any]) -> Cursor:
        """Returns the block's cursor, not fetched yet."""
        statement = self.statements[block]
        return psycopg.RawCursor(connection).execute(statement.text, statement.values(params))


def _rows(cursor: Cursor) -> Rows:
    return cursor.fetchall() if cursor.description else []
