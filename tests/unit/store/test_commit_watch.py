"""A look at a SQLite file notices every commit of others, and asks the database only if the file has changed."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from turnout.store.sqlite.commit_watch import SETTLED, CommitWatch
from turnout.store.sqlite.connection import SqliteDatabase


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "watched.db"


@pytest.fixture
def other(file: Path) -> Iterator[sqlite3.Connection]:
    """A connection of another program."""
    connection = sqlite3.connect(file, isolation_level=None)
    connection.execute("pragma journal_mode = wal")
    connection.execute("create table t (n integer)")
    yield connection
    connection.close()


@pytest.fixture
def database(file: Path, other: sqlite3.Connection) -> Iterator[SqliteDatabase]:
    database = SqliteDatabase(str(file))
    yield database
    database.close()


def test_the_first_look_and_those_after_commits_of_others_notice_something(
    database: SqliteDatabase, other: sqlite3.Connection
) -> None:
    watch = CommitWatch(database)
    assert [watch.look() for _ in range(2 * SETTLED)] == [True, *[False] * (2 * SETTLED - 1)]
    for number in range(50):
        other.execute("insert into t values (?)", (number,))
        assert watch.look(), number
    assert not watch.look()


def test_a_commit_that_leaves_the_time_of_the_file_is_noticed_right_after_another(
    database: SqliteDatabase, other: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch = CommitWatch(database)
    other.execute("insert into t values (1)")
    assert watch.look()
    other.execute("insert into t values (2)")
    # As if both had come within one step of the clock and the log had begun anew.
    stamp = watch._stamp
    monkeypatch.setattr("turnout.store.sqlite.commit_watch.os.stat", lambda path: _Stat(*(stamp or (0, 0))))
    assert watch.look()


class _Stat:
    def __init__(self, st_mtime_ns: int, st_size: int) -> None:
        self.st_mtime_ns, self.st_size = st_mtime_ns, st_size


def test_the_database_is_not_asked_while_its_file_is_as_it_was(database: SqliteDatabase) -> None:
    asked: list[str] = []
    database.connection().set_trace_callback(asked.append)
    watch = CommitWatch(database)
    for _ in range(10):
        watch.look()
    assert asked == ["pragma data_version"] * SETTLED


def test_a_file_without_a_write_ahead_log_is_asked_each_time(database: SqliteDatabase, file: Path) -> None:
    asked: list[str] = []
    database.connection().set_trace_callback(asked.append)
    watch = CommitWatch(database)
    watch._log = str(file) + "-none"
    for _ in range(5):
        watch.look()
    assert len(asked) == 5
