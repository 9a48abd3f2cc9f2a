"""How does SQLite write a batch of changes, each row by compare-and-swap, with a handful of statements?

The writer is alone, so the batch is written in the hope that every row matches, and the counts are compared. If one
does not, the transaction is undone, what is stale is sifted out, and the rest is written: stale rows are rare.
"""

from __future__ import annotations

import re
import sqlite3
import time
from collections.abc import Callable, Sequence
from functools import cache
from itertools import chain
from operator import attrgetter
from typing import Any, TypeAlias

import msgspec
from msgspec.structs import astuple, replace

from turnout.errors import StoreRejected
from turnout.model.events import ErrorInfo
from turnout.model.rows import RunWrite, TaskRow, WriteOutcome
from turnout.model.states import RUN_TERMINAL, RunState, TaskState
from turnout.store.blocks import load_blocks
from turnout.store.database import json_list
from turnout.store.sqlite.connection import SqliteDatabase
from turnout.store.sqlite.sifting import sift
from turnout.store.writes import check, finishes, last_seq

Values: TypeAlias = Sequence[Any]

# A statement exists for each of these numbers of rows; in between, rows of "" fill up. 1,024 rows of 27 columns
# stay below SQLite's limit of 32,766 parameters.
_SIZES = (1, 2, 4, 8, 16, 32, *range(64, 1025, 64))
# The driver looks for an adapter for whatever is not a plain string or number, None and enum members included, which
# takes several times as long as binding it. So states go as plain strings, and "" stands for null (nullif in the SQL).
_PLAIN: dict[object, str] = {None: "", **{state: str(state.value) for state in (*TaskState, *RunState)}}
TASKS, ITEMS = attrgetter("tasks"), attrgetter("items")
_encode = msgspec.json.Encoder().encode
_NUL = re.compile(rb"(?<!\\)(?:\\\\)*\\u0000")


class _Mismatch(Exception):
    """Some row was not as the batch supposed."""


class SqliteLedger:
    """``commit`` for SQLite."""

    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database

    def commit(self, writes: Sequence[RunWrite]) -> list[WriteOutcome]:
        check(writes)
        _refuse_nul(writes)
        try:
            with self._database.begin() as connection:
                _write(connection, writes)
            return [WriteOutcome(write.run_id) for write in writes]
        except _Mismatch:
            with self._database.begin() as connection:
                fresh, outcomes = sift(connection, writes)
                _write(connection, fresh)
            return outcomes


def _write(connection: sqlite3.Connection, writes: Sequence[RunWrite]) -> None:
    now = time.time()
    new = [write for write in writes if write.insert is not None]
    old = [write for write in writes if write.insert is None]
    _expect(_many(connection, "insert_runs", [_new_run(write, now) for write in new]), len(new))
    _many(connection, "insert_tasks", _tasks(new, now, TASKS))
    runs = [_run(write) for write in old if write.run is not None]
    _expect(_many(connection, "update_runs", runs), len(runs))
    tasks = _tasks(old, now, TASKS)
    _expect(_many(connection, "update_tasks", tasks), len(tasks))
    _add_items(connection, [write for write in old if write.items], now)
    _many(connection, "insert_history", _history(writes, now))
    _clear(connection, old, now)


def _add_items(connection: sqlite3.Connection, writes: Sequence[RunWrite], now: float) -> None:
    """Items come with the change of the mapped task that has them, and only under the run's epoch."""
    if writes:
        _expect_epochs(connection, [(write.run_id, write.epoch) for write in writes])
        _many(connection, "insert_tasks", _tasks(writes, now, ITEMS))


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


def _many(connection: sqlite3.Connection, block: str, rows: Sequence[Values]) -> int:
    """Execute the block for all rows, in as few statements as may be; returns how many rows it changed."""
    changed = 0
    for start in range(0, len(rows), _SIZES[-1]):
        part = rows[start : start + _SIZES[-1]]
        size = next(size for size in _SIZES if size >= len(part))
        width = len(part[0])
        params = list(chain.from_iterable(part))
        params.extend([""] * ((size - len(part)) * width))
        changed += connection.execute(_statement(block, size, width), params).rowcount
    return changed


@cache
def _statement(block: str, size: int, width: int) -> str:
    row = f"({', '.join('?' * width)})"
    return load_blocks("sqlite")[block].replace("/*rows*/", ", ".join([row] * size))


def _expect(changed: int, wanted: int) -> None:
    if changed != wanted:
        raise _Mismatch


def _refuse_nul(writes: Sequence[RunWrite]) -> None:
    # SQLite would keep a NUL, and cut the text there in places; PostgreSQL refuses it. Both are to refuse it.
    try:
        data = _encode(writes)
    except UnicodeEncodeError as error:
        raise StoreRejected("the data holds a lone surrogate, which is not text") from error
    if b"\\u0000" in data and _NUL.search(data):
        raise StoreRejected("the data holds a NUL character")


# -- rows, in the order of the blocks' columns ----------------------------------------------------------------------
def _new_run(write: RunWrite, now: float) -> Values:
    new, run = write.insert, write.run
    assert new is not None and run is not None
    return (
        write.run_id,
        new.workflow,
        new.version,
        str(run.state),
        None if run.state in RUN_TERMINAL else write.owner,
        write.epoch,
        last_seq(write),
        new.input,
        new.input_digest,
        new.key,
        new.priority,
        new.timeout,
        run.reason,
        _error(run.error),
        new.rerun_of,
        new.parent_run,
        new.parent_pos,
        new.created_at,
        now,
        run.started_at,
        run.finished_at,
    )


def _run(write: RunWrite) -> Values:
    run = write.run
    assert run is not None and run.was is not None
    image = (str(run.state), run.reason, _error(run.error), run.started_at, run.finished_at)
    return (write.run_id, write.epoch, str(run.was), *image, last_seq(write))


def _tasks(writes: Sequence[RunWrite], now: float, which: Callable[[RunWrite], list[TaskRow]]) -> list[Values]:
    """A TaskRow's fields in their order, behind the run's id and epoch."""
    rows: list[Values] = []
    for write in writes:
        run_id, epoch = write.run_id, write.epoch
        for task in which(write):
            common = task.retry_in is None and task.labels is None and task.error is None
            pos, state, was, *rest = astuple(task if common else _storable(task, now))
            plain = ["" if field is None else field for field in rest]
            rows.append([run_id, epoch, pos, _PLAIN[state], _PLAIN[was], *plain])
    return rows


def _storable(task: TaskRow, now: float) -> TaskRow:
    """The rare fields as SQLite keeps them: a time instead of a delay, and JSON text."""
    labels = None if task.labels is None else _encode(task.labels).decode()
    return replace(
        task, retry_in=None if task.retry_in is None else now + task.retry_in, labels=labels, error=_error(task.error)
    )


def _history(writes: Sequence[RunWrite], now: float) -> list[Values]:
    """A HistoryRow's fields in their order, behind the run's id and the time."""
    return [
        (write.run_id, now, row.seq, row.pos, _PLAIN[row.old], _PLAIN[row.new], row.attempt, row.detail or "")
        for write in writes
        for row in write.history
    ]


def _error(error: ErrorInfo | None) -> str | None:
    return None if error is None else _encode(error).decode()
