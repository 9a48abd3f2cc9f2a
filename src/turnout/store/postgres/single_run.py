"""Makes the parameters of commits of one run, whose statements take values in place of arrays.

All values are text: so a statement has one plan, whatever the sizes of its numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec.structs import astuple

from turnout.model.rows import RunWrite
from turnout.store.database import json_text
from turnout.store.narrow_rows import BEGUN, WAITING
from turnout.store.postgres.arrays import Value, columns
from turnout.store.row_codec import last_seq, moves_texts

Row = Sequence[Value]
Params = dict[str, Any]

TASK_COLUMNS = (
    *("positions", "names", "priorities", "states", "attempts", "reasons", "executors", "decisions"),
    *("holders", "dispatched", "seqs"),
)
_NOT_BEGUN = ("pending", 0, None, None, None, None, None, 0)
"""Of a task that waits: what the columns behind its priority hold."""

ENDED = ("ended_pos", "ended_was", "ended_attempt", "output", "started", "finished", "ended_seq")
BEGINS = ("begun_pos", "begun_was", "begun_attempt", "executor", "decision", "holder", "dispatched", "begun_seq")


def step_params(write: RunWrite, rows: Sequence[Row]) -> Params | None:
    """Returns the parameters of ``update_step`` for this write and its rows of ``update_steps``; None if it has more
    than one completion and one start after it."""
    ended: Row = (None,) * len(ENDED)
    begun: Row = (None,) * len(BEGINS)
    last = -1
    for _, _, pos, was, attempt, executor, decision, holder, dispatched, output, started, finished, seq in rows:
        assert isinstance(pos, int)
        completes = output is not None
        # Rows are locked in the order of their positions, as everywhere.
        if pos <= last or (last >= 0 and (completes or begun[0] is not None)):
            return None
        last = pos
        if completes:
            ended = (pos, was, attempt, output, started, finished, seq)
        else:
            begun = (pos, was, attempt, executor, decision, holder, dispatched, seq)
    run = write.run
    state: dict[str, Value] = {
        "run_id": write.run_id,
        "epoch": write.epoch,
        "run_was": None if run is None else run.was,
        "run_state": None if run is None else run.state,
        "run_reason": None if run is None else run.reason,
        "run_error": None if run is None or run.error is None else json_text(run.error),
        "run_started": None if run is None else run.started_at,
        "run_finished": None if run is None else run.finished_at,
        "run_seq": last_seq(write),
        "seq": last_seq(write),
        "moves": moves_texts([write.history])[0] if write.history else None,
    }
    values = {**state, **dict(zip(ENDED, ended, strict=True)), **dict(zip(BEGINS, begun, strict=True))}
    return _texts(values)


def insert_params(write: RunWrite) -> Params | None:
    """Returns the parameters of ``insert_run``; None if the run is a child or comes with tasks that have ended."""
    new, run = write.insert, write.run
    assert new is not None and run is not None
    if new.parent_run is not None or write.answer is not None:
        return None
    tasks: list[Row] = []
    for task in write.tasks:
        image = astuple(task)
        if WAITING.fits(image):
            tasks.append((*WAITING.values(image), *_NOT_BEGUN))
        elif BEGUN.fits(image):
            tasks.append(BEGUN.values(image))
        else:
            return None
    values: dict[str, Value] = {
        "run_id": write.run_id,
        "workflow": new.workflow,
        "version": new.version,
        "run_state": run.state,
        "run_owner": write.owner,
        "epoch": write.epoch,
        "task_epoch": write.task_epoch,
        "seq": last_seq(write),
        "input": new.input,
        "digest": new.input_digest,
        "key": new.key,
        "run_priority": new.priority,
        "timeout": new.timeout,
        "run_reason": run.reason,
        "run_error": None if run.error is None else json_text(run.error),
        "rerun": new.rerun_of,
        "depth": new.depth,
        "created": new.created_at,
        "run_started": run.started_at,
        "run_finished": run.finished_at,
        "parent_attempt": new.parent_attempt,
        "origin": new.origin,
        "moves": moves_texts([write.history])[0] if write.history else None,
    }
    return {**_texts(values), **columns(TASK_COLUMNS, tasks)}


def _texts(values: dict[str, Value]) -> Params:
    return {name: None if value is None else str(value) for name, value in values.items()}
