"""What travels between the stages: a run to be submitted, a turn on its way through the ledger, a run's end."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress

import msgspec

from turnout.model.events import TaskReadyEvent
from turnout.model.graph import Graph
from turnout.model.rows import NewRun, RunWrite, StoredRun, TaskRow
from turnout.model.run_machine import RunMachine
from turnout.model.transition import Transition
from turnout.orchestration.active_run import ActiveRun, PendingResult, RunCommand


class FinishedRun(msgspec.Struct):
    """How a run ended, for those who wait for it."""

    run: StoredRun
    machine: RunMachine | None
    """What its owner still had in memory, outputs included; None if another process ended it."""


class Submission(msgspec.Struct):
    """A run to be submitted. The garbage collector knows it: an error that it is refused with holds, in its traceback,
    the frame that holds the submission."""

    graph: Graph
    new: NewRun
    accepted: Future[str]
    """Gets the run's id once it is durable; another run's if the idempotency key was used before."""
    final: Future[FinishedRun]
    reuse: Sequence[TaskRow] = ()
    insert_started: bool = False
    """Its insert is on its way."""

    def accept(self, run_id: str) -> None:
        """Tell the caller, unless it was told before or has gone away, which cancels the future."""
        with suppress(InvalidStateError):
            self.accepted.set_result(run_id)

    def refuse(self, error: BaseException) -> None:
        with suppress(InvalidStateError):
            self.accepted.set_exception(error)


class PendingCommit(msgspec.Struct, gc=False):
    """A turn on its way through the ledger, and what is to be done when it is applied."""

    owned: ActiveRun
    transition: Transition
    write: RunWrite
    events: list[tuple[str, TaskReadyEvent]]
    """Attempts to hand over, by executor key; their places are reserved."""
    commands: Sequence[RunCommand] = ()
    to_cancel: Sequence[int] = ()
    results: Sequence[PendingResult] = ()
    """What the turn was made from: it comes back if the turn does not apply."""
    submission: Submission | None = None
