"""A store can be closed at any moment, whatever its threads are doing."""

from __future__ import annotations

import contextlib
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.faults.children import eventually
from turnout.errors import StoreUnreachable
from turnout.store.postgres.listener import Listener
from turnout.store.sqlite.connection import SqliteDatabase


def test_closing_a_store_while_a_thread_begins_its_first_write_does_not_hang(tmp_path: Path) -> None:
    database = SqliteDatabase(str(tmp_path / "turnout.db"))
    database.connection()
    closing = threading.Thread(target=database.close, daemon=True)

    def write() -> None:
        with database._writer:
            closing.start()
            eventually("it is being closed", lambda: database._closed)
            with contextlib.suppress(AssertionError):
                eventually("the guard is taken", database._guard.locked, timeout=0.2)
            with database._guard:
                pass

    writing = threading.Thread(target=write, daemon=True)
    writing.start()
    writing.join(5)
    assert not writing.is_alive(), "the writer and the closer wait for one another"
    closing.join(5)
    assert not closing.is_alive()


def test_a_listener_that_has_lost_its_server_can_be_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    def away() -> Any:
        raise StoreUnreachable("the server is away")

    listener = Listener(away, lambda topic: None)
    write = os.write

    def write_slowly(pipe: int, data: bytes) -> int:
        listener._thread.join(0.3)
        return write(pipe, data)

    monkeypatch.setattr(os, "write", write_slowly)
    listener.stop()
    assert not listener._thread.is_alive()
