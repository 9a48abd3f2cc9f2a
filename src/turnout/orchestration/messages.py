"""Defines what travels between the stages: submissions, pending commits, finished runs, commits that fail a run."""

from __future__ import annotations

import time
from collections.abc import Sequence

import msgspec

from turnout.model.events import ErrorInfo, TaskReadyEvent, clipped
from turnout.model.graph import Graph
from turnout.model.limits import LimitUse
from turnout.model.reasons import TURN_FAILED, reason_detail
from turnout.model.rows import HistoryRow, LoadedRun, NewRun, RunRow, RunWrite, StoredRun, TaskRow
from turnout.model.run_machine import RunMachine
from turnout.model.states import TASK_TERMINAL, RunState, TaskState
from turnout.model.transition import Transition
from turnout.orchestration.active_runs import ActiveRun, PendingResult, RunCommand
from turnout.orchestration.reply import Reply


class FinishedRun(msgspec.Struct):
    """A run that has ended."""

    run: StoredRun
    machine: RunMachine | None
    """The run in its owner's memory, outputs included; None if another process ended it."""


class Submission(msgspec.Struct):
    """A run to be submitted. The garbage collector tracks it: the traceback of an error that it is refused with holds
    the frame that holds the submission."""

    graph: Graph
    new: NewRun
    accepted: Reply[str]
    """Resolves to the run's id once it is durable; to another run's if the idempotency key was used before."""
    final: Reply[FinishedRun]
    """Resolves when the run has ended."""
    reuse: Sequence[TaskRow] = ()
    warnings: tuple[str, ...] = ()
    """What the caller is told about where its tasks go."""
    unowned: bool = False
    """True if the run is stored without an owner, for any orchestrator to claim."""
    limits: tuple[LimitUse, ...] = ()
    """Limits whose slots the run waits for before it may be claimed."""
    insert_started: bool = False
    """True once its insert was handed to the ledger."""

    def accept(self, run_id: str) -> None:
        """Answers the caller, unless it was answered before."""
        self.accepted.set_result(run_id)

    def refuse(self, error: BaseException) -> None:
        self.accepted.set_exception(error)


class PendingCommit(msgspec.Struct, gc=False):
    """A transition in the ledger, and its effects once it is applied."""

    owned: ActiveRun
    transition: Transition
    write: RunWrite
    events: list[tuple[str, TaskReadyEvent]]
    """Attempts to dispatch, by executor key; their slots are reserved."""
    commands: Sequence[RunCommand] = ()
    to_cancel: Sequence[int] = ()
    results: Sequence[PendingResult] = ()
    """The results that the transition was computed from. They return to the run if it is not applied."""
    submission: Submission | None = None


def error_of(error: BaseException) -> ErrorInfo:
    """Returns an exception of a transition as the run's error."""
    return ErrorInfo("TurnFailed", clipped(f"{type(error).__name__}: {error}"))


def given_up(owned: ActiveRun, error: ErrorInfo, reason: str = TURN_FAILED) -> PendingCommit:
    """Returns the commit that fails a run, and consumes the results that wait for its next transition."""
    transition = Transition(owned.machine, time.time())
    transition.reject(error, reason)
    write = transition.write()
    write.inbox_done = [pending.inbox for pending in owned.results if pending.inbox is not None]
    results, owned.results = owned.results, []
    return PendingCommit(owned, transition, write, [], results=results)


def unreadable(loaded: LoadedRun, error: BaseException) -> RunWrite:
    """Returns the write that fails a run of which no machine can be made, for example with an unreadable workflow."""
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
