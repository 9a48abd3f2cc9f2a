"""Which connection does a call use? One of a bounded number, lent for that call."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

import psycopg

from turnout.errors import StoreUnreachable
from turnout.store.waits import Waits

Connection: TypeAlias = psycopg.Connection[tuple[Any, ...]]


class Lent:
    """A connection in somebody's hands. One that turns out to be dead can be changed for a fresh one."""

    __slots__ = ("_renew", "connection")

    def __init__(self, connection: Connection, renew: Callable[[Connection], Connection]) -> None:
        self.connection = connection
        self._renew = renew

    def renew(self) -> Connection:
        self.connection = self._renew(self.connection)
        return self.connection


class ConnectionPool:
    """Lends connections. Those who find none wait for one to come back."""

    def __init__(self, connect: Callable[[], Connection], size: int, patience: float) -> None:
        self.waits = Waits(size)
        self._connect = connect
        self._patience = patience
        self._places = threading.Semaphore(size)
        self._idle: list[Connection] = []
        self._guard = threading.Lock()
        self.breaks = 0
        """How often a connection was found broken."""

    @contextmanager
    def lend(self) -> Iterator[Lent]:
        self.waits.arrives()
        if not self._places.acquire(timeout=self._patience):
            self.waits.gives_up()
            raise StoreUnreachable(
                f"all {self.waits.size} connections to the database were in use for {self._patience:g} s"
            )
        self.waits.is_served()
        lent: Lent | None = None
        try:
            lent = Lent(self._take(), self._renewed)
            yield lent
        finally:
            if lent is not None:
                self._put(lent.connection)
            self.waits.leaves()
            self._places.release()

    def close(self) -> None:
        with self._guard:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def _take(self) -> Connection:
        with self._guard:
            while self._idle:
                connection = self._idle.pop()
                if not (connection.broken or connection.closed):
                    return connection
        return self._connect()

    def _put(self, connection: Connection) -> None:
        if connection.broken or connection.closed:
            # What broke this one has probably broken those that lie idle as well.
            self.breaks += 1
            self.close()
        else:
            with self._guard:
                self._idle.append(connection)

    def _renewed(self, dead: Connection) -> Connection:
        dead.close()
        self.breaks += 1
        self.close()
        return self._connect()
