"""How does SQLite write a batch of changes, each row by compare-and-swap, with a handful of statements?

The writer is alone, so the batch is written in the hope that every row matches, and the counts are compared. If one
does not, the transaction is undone, what is stale is sifted out, and the rest is written: stale rows are rare.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import chain

from turnout.errors import StoreRejected
from turnout.model.rows import RunWrite, WriteOutcome
from turnout.store.database import json_list
from turnout.store.queries import load_blocks
from turnout.store.sqlite.conflicts import sift
from turnout.store.sqlite.connection import SqliteDatabase
from turnout.store.sqlite.rows import (
    Values,
    added_items,
    answers,
    changed_run,
    changed_tasks,
    history,
    new_run,
    new_tasks,
)
from turnout.store.writes import check, finishes

# A statement exists for each of these numbers of rows; in between, rows of "" fill up. 1,024 rows of 28 columns
# stay below SQLite's limit of 32,766 parameters.
_SIZES = (1, 2, 4, 8, 16, 32, *range(64, 1025, 64))
_FREE_TEXT = {"start_tasks": (4,), "complete_tasks": (4,), "insert_history": (6,)}
"""Which columns hold text that is not ours, in the statements that take most rows: decisions, outputs, details."""
_LARGE = 1024 * 1024
"""Characters of text in a batch above which its largest rows go one by one."""


class _Mismatch(Exception):
    """Some row was not as the batch supposed."""


class SqliteLedger:
    """``commit`` for SQLite."""

    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database

    def commit(self, writes: Sequence[RunWrite]) -> list[WriteOutcome]:
        check(writes)
        try:
            with self._database.begin_lane() as connection:
                _write(connection, writes)
            return [WriteOutcome(write.run_id) for write in writes]
        except _Mismatch:
            with self._database.begin_lane() as connection:
                fresh, outcomes = sift(connection, writes)
                _write(connection, fresh)
            return outcomes


def _write(connection: sqlite3.Connection, writes: Sequence[RunWrite]) -> None:
    now = time.time()
    new = [write for write in writes if write.insert is not None]
    old = [write for write in writes if write.insert is None]
    _expect(_many(connection, "insert_runs", [new_run(write, now) for write in new]), len(new))
    for block, rows in new_tasks(new, now).items():
        _many(connection, block, rows)
    runs = [changed_run(write) for write in old if write.run is not None]
    _expect(_many(connection, "update_runs", runs), len(runs))
    for block, rows in changed_tasks(old, now).items():
        _expect(_many(connection, block, rows), len(rows))
    _add_items(connection, [write for write in old if write.items], now)
    _many(connection, "insert_history", history(writes), now)
    _many(connection, "tell_parents", answers(writes, now))
    _clear(connection, old, now)


def _add_items(connection: sqlite3.Connection, writes: Sequence[RunWrite], now: float) -> None:
    """Items come with the change of the mapped task that has them, and only under the run's epoch."""
    if writes:
        _expect_epochs(connection, [(write.run_id, write.epoch) for write in writes])
        _many(connection, "insert_tasks", added_items(writes, now))


def _expect_epochs(connection: sqlite3.Connection, wanted: Sequence[tuple[str, int]]) -> None:
    ids = json_list([run_id for run_id, _ in wanted])
    rows = connection.execute(load_blocks("sqlite")["current_runs"], {"ids": ids}).fetchall()
    _expect(len({(run_id, epoch) for run_id, epoch, _ in rows} & set(wanted)), len(wanted))


def _clear(connection: sqlite3.Connection, writes: Sequence[RunWrite], now: float) -> None:
    blocks = load_blocks("sqlite")
    if any((write.inbox_done or write.commands_done) and not write.tasks and write.run is None for write in writes):
        bare = [(write.run_id, write.epoch) for write in writes if not write.tasks and write.run is None]
        _expect_epochs(connection, bare)
    for block, ids in (
        ("inbox_done", [id for write in writes for id in write.inbox_done]),
        ("inbox_of_finished", [write.run_id for write in writes if finishes(write)]),
        ("commands_done", [id for write in writes for id in write.commands_done]),
    ):
        if ids:
            connection.execute(blocks[block], {"ids": json_list(ids), "now": now})


def _many(connection: sqlite3.Connection, block: str, rows: Sequence[Values], *shared: object) -> int:
    """Execute the block for all rows, in as few statements as may be; returns how many rows it changed."""
    changed = 0
    for part in _parts(rows, _FREE_TEXT.get(block)):
        size = next(size for size in _SIZES if size >= len(part))
        width = len(part[0])
        params = [*shared, *chain.from_iterable(part)]
        params.extend([""] * ((size - len(part)) * width))
        changed += connection.execute(_statement(block, size, width), params).rowcount
    return changed


def _parts(rows: Sequence[Values], columns: Sequence[int] | None) -> Iterator[Sequence[Values]]:
    """The rows as they go into statements; those with much text go one by one.

    A statement that is kept for its next use keeps what was bound to it last. There is one for each number of rows, so
    many rows with large values in one statement would stay in memory for as long as the connection does."""
    texts = _texts(rows, columns)
    if sum(map(len, texts)) <= _LARGE:
        _refuse_nul(texts)
    else:
        for text in texts:
            _refuse_nul([text])
        large = [row for row in rows if sum(map(len, _texts([row], None))) > _LARGE // len(_SIZES)]
        if large:
            kept = {id(row) for row in large}
            yield from ([row] for row in large)
            rows = [row for row in rows if id(row) not in kept]
    for start in range(0, len(rows), _SIZES[-1]):
        yield rows[start : start + _SIZES[-1]]


@cache
def _statement(block: str, size: int, width: int) -> str:
    row = f"({', '.join('?' * width)})"
    return load_blocks("sqlite")[block].replace("/*rows*/", ", ".join([row] * size))


def _expect(changed: int, wanted: int) -> None:
    if changed != wanted:
        raise _Mismatch


def _texts(rows: Sequence[Values], columns: Sequence[int] | None) -> list[str]:
    if columns is None:
        return [value for row in rows for value in row if isinstance(value, str)]
    return [row[column] or "" for column in columns for row in rows]


def _refuse_nul(texts: Sequence[str]) -> None:
    # SQLite would keep a NUL, and cut the text there in places; PostgreSQL refuses it. Both are to refuse it.
    if "\0" in "".join(texts):
        raise StoreRejected("the data holds a NUL character")
