"""Listens for the notifications of other processes, on a connection that keeps its session."""

from __future__ import annotations

import contextlib
import os
import selectors
import threading
from collections.abc import Callable

import psycopg

from turnout.errors import StoreError
from turnout.store.postgres.pool import Connection

CHANNEL = "turnout"
INITIAL_BACKOFF, MAX_BACKOFF = 0.1, 2.0
DELIVERY_INTERVAL = 0.01
"""Seconds between two deliveries of topics: other processes may commit a thousand times a second, and each topic makes
this one look at the database."""


class Listener:
    """Waits for notifications in a thread, and delivers each topic once however often it came meanwhile. Announces
    ``any`` when it begins, since it may have missed some."""

    def __init__(self, connect: Callable[[], Connection], on_wake: Callable[[str], None]) -> None:
        self._connect = connect
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
                with contextlib.closing(self._connect()) as connection:
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
                # The first notification is delivered at once. Those that come now wait in the socket.
                self._stopping.wait(DELIVERY_INTERVAL)
