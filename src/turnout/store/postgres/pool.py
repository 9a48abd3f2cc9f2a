"""Which connection does a call use? One of a bounded number, lent for that call."""

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

AFTER_A_REFUSAL = 0.25
"""Seconds after which a server that would not give one more connection is asked again."""


class Lent:
    """A connection in somebody's hands. One that turns out to be dead can be changed for a fresh one."""

    __slots__ = ("_renew", "connection")

    def __init__(self, connection: Connection, renew: Callable[[Connection], Connection]) -> None:
        self.connection = connection
        self._renew = renew

    def renew(self) -> Connection:
        self.connection = self._renew(self.connection)
        return self.connection


class Ticket:
    """A place in the line; called with a connection, or with leave to make one."""

    __slots__ = ("called", "connection")

    def __init__(self) -> None:
        self.called = threading.Event()
        self.connection: Connection | None = None


class ConnectionPool:
    """Lends connections. Those who find none wait in line, first come, first served.

    A server that refuses one connection more, while others of this pool work, is full and not away: who was refused
    waits for one of those."""

    def __init__(self, connect: Callable[[], Connection], size: int, patience: float) -> None:
        self.waits = Saturation(size)
        self._connect = connect
        self._patience = patience
        self._idle: list[Connection] = []
        self._line: deque[Ticket] = deque()
        self._places = size
        """Not taken yet."""
        self._working = 0
        """Connections that are lent."""
        self._full_until = 0.0
        self._guard = threading.Lock()
        self._closed = False
        self.breaks = 0
        """How often a connection was found broken."""

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

    # -- coming ---------------------------------------------------------------------------------------------------
    def _get(self, deadline: float) -> Connection:
        ticket = Ticket()
        with self._guard:
            self._line.append(ticket)
        while True:
            self._called(ticket, deadline)
            if ticket.connection is not None:
                return ticket.connection
            try:
                connection = self._connect()
            except BaseException as error:
                if not self._stands_in_line_again(ticket, error):
                    raise
                continue
            with self._guard:
                self._working += 1
            return connection

    def _called(self, ticket: Ticket, deadline: float) -> None:
        """Returns when it is this one's turn."""
        while True:
            with self._guard:
                self._serve()
            left = deadline - time.monotonic()
            if ticket.called.wait(min(left, AFTER_A_REFUSAL) if left > 0 else 0):
                return
            if left <= 0:
                with self._guard:
                    if not ticket.called.is_set():
                        self._line.remove(ticket)
                        raise StoreUnreachable(
                            f"all {self.waits.size} connections to the database were in use for {self._patience:g} s"
                        )
                return

    def _serve(self) -> None:
        """Call those whose turn it is. The guard is held."""
        while self._line and self._places:
            connection = self._usable()
            if connection is None and self._working and time.monotonic() < self._full_until:
                return
            ticket = self._line.popleft()
            self._places -= 1
            self._working += connection is not None
            ticket.connection = connection
            ticket.called.set()

    def _usable(self) -> Connection | None:
        while self._idle:
            connection = self._idle.pop()
            if not (connection.broken or connection.closed):
                return connection
        return None

    def _stands_in_line_again(self, ticket: Ticket, error: BaseException) -> bool:
        """After a refusal; not if there is nothing to wait for."""
        with self._guard:
            self._places += 1
            others = self._working > 0 or bool(self._idle)
            again = others and isinstance(error, StoreUnreachable) and not self._closed
            if again:
                self._full_until = time.monotonic() + AFTER_A_REFUSAL
                ticket.called.clear()
                self._line.appendleft(ticket)
            self._serve()
            return again

    # -- going ----------------------------------------------------------------------------------------------------
    def _put(self, connection: Connection) -> None:
        broken = connection.broken or connection.closed
        if broken:
            # What broke this one has probably broken those that lie idle as well.
            self.breaks += 1
            self._forget_idle()
        with self._guard:
            if self._closed:
                connection.close()
            elif not broken:
                self._idle.append(connection)
            self._places += 1
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
