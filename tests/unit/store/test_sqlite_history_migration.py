"""A database of SQLite that is migrated keeps the history of its runs."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

from turnout.store.migrations import migrations
from turnout.store.sqlite import _statements

APPENDED = 28
COMMITS = [
    ("b", 7, 0, 3.0, '[[6,0,"running","completed",1,null],[7,-1,"running","completed",0,null]]'),
    ("a", 3, 0, 1.5, '[[2,0,"pending","ready",0,null],[3,1,"pending","skipped",0,"{}"]]'),
    ("a", 3, 1, 2.5, '[[3,0,"ready","running",1,null]]'),
]


def migrated(connection: sqlite3.Connection, numbers: range) -> None:
    for migration in migrations("sqlite"):
        for statement in _statements(migration.text) if migration.number in numbers else []:
            connection.execute(statement)


def test_history_that_was_stored_by_its_key_is_kept_and_its_key_stays_unique() -> None:
    with closing(sqlite3.connect(":memory:")) as connection:
        migrated(connection, range(1, APPENDED))
        connection.executemany(
            "insert into history_commit (run_id, seq, part, at, moves) values (?, ?, ?, ?, ?)", COMMITS
        )
        moves = connection.execute("select * from history order by run_id, part, seq").fetchall()
        migrated(connection, range(APPENDED, APPENDED + 1))
        kept = connection.execute("select run_id, seq, part, at, moves from history_commit order by at desc").fetchall()
        assert kept == [COMMITS[0], COMMITS[2], COMMITS[1]]
        assert connection.execute("select * from history order by run_id, part, seq").fetchall() == moves
        assert len(moves) == 5
        for again in COMMITS:
            with pytest.raises(sqlite3.IntegrityError, match="UNIQUE"):
                connection.execute("insert into history_commit values (?, ?, ?, ?, ?)", again)
