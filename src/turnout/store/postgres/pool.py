"""Lends connections to calls from a bounded pool."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

import psycopg

from turnout.errors import StoreUnreachable
from turnout.store.saturation import Saturation

Connection: TypeAlias = psycopg.Connection[tuple[Any, ...]]

REFUSAL_BACKOFF = 0.25
"""Seconds until a connection that the server refused is retried."""


class Lent:
    """A connection that is lent to a call. A broken one can be replaced."""

    __slots__ = ("_renew", "connection")

    def __init__(self, connection: Connection, renew: Callable[[Connection], Connection]) -> None:
        self.connection = connection
        self._renew = renew

    def renew(self) -> Connection:
        self.connection = self._renew(self.connection)
        return self.connection


class Ticket:
    """A waiting caller. ``called`` is set with a connection, or with none if the caller may open one."""

    __slots__ = ("called", "connection")

    def __init__(self) -> None:
        self.called = threading.Event()
        self.connection: Connection | None = None


class ConnectionPool:
    """Lends connections. Callers that find none wait, first come, first served.

    A server that refuses one connection more while others of this pool work is full and not away: the caller waits for
    one of those."""

    def __init__(self, connect: Callable[[], Connection], size: int, patience: float) -> None:
        self.waits = Saturation(size)
        self._connect = connect
        self._patience = patience
        self._idle: list[Connection] = []
        self._queue: deque[Ticket] = deque()
        self._free = size
        """The number of connections that may still be lent."""
        self._working = 0
        """The number of connections that are lent."""
        self._full_until = 0.0
        self._guard = threading.Lock()
        self._closed = False
        self.breaks = 0
        """The number of connections that were found broken."""

    @contextmanager
    def lend(self) -> Iterator[Lent]:
        lent, served = None, None
        self.waits.arrives()
        try:
            lent = Lent(self._get(time.monotonic() + self._patience), self._renewed)
            served = self.waits.is_served()
            yield lent
        finally:
            if lent is not None:
                self._put(lent.connection)
            if served is None:
                self.waits.gives_up()
            else:
                self.waits.leaves(served)

    def close(self) -> None:
        self._closed = True
        self._forget_idle()

    # -- lending ------------------------------------------------------------------------------------------------
    def _get(self, deadline: float) -> Connection:
        ticket = Ticket()
        with self._guard:
            self._queue.append(ticket)
        while True:
            self._called(ticket, deadline)
            if ticket.connection is not None:
                return ticket.connection
            try:
                connection = self._connect()
            except BaseException as error:
                if not self._requeue(ticket, error):
                    raise
                continue
            with self._guard:
                self._working += 1
            return connection

    def _called(self, ticket: Ticket, deadline: float) -> None:
        """Waits until the ticket is called."""
        while True:
            with self._guard:
                self._serve()
            left = deadline - time.monotonic()
            if ticket.called.wait(min(left, REFUSAL_BACKOFF) if left > 0 else 0):
                return
            if left <= 0:
                with self._guard:
                    if not ticket.called.is_set():
                        self._queue.remove(ticket)
                        raise StoreUnreachable(
                            f"all {self.waits.size} connections to the database were in use for {self._patience:g} s"
                        )
                return

    def _serve(self) -> None:
        """Calls the tickets that can be served. The guard is held."""
        while self._queue and self._free:
            connection = self._usable()
            if connection is None and self._working and time.monotonic() < self._full_until:
                return
            ticket = self._queue.popleft()
            self._free -= 1
            self._working += connection is not None
            ticket.connection = connection
            ticket.called.set()

    def _usable(self) -> Connection | None:
        while self._idle:
            connection = self._idle.pop()
            if not (connection.broken or connection.closed):
                return connection
        return None

    def _requeue(self, ticket: Ticket, error: BaseException) -> bool:
        """Returns whether a refused caller waits again; not if there is no connection to wait for."""
        with self._guard:
            self._free += 1
            others = self._working > 0 or bool(self._idle)
            again = others and isinstance(error, StoreUnreachable) and not self._closed
            if again:
                self._full_until = time.monotonic() + REFUSAL_BACKOFF
                ticket.called.clear()
                self._queue.appendleft(ticket)
            self._serve()
            return again

    # -- returning ----------------------------------------------------------------------------------------------
    def _put(self, connection: Connection) -> None:
        broken = connection.broken or connection.closed
        if broken:
            # The cause has probably broken the idle connections as well.
            self.breaks += 1
            self._forget_idle()
        with self._guard:
            if self._closed:
                connection.close()
            elif not broken:
                self._idle.append(connection)
            self._free += 1
            self._working -= 1
            self._serve()

    def _renewed(self, dead: Connection) -> Connection:
        dead.close()
        self.breaks += 1
        self._forget_idle()
        return self._connect()

    def _forget_idle(self) -> None:
        with self._guard:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()
