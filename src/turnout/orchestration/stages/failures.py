"""How a run ends that cannot go on: the writes that fail it with a stated reason, whatever else has come in for it."""

from __future__ import annotations

import time

import msgspec

from turnout.model.events import ErrorInfo, clipped
from turnout.model.reasons import TURN_FAILED, reason_detail
from turnout.model.rows import HistoryRow, LoadedRun, RunRow, RunWrite
from turnout.model.states import TASK_TERMINAL, RunState, TaskState
from turnout.model.transition import Transition
from turnout.orchestration.active_run import ActiveRun
from turnout.orchestration.messages import PendingCommit


def error_of(error: BaseException) -> ErrorInfo:
    """What raised in a turn, as the run's error."""
    return ErrorInfo("TurnFailed", clipped(f"{type(error).__name__}: {error}"))


def given_up(owned: ActiveRun, error: ErrorInfo, reason: str = TURN_FAILED) -> PendingCommit:
    """The pending that fails a run, and answers what waits for its next turn."""
    transition = Transition(owned.machine, time.time())
    transition.reject(error, reason)
    write = transition.write()
    write.inbox_done = [answer.inbox for answer in owned.results if answer.inbox is not None]
    results, owned.results = owned.results, []
    return PendingCommit(owned, transition, write, [], results=results)


def unreadable(loaded: LoadedRun, error: BaseException) -> RunWrite:
    """The write that fails a run of which no machine can be made, such as one whose workflow cannot be read."""
    run, now = loaded.run, time.time()
    detail, seq = reason_detail(TURN_FAILED), run.seq
    write = RunWrite(run_id=run.new.run_id, epoch=run.epoch, tasks=[], history=[])
    for row in loaded.tasks:
        if row.state not in TASK_TERMINAL:
            seq += 1
            write.history.append(HistoryRow(seq, row.pos, row.state, TaskState.CANCELLED, row.attempt, detail))
            write.tasks.append(
                msgspec.structs.replace(
                    row,
                    state=TaskState.CANCELLED,
                    was=row.state,
                    was_attempt=row.attempt,
                    reason=TURN_FAILED,
                    retry_in=None,
                    poll_key=None,
                    output=None,
                    finished_at=now,
                    seq=seq,
                )
            )
    write.history.append(HistoryRow(seq + 1, -1, run.row.state, RunState.FAILED, 0, detail))
    write.run = RunRow(
        state=RunState.FAILED,
        was=run.row.state,
        reason=TURN_FAILED,
        error=error_of(error),
        started_at=run.row.started_at,
        finished_at=now,
    )
    return write
