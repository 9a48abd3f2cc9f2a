"""Checks whether a run can be cancelled, paused or resumed."""

from __future__ import annotations

from turnout.errors import InvalidInput
from turnout.model.rows import StoredRun
from turnout.model.states import RunState


def check_command(run: StoredRun, kind: str) -> None:
    """Raises InvalidInput if the run has ended, or is being cancelled and is to be paused or resumed."""
    check_open(run, kind)
    if kind in ("pause", "resume") and run.row.state is RunState.CANCELLING:
        raise InvalidInput(f"run {run.new.run_id} is being cancelled: it cannot {kind}", code="run_cancelling")


def check_open(run: StoredRun, kind: str) -> None:
    """Raises InvalidInput if the run has ended."""
    if run.row.state.terminal:
        raise InvalidInput(
            f"run {run.new.run_id} is {run.row.state} already: there is nothing to {kind}",
            code="run_ended",
            hint="`turnout runs rerun RUN` makes a new run of it",
        )
