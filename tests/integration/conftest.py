"""What tests of whole Runners share: Runners that are closed, gates for bodies to wait at, a look at the tables."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from typing import Any

import psycopg
import pytest

from turnout import Runner
from turnout.runner import EngineSettings

PATIENCE = 20.0
"""Seconds after which a test gives up on something that should have happened."""


class Gate:
    """A body that comes here says so, and goes on when the test opens the gate."""

    def __init__(self) -> None:
        self.entered = threading.Event()
        self.opened = threading.Event()

    def pass_through(self) -> None:
        self.entered.set()
        assert self.opened.wait(PATIENCE), "nobody opened the gate"

    def reached(self) -> bool:
        return self.entered.wait(PATIENCE)

    def open(self) -> None:
        self.opened.set()


@pytest.fixture
def gates() -> list[Gate]:
    """All gates of a test. They open at its end, before its Runners are closed."""
    return []


@pytest.fixture
def make_gate(gates: list[Gate]) -> Callable[[], Gate]:
    def make() -> Gate:
        gates.append(Gate())
        return gates[-1]

    return make


@pytest.fixture
def gate(make_gate: Callable[[], Gate]) -> Gate:
    return make_gate()


@pytest.fixture
def make_runner(store_url: str, gates: list[Gate]) -> Iterator[Callable[..., Runner]]:
    """Makes Runners on this test's database and closes them afterwards."""
    yield from _runners(store_url, gates)


@pytest.fixture
def make_sqlite_runner(sqlite_url: str, gates: list[Gate]) -> Iterator[Callable[..., Runner]]:
    """The same, for tests in which the database plays no part."""
    yield from _runners(sqlite_url, gates)


@pytest.fixture
def runner(make_runner: Callable[..., Runner]) -> Runner:
    return make_runner()


@pytest.fixture
def sqlite_runner(make_sqlite_runner: Callable[..., Runner]) -> Runner:
    return make_sqlite_runner()


def _runners(default_url: str, gates: list[Gate]) -> Iterator[Callable[..., Runner]]:
    with ExitStack() as stack:

        def make(url: str = default_url, **options: Any) -> Runner:
            # None of the workflows that other tests have defined: their names would collide.
            options = {"workflows": (), "settings": EngineSettings(stop_grace=1.0), "handle_sigterm": False} | options
            return stack.enter_context(Runner(url, **options))

        yield make
        for gate in gates:
            gate.open()


@pytest.fixture
def until() -> Callable[..., None]:
    """Waits for something that only the database can tell."""

    def wait(condition: Callable[[], object], what: str = "the condition") -> None:
        deadline = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < deadline, f"{what} did not come true within {PATIENCE:g} s"
            time.sleep(0.01)

    return wait


@pytest.fixture
def query() -> Callable[..., list[tuple[Any, ...]]]:
    """Reads a database behind the engine's back."""

    def read(url: str, sql: str) -> list[tuple[Any, ...]]:
        if url.startswith("sqlite"):
            with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as connection:
                return connection.execute(sql).fetchall()
        with psycopg.connect(url) as connection:
            return connection.execute(sql).fetchall()

    return read


@pytest.fixture
def change() -> Callable[[str, str], None]:
    """Changes a database behind the engine's back: what a crash at a bad moment would have left."""

    def write(url: str, sql: str) -> None:
        if url.startswith("sqlite"):
            with closing(sqlite3.connect(url.removeprefix("sqlite:///"), timeout=10)) as connection, connection:
                connection.execute(sql)
            return
        with psycopg.connect(url) as connection:
            connection.execute(sql.encode())

    return write


@pytest.fixture
def rows_in(query: Callable[..., list[tuple[Any, ...]]]) -> Callable[[str], dict[str, int]]:
    """How many rows of runs there are: what a refused submission must not have changed."""

    def count(url: str) -> dict[str, int]:
        tables = ("run", "task", "history", "command", "inbox")
        return {table: query(url, f"select count(*) from {table}")[0][0] for table in tables}

    return count
