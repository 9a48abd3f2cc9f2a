"""Writes a batch of changes to SQLite, each row by compare-and-swap, in few statements.

SQLite has one writer, so the batch is written on the assumption that every row matches, and the counts are compared. If
one does not, the transaction is rolled back, stale rows are removed from the batch, and the rest is written.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import chain

import msgspec

from turnout.errors import StoreRejected
from turnout.model.rows import RunWrite, WriteOutcome
from turnout.store.database import Rows, json_list
from turnout.store.limits import queue_rows
from turnout.store.queries import load_blocks
from turnout.store.row_codec import check, finishes
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

# A statement exists for each of these numbers of rows; in between, rows of "" fill up. To prepare one takes four times
# as long a row as to execute it, and it keeps some kilobytes a row: so they are few, and more rows take several.
_SIZES = (1, 2, 4, 8, 16, 32, 64, 96, 128, 192, 256)
_FREE_TEXT = {
    "insert_runs": (1, 6, 14, 16, 17, 23),
    "insert_waiting": (3,),
    "insert_begun": (3, 7, 9),
    "start_tasks": (6,),
    "complete_tasks": (4,),
    "insert_history": (2,),
}
"""Columns with text of users, in the statements that take most rows: workflows, inputs, keys, reasons, errors, origins,
names, decisions, outputs, moves."""
_LARGE = 1024 * 1024
"""Characters of text in a batch above which its largest rows go one by one."""


def sift(connection: sqlite3.Connection, writes: Sequence[RunWrite]) -> tuple[list[RunWrite], list[WriteOutcome]]:
    """Returns the writes without rows that are stale or exist already, and the outcome of each."""
    inserts = [write for write in writes if write.insert is not None]
    existing = _existing(connection, inserts)
    awaited = _awaited(connection, inserts)
    stale = _Stale(connection, [write for write in writes if write.insert is None])
    fresh: list[RunWrite] = []
    outcomes: list[WriteOutcome] = []
    for write in writes:
        if write.run_id in existing:
            run_id, digest = existing[write.run_id]
            outcomes.append(WriteOutcome(write.run_id, existing=run_id, existing_digest=digest))
        elif write.insert is not None and write.insert.parent_run is not None and write.run_id not in awaited:
            outcomes.append(WriteOutcome(write.run_id, stale=(-1,)))
        elif write.insert is not None:
            fresh.append(write)
            outcomes.append(WriteOutcome(write.run_id))
        else:
            kept, outcome = stale.without(write)
            fresh.append(kept)
            outcomes.append(outcome)
    return fresh, outcomes


def _existing(connection: sqlite3.Connection, inserts: Sequence[RunWrite]) -> dict[str, tuple[str, str]]:
    """Returns, by the id of a write that must not be inserted, the existing run and the digest of its input."""
    keys = [(write.insert.workflow, write.insert.key) for write in inserts if write.insert and write.insert.key]
    known = {row[0]: (row[0], row[1]) for row in _select(connection, "known_runs", [write.run_id for write in inserts])}
    taken = {(workflow, key): (id, digest) for id, workflow, key, digest in _select(connection, "taken_keys", keys)}
    found: dict[str, tuple[str, str]] = {}
    for write in inserts:
        assert write.insert is not None
        key = (write.insert.workflow, write.insert.key)
        if write.run_id in known:
            found[write.run_id] = known[write.run_id]
        elif key[1] is not None and key in taken:
            found[write.run_id] = taken[key]
        elif key[1] is not None:
            # The first of several new runs with one key is inserted; the others of the batch find it here.
            taken[key[0], key[1]] = (write.run_id, write.insert.input_digest)
    return found


def _awaited(connection: sqlite3.Connection, inserts: Sequence[RunWrite]) -> frozenset[str]:
    """Returns the new child runs whose parent's attempt is running."""
    children = [(write.run_id, write.insert) for write in inserts if write.insert and write.insert.parent_run]
    parents = [new.parent_run for _, new in children]
    rows = _select(connection, "current_tasks", parents) if parents else []
    running = {(run_id, pos, attempt) for run_id, pos, _, state, attempt in rows if state == "running"}
    return frozenset(id for id, new in children if (new.parent_run, new.parent_pos, new.parent_attempt) in running)


