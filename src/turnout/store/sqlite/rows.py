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
from turnout.model.states import RUN_TERMINAL, TASK_COMPLETED, RunState, TaskState
from turnout.store.narrow_rows import BEGUN, COMPLETED, STARTED, WAITING, completes, starts
from turnout.store.row_codec import last_seq, moves_texts

Values: TypeAlias = Sequence[Any]
Blocks: TypeAlias = dict[str, list[Values]]

_PLAIN: dict[object, str] = {None: "", **{state: str(state.value) for state in (*TaskState, *RunState)}}
_encode = msgspec.json.Encoder().encode


def new_tasks(writes: Sequence[RunWrite], now: float) -> Blocks:
    waiting: list[Values] = []
    begun: list[Values] = []
    others: list[Values] = []
    for write in writes:
        run_id, epoch = write.run_id, write.task_epoch
        for task in write.tasks:
            image = astuple(task)
            if WAITING.fits(image):
                waiting.append((run_id, epoch, *WAITING.values(image)))
            elif BEGUN.fits(image):
                pos, name, priority, state, *begin = BEGUN.values(image)
                begun.append((run_id, epoch, pos, name, priority, _PLAIN[state], *_plain(begin)))
            else:
                others.append(_whole(run_id, epoch, task, now))
    return {"insert_waiting": waiting, "insert_begun": begun, "insert_tasks": others}


def added_items(writes: Sequence[RunWrite], now: float) -> list[Values]:
    return [_whole(write.run_id, write.epoch, row, now) for write in writes for row in write.items]


def changed_tasks(writes: Sequence[RunWrite], now: float) -> Blocks:
    started: list[Values] = []
    completed: list[Values] = []
    others: list[Values] = []
    for write in writes:
        run_id, epoch = write.run_id, write.epoch
        for task in write.tasks:
            image = astuple(task)
            if task.state is TASK_COMPLETED and completes(task) and COMPLETED.fits(image):
                completed.append((run_id, epoch, *COMPLETED.values(image)))
            elif starts(task) and STARTED.fits(image):
                pos, was, *start = STARTED.values(image)
                started.append((run_id, epoch, pos, _PLAIN[was], *start))
            else:
                others.append(_whole(run_id, epoch, task, now))
    return {"start_tasks": started, "complete_tasks": completed, "update_tasks": others}


def _whole(run_id: str, epoch: int, task: TaskRow, now: float) -> Values:
    """Returns a TaskRow's fields in their order, behind the run's id and epoch."""
    if task.retry_in is not None or task.labels is not None or task.error is not None:
        task = _storable(task, now)
    pos, state, was, *rest = astuple(task)
    return (run_id, epoch, pos, _PLAIN[state], _PLAIN[was], *_plain(rest))


def _storable(task: TaskRow, now: float) -> TaskRow:
    """Returns the row with its rare fields as SQLite stores them: a time instead of a delay, and JSON text."""
    labels = None if task.labels is None else _encode(task.labels).decode()
    return replace(
        task, retry_in=None if task.retry_in is None else now + task.retry_in, labels=labels, error=_error(task.error)
    )


def new_run(write: RunWrite, now: float) -> Values:
    new, run = write.insert, write.run
    assert new is not None and run is not None
    owner = None if run.state in RUN_TERMINAL else write.owner
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
        *_plain((owner, new.key, new.timeout, run.reason, _error(run.error))),
        *_plain((new.rerun_of, new.parent_run, new.parent_pos, run.started_at, run.finished_at, new.origin)),
    )


def changed_run(write: RunWrite) -> Values:
    run = write.run
    assert run is not None and run.was is not None
    image = _plain((run.reason, _error(run.error), run.started_at, run.finished_at))
    return (write.run_id, write.epoch, _PLAIN[run.was], _PLAIN[run.state], *image, last_seq(write))


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
