"""Translates a batch of changes into rows of parameters for the statements of ``sql/sqlite/ledger.sql``.

Binding a parameter costs about as much as storing it, so the moves that every task makes have narrow statements of
their own.

The driver looks for an adapter for whatever is not a plain string or number, None and enum members included, which
takes several times as long as binding it. So states go as plain strings, and where null is common "" stands for it
(nullif in the SQL).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import msgspec
from msgspec.structs import astuple, replace

from turnout.model.events import ErrorInfo
from turnout.model.rows import RunWrite, TaskRow
from turnout.model.states import RUN_TERMINAL, TASK_PENDING, RunState, TaskState
from turnout.store.narrow_rows import BEGUN, COMPLETED, STARTED, WAITING, Image, completes, starts
from turnout.store.row_codec import last_seq, moves_texts

Values: TypeAlias = Sequence[Any]
Blocks: TypeAlias = dict[str, list[Values]]

_PLAIN: dict[object, str] = {None: "", **{state: str(state.value) for state in (*TaskState, *RunState)}}
_encode = msgspec.json.Encoder().encode


def new_tasks(writes: Sequence[RunWrite], now: float) -> Blocks:
    blocks: Blocks = {"insert_waiting": [], "insert_begun": [], "insert_tasks": []}
    # Runs that begin together share their rows.
    known: dict[int, tuple[list[Values], Values]] = {}
    for write in writes:
        run_id, epoch = write.run_id, write.task_epoch
        for task in write.tasks:
            found = known.get(id(task))
            if found is None:
                block, values = _new_task(task, now)
                found = known[id(task)] = blocks[block], values
            found[0].append((run_id, epoch, *found[1]))
    return blocks


def _new_task(task: TaskRow, now: float) -> tuple[str, Values]:
    """Returns the statement that inserts this row, and its values behind the run's id and epoch."""
    image = astuple(task)
    if WAITING.fits(image):
        return "insert_waiting", WAITING.values(image)
    if BEGUN.fits(image):
        pos, name, priority, state, *begin = BEGUN.values(image)
        return "insert_begun", (pos, name, priority, _PLAIN[state], *_plain(begin))
    return "insert_tasks", _whole(task, now)


def added_items(writes: Sequence[RunWrite], now: float) -> list[Values]:
    return [(write.run_id, write.epoch, *_whole(row, now)) for write in writes for row in write.items]


def changed_tasks(writes: Sequence[RunWrite], now: float) -> Blocks:
    started: list[Values] = []
    completed: list[Values] = []
    others: list[Values] = []
    # Runs that begin together share their rows.
    known: dict[int, Image] = {}
    for write in writes:
        run_id, epoch = write.run_id, write.epoch
        for task in write.tasks:
            start = known.get(id(task))
            if start is None:
                image = astuple(task)
                if starts(task) and STARTED.fits(image):
                    start = known[id(task)] = STARTED.values(image)
                elif completes(task) and COMPLETED.fits(image):
                    completed.append((run_id, epoch, *COMPLETED.values(image)))
                    continue
                else:
                    others.append((run_id, epoch, *_whole(task, now)))
                    continue
            # By name: to take a list of what is behind the state costs three times as much.
            pos, was, attempt, executor, decision, holder, at, seq = start
            # The hash of a member of an enum is a call of Python.
            state = "pending" if was is TASK_PENDING else _PLAIN[was]
            started.append((run_id, epoch, pos, state, attempt, executor, decision, holder, at, seq))
    return {"start_tasks": started, "complete_tasks": completed, "update_tasks": others}


def _whole(task: TaskRow, now: float) -> Values:
    """Returns a TaskRow's fields in their order."""
    if task.retry_in is not None or task.labels is not None or task.error is not None or task.resources is not None:
        task = _storable(task, now)
    pos, state, was, *rest = astuple(task)
    return (pos, _PLAIN[state], _PLAIN[was], *_plain(rest))


def _storable(task: TaskRow, now: float) -> TaskRow:
    """Returns the row with its rare fields as SQLite stores them: a time instead of a delay, and JSON text."""
    labels = None if task.labels is None else _encode(task.labels).decode()
    resources = None if task.resources is None else _encode(task.resources).decode()
    retry_in = None if task.retry_in is None else now + task.retry_in
    return replace(task, retry_in=retry_in, labels=labels, error=_error(task.error), resources=resources)


def new_run(write: RunWrite, now: float) -> Values:
    new, run = write.insert, write.run
    assert new is not None and run is not None
    return (
        write.run_id,
        new.workflow,
        new.version,
        _PLAIN[run.state],
        write.epoch,
        last_seq(write),
        new.input,
        new.input_digest,
        new.priority,
        new.created_at,
        now,
        new.parent_attempt,
        new.depth,
        "" if write.owner is None or run.state in RUN_TERMINAL else write.owner,
        "" if new.key is None else new.key,
        "" if new.timeout is None else new.timeout,
        "" if run.reason is None else run.reason,
        "" if run.error is None else _error(run.error),
        "" if new.rerun_of is None else new.rerun_of,
        "" if new.parent_run is None else new.parent_run,
        "" if new.parent_pos is None else new.parent_pos,
        "" if run.started_at is None else run.started_at,
        "" if run.finished_at is None else run.finished_at,
        "" if new.origin is None else new.origin,
    )


def changed_run(write: RunWrite) -> Values:
    run = write.run
    assert run is not None and run.was is not None
    return (
        write.run_id,
        write.epoch,
        _PLAIN[run.was],
        _PLAIN[run.state],
        "" if run.reason is None else run.reason,
        "" if run.error is None else _error(run.error),
        "" if run.started_at is None else run.started_at,
        "" if run.finished_at is None else run.finished_at,
        last_seq(write),
    )


def history(writes: Sequence[RunWrite]) -> list[Values]:
    """Returns the run's id, the last seq and the moves of each write."""
    moved = [write for write in writes if write.history]
    texts = moves_texts([write.history for write in moved])
    return [(write.run_id, write.history[-1].seq, text) for write, text in zip(moved, texts, strict=True)]


def answers(writes: Sequence[RunWrite], now: float) -> list[Values]:
    """Returns a ParentAnswer's fields in their order, before the time."""
    return [(*astuple(write.answer), now) for write in writes if write.answer is not None]


def _plain(values: Sequence[Any]) -> list[Any]:
    return ["" if value is None else value for value in values]


def _error(error: ErrorInfo | None) -> str | None:
    return None if error is None else _encode(error).decode()
