"""Makes commits on PostgreSQL without waiting: statements go out together, and answers are read as they come."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Mapping, Sequence

import psycopg
from psycopg import pq

from turnout.errors import StoreRejected, StoreUnreachable
from turnout.model.rows import RunWrite, WriteOutcome
from turnout.store.database import NUL, Rows
from turnout.store.postgres.connection import NumberedStatement
from turnout.store.postgres.errors import translated
from turnout.store.postgres.ledger import Exchange, Statement, exchange
from turnout.store.postgres.pool import Connection

BOOL = 16
"""The oid of the type ``bool``; every other column of an answer is read as text."""


class PostgresCommitChannel:
    """``CommitChannel`` on one connection in pipeline mode. The statements of a commit are one transaction."""

    def __init__(
        self,
        connection: Connection,
        statements: Mapping[str, NumberedStatement],
        on_close: Callable[[PostgresCommitChannel], None],
    ) -> None:
        self._connection = connection
        self._pgconn = connection.pgconn
        self._statements = statements
        self._on_close = on_close
        self._prepared: set[str] = set()
        self._exchange: Exchange | None = None
        self._rows: list[Rows] = []
        self._sent: deque[bool] = deque()
        """What has no answer yet, in order: True for a statement with rows to read, False for a preparation."""
        with translated():
            self._pgconn.nonblocking = 1
            self._pgconn.enter_pipeline_mode()

    def fileno(self) -> int:
        return self._pgconn.socket

    def send(self, writes: Sequence[RunWrite], wake: frozenset[str]) -> None:
        made: Generator[list[Statement], list[Rows], list[WriteOutcome]] = exchange(writes, wake)
        # Values that cannot be stored are refused here, before anything is sent.
        statements = next(made)
        parameters = [self._parameters(statement) for statement in statements]
        self._exchange = made
        self._send(statements, parameters)

    def flush(self) -> bool:
        with translated():
            return self._pgconn.flush() == 0

    def receive(self) -> list[WriteOutcome] | None:
        with translated():
            self._pgconn.consume_input()
            if not self._received():
                return None
        made, rows, self._rows = self._exchange, self._rows, []
        if made is None:
            raise psycopg.InternalError("an answer came to nothing that was sent")
        try:
            statements = made.send(rows)
        except StopIteration as ended:
            self._exchange = None
            outcomes: list[WriteOutcome] = ended.value
            return outcomes
        self._send(statements, [self._parameters(statement) for statement in statements])
        return None

    def close(self) -> None:
        self._connection.close()
        self._on_close(self)

    def _parameters(self, statement: Statement) -> list[bytes | None]:
        values = self._statements[statement.block].values(statement.params)
        with translated():
            texts = [None if value is None else value.encode() for value in values]
        if any(text is not None and b"\0" in text for text in texts):
            # libpq would take the text up to there.
            raise StoreRejected(NUL)
        return texts

    def _send(self, statements: Sequence[Statement], parameters: Sequence[list[bytes | None]]) -> None:
        pgconn = self._pgconn
        try:
            for statement, values in zip(statements, parameters, strict=True):
                name = statement.block.encode()
                if statement.block not in self._prepared:
                    self._prepared.add(statement.block)
                    pgconn.send_prepare(name, self._statements[statement.block].text)
                    self._sent.append(False)
                pgconn.send_query_prepared(name, values)
                self._sent.append(True)
            pgconn.pipeline_sync()
        except Exception as error:
            # Part of it may be on its way, whatever the reason.
            raise StoreUnreachable(f"the commit could not be sent whole: {error}") from error

    def _received(self) -> bool:
        """Reads what has come. True once all statements of the transaction are answered."""
        pgconn, ended = self._pgconn, False
        while not pgconn.is_busy():
            result = pgconn.get_result()
            if result is None:
                # One after each answer; a second one in a row: nothing more has come.
                if ended:
                    return False
                ended = True
                continue
            ended = False
            if result.status == pq.ExecStatus.PIPELINE_SYNC:
                return True
            if result.status not in (pq.ExecStatus.TUPLES_OK, pq.ExecStatus.COMMAND_OK):
                raise psycopg.errors.error_from_result(result)
            if self._sent.popleft():
                self._rows.append(_rows(result))
        return False


def _rows(result: pq.abc.PGresult) -> Rows:
    columns = [(column, result.ftype(column) == BOOL) for column in range(result.nfields)]
    return [
        tuple([_value(result.get_value(row, column), boolean) for column, boolean in columns])
        for row in range(result.ntuples)
    ]


def _value(value: bytes | None, boolean: bool) -> str | bool | None:
    if value is None:
        return None
    return value == b"t" if boolean else value.decode()
