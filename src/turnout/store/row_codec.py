"""Translates rows of the database into values of the model, and checks the writes of a commit."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any

import msgspec

from turnout.model.events import ErrorInfo
from turnout.model.resources import decode_resources
from turnout.model.rows import HistoryRow, NewRun, RunRow, RunWrite, StoredRun, TaskRow
from turnout.model.states import RUN_TERMINAL, RunState, TaskState
from turnout.store.database import json_lines

_error = msgspec.json.Decoder(ErrorInfo).decode
decode_labels = msgspec.json.Decoder(dict[str, str]).decode
_RUN_STATES = {str(state): state for state in RunState}
_TASK_STATES = {str(state): state for state in TaskState}

RUN_COLUMNS = 25
TASK_COLUMNS = 26


def canonical(run_id: str) -> str | None:
    """Returns the id as it is stored, or None if no run can have it."""
    try:
        return str(uuid.UUID(run_id))
    except ValueError:
        return None


def stored_run(row: tuple[Any, ...]) -> StoredRun:
    """Returns a run from the columns of the blocks ``run`` and ``take_runs``."""
    run_id, workflow, version, input, created_at, key, digest, priority, timeout = row[:9]
    rerun_of, parent_run, parent_pos, parent_attempt, depth, origin = row[9:15]
    state, reason, error, started_at, finished_at, owner, epoch, seq, last, age = row[15:RUN_COLUMNS]
    return StoredRun(
        new=NewRun(
            run_id=run_id,
            workflow=workflow,
            version=version,
            input=input,
            created_at=created_at,
            key=key,
            input_digest=digest,
            priority=priority,
            timeout=timeout,
            rerun_of=rerun_of,
            parent_run=parent_run,
            parent_pos=parent_pos,
            parent_attempt=parent_attempt,
            depth=depth,
            origin=origin,
        ),
        row=RunRow(
            state=_RUN_STATES[state],
            reason=reason,
            error=None if error is None else _error(error),
            started_at=started_at,
            finished_at=finished_at,
        ),
        owner=owner,
        epoch=epoch,
        seq=max(seq, last or 0),
        age=max(age, 0.0),
    )


def task_row(row: tuple[Any, ...]) -> TaskRow:
    """Returns a task from the columns of the blocks ``tasks`` and ``claimed_tasks``, whose first is the run's id."""
    _, pos, state, name, priority, attempt, failures, crashes, losses, reason, retry_in, executor, decision = row[:13]
    labels, poll_key, holder, output, error, dispatched_at, started_at, finished_at, seq, memo = row[13:23]
    group, index, resources = row[23:TASK_COLUMNS]
    return TaskRow(
        pos=pos,
        state=_TASK_STATES[state],
        name=name,
        priority=priority,
        attempt=attempt,
        failures=failures,
        crashes=crashes,
        losses=losses,
        reason=reason,
        retry_in=None if retry_in is None else max(retry_in, 0.0),
        executor=executor,
        decision=decision,
        labels=None if labels is None else decode_labels(labels),
        poll_key=poll_key,
        holder=holder,
        output=output,
        error=None if error is None else _error(error),
        dispatched_at=dispatched_at,
        started_at=started_at,
        finished_at=finished_at,
        seq=seq,
        memo=memo,
        group=group,
        index=index,
        resources=None if resources is None else decode_resources(resources),
    )


def check(writes: Sequence[RunWrite]) -> None:
    """Raises unless there is one write per run and one image per row: of two only one would be applied."""
    if len({write.run_id for write in writes}) != len(writes):
        raise ValueError("a run has two writes in one commit; fold them into one")
    for write in writes:
        tasks = [*write.tasks, *write.items] if write.items else write.tasks
        # Nearly every write has one or two images.
        count = len(tasks)
        if count < 2:
            continue
        if tasks[0].pos == tasks[1].pos if count == 2 else len({task.pos for task in tasks}) != count:
            raise ValueError(f"run {write.run_id} has two images of one task in one commit; fold them into one")


def last_seq(write: RunWrite) -> int:
    """Returns the seq of the write's last move: moves are in the order of their seq."""
    return write.history[-1].seq if write.history else 0


def moves_texts(histories: Sequence[Sequence[HistoryRow]]) -> list[str]:
    """Returns the moves of each run in a commit as the JSON text that is stored.

    All are encoded by one call, each as a line: that takes a third of a call for each. Runs that begin together share
    theirs, which is encoded once."""
    distinct = {id(history): history for history in histories}
    if len(distinct) == len(histories):
        return json_lines(histories)
    texts = dict(zip(distinct, json_lines(list(distinct.values())), strict=True))
    return [texts[id(history)] for history in histories]


def finishes(write: RunWrite) -> bool:
    return write.run is not None and write.run.state in RUN_TERMINAL