class _Stale:
    """Removes stale changes from writes, by the stored state of the runs that the batch changes."""

    def __init__(self, connection: sqlite3.Connection, updates: Sequence[RunWrite]) -> None:
        ids = [write.run_id for write in updates]
        self._runs = {row[0]: row[1:] for row in _select(connection, "current_runs", ids)}
        self._tasks = {row[:2]: row[2:] for row in _select(connection, "current_tasks", ids)}

    def without(self, write: RunWrite) -> tuple[RunWrite, WriteOutcome]:
        epoch = write.epoch
        stale = [
            task.pos
            for task in write.tasks
            if self._tasks.get((write.run_id, task.pos)) != (epoch, task.was, task.was_attempt)
        ]
        stored = self._runs.get(write.run_id)
        fenced = stored is None or stored[0] != epoch
        stale += [row.pos for row in write.items if fenced or row.group in stale]
        if write.run is not None and stored != (epoch, write.run.was):
            stale.append(-1)
        if not stale:
            if fenced:
                write = msgspec.structs.replace(write, inbox_done=[], commands_done=[])
            return write, WriteOutcome(write.run_id)
        gone = frozenset(stale)
        kept = msgspec.structs.replace(
            write,
            run=None if -1 in gone else write.run,
            tasks=[task for task in write.tasks if task.pos not in gone],
            items=[row for row in write.items if row.pos not in gone],
            history=[row for row in write.history if row.pos not in gone],
            answer=None if -1 in gone else write.answer,
            inbox_done=[],
            commands_done=[],
        )
        return kept, WriteOutcome(write.run_id, tuple(stale))


def _select(connection: sqlite3.Connection, block: str, values: Sequence[object]) -> Rows:
    name = "keys" if block == "taken_keys" else "ids"
    return connection.execute(load_blocks("sqlite")[block], {name: json_list(values)}).fetchall()


class _Mismatch(Exception):
    """Raised when a row was not as the batch assumed."""


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
    if any(write.limits for write in new):
        connection.execute(load_blocks("sqlite")["queue_runs"], {"slots": queue_rows(new), "now": now})
    runs = [changed_run(write) for write in old if write.run is not None]
    _expect(_many(connection, "update_runs", runs), len(runs))
    for block, rows in changed_tasks(old, now).items():
        _expect(_many(connection, block, rows), len(rows))
    _add_items(connection, [write for write in old if write.items], now)
    _many(connection, "insert_history", history(writes), now)
    _many(connection, "tell_parents", answers(writes, now))
    _clear(connection, old, now)


def _add_items(connection: sqlite3.Connection, writes: Sequence[RunWrite], now: float) -> None:
    """Inserts items, which come with the change of their mapped task, under the run's epoch only."""
    if writes:
        _expect_epochs(connection, [(write.run_id, write.epoch) for write in writes])
        _many(connection, "insert_tasks", added_items(writes, now))


def _expect_epochs(connection: sqlite3.Connection, wanted: Sequence[tuple[str, int]]) -> None:
    ids = json_list([run_id for run_id, _ in wanted])
    rows = connection.execute(load_blocks("sqlite")["current_runs"], {"ids": ids}).fetchall()
    _expect(len({(run_id, epoch) for run_id, epoch, _ in rows} & set(wanted)), len(wanted))


def _clear(connection: sqlite3.Connection, writes: Sequence[RunWrite], now: float) -> None:
    blocks = load_blocks("sqlite")
    answering = [write for write in writes if write.inbox_done or write.commands_done]
    if any(not write.tasks and write.run is None for write in answering):
        bare = [(write.run_id, write.epoch) for write in writes if not write.tasks and write.run is None]
        _expect_epochs(connection, bare)
    for block, ids in (
        ("inbox_done", [id for write in answering for id in write.inbox_done]),
        ("inbox_of_finished", [write.run_id for write in writes if write.run is not None and finishes(write)]),
        ("commands_done", [id for write in answering for id in write.commands_done]),
    ):
        if ids:
            connection.execute(blocks[block], {"ids": json_list(ids), "now": now})


def _many(connection: sqlite3.Connection, block: str, rows: Sequence[Values], *shared: object) -> int:
    """Executes the block for all rows, in as few statements as possible. Returns how many rows it changed."""
    changed = 0
    for part in _parts(rows, _FREE_TEXT.get(block)):
        size = next(size for size in _SIZES if size >= len(part))
        width = len(part[0])
        params = [*shared, *chain.from_iterable(part)]
        params.extend([""] * ((size - len(part)) * width))
        changed += connection.execute(_statement(block, size, width), params).rowcount
    return changed


def _parts(rows: Sequence[Values], columns: Sequence[int] | None) -> Iterator[Sequence[Values]]:
    """Yields the rows for each statement; rows with much text are alone.

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
    # SQLite keeps a NUL, and cuts the text there in places; PostgreSQL refuses it. So both stores refuse it.
    if "\0" in "".join(texts):
        raise StoreRejected("the data holds a NUL character")
