"""When has another process changed something? LISTEN on a connection of its own, made anew whenever it breaks."""

from __future__ import annotations

import contextlib
import os
import selectors
import threading
from collections.abc import Callable

import psycopg

from turnout.errors import StoreError
from turnout.store.postgres.connection import Connection, PostgresDatabase

CHANNEL = "turnout"
INITIAL_BACKOFF, MAX_BACKOFF = 0.1, 2.0


class Listener:
    """A thread that waits for notifications. When it begins to listen it announces ``any``: it may have missed some."""

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
                    # What was announced before, also while the first connection was being made, was not heard.
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
