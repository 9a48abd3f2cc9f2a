"""Small runs and writes for the tests of stores."""

from __future__ import annotations

import time
from typing import Any

from turnout.contracts.store import Store
from turnout.model.names import new_run_id
from turnout.model.rows import HistoryRow, LoadedRun, NewRun, RunRow, RunWrite, Session, TaskRow
from turnout.model.states import RunState, TaskState

WORKFLOW = "public::embedded::chain"
VERSION = "v1"
SPEC = '{"name":"chain"}'
OWNER = "owner"


def begin(store: Store, *sessions: str) -> None:
    """A workflow version and some sessions, the first of which owns what ``new_run`` makes."""
    store.put_workflow(VERSION, WORKFLOW, SPEC)
    for session in sessions or (OWNER,):
        store.start_session(Session(id=session, workflows=(WORKFLOW,)), lease=15)


def new_run(*, owner: str | None = OWNER, tasks: list[TaskRow] | None = None, **columns: Any) -> RunWrite:
    """A run with a first task that runs (held by the owner) and a second one that waits for it."""
    run_id = columns.pop("run_id", None) or new_run_id()
    state = columns.pop("state", RunState.RUNNING)
    rows = tasks or [
        TaskRow(pos=0, name="first", state=TaskState.RUNNING, attempt=1, seq=3, holder=owner, executor="default"),
        TaskRow(pos=1, name="second", state=TaskState.PENDING),
    ]
    moves = [HistoryRow(1, -1, None, state)]
    if tasks is None:
        moves += [HistoryRow(2, 0, "pending", "ready"), HistoryRow(3, 0, "ready", "running", 1, '{"why":"default"}')]
    given: dict[str, Any] = {"workflow": WORKFLOW, "version": VERSION, "input": '{"n":1}', "created_at": time.time()}
    return RunWrite(
        run_id=run_id,
        epoch=1 if owner is not None else 0,
        owner=owner,
        insert=NewRun(run_id=run_id, **(given | columns)),
        run=RunRow(state=state),
        tasks=rows,
        history=moves,
    )


def update(run_id: str, *tasks: TaskRow, epoch: int = 1, run: RunRow | None = None, **more: Any) -> RunWrite:
    """A write with the history of its rows, numbered by their seq."""
    history = [HistoryRow(task.seq, task.pos, task.was, task.state, task.attempt) for task in tasks]
    if run is not None:
        history.append(HistoryRow(max((row.seq for row in history), default=50) + 1, -1, run.was, run.state))
    return RunWrite(run_id=run_id, epoch=epoch, tasks=list(tasks), run=run, history=history, **more)


def completed(seq: int = 4, pos: int = 0, attempt: int = 1, **columns: Any) -> TaskRow:
    given: dict[str, Any] = {"was": TaskState.RUNNING, "was_attempt": attempt, "output": '"done"'}
    return TaskRow(pos=pos, state=TaskState.COMPLETED, attempt=attempt, seq=seq, **(given | columns))


def moved(store: Store, run_id: str) -> list[tuple[int, str | None, str]]:
    """The history without times: (position, from, to)."""
    return [(row.pos, row.old, row.new) for _, row in store.history(run_id)]


def insert(store: Store, *writes: RunWrite) -> None:
    assert all(outcome.applied for outcome in store.commit(writes))


def claim_one(store: Store, session_id: str, run_id: str, inline: int) -> LoadedRun | None:
    """One run by its id; None if it could not be taken."""
    taken = store.claim_listed(session_id, [run_id], inline)
    return taken[0] if taken else None
