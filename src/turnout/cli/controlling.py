"""How is a run cancelled, paused or resumed from outside of the process that drives it?"""

from __future__ import annotations

from concurrent.futures import TimeoutError as NotYet

from turnout.cli.opening import open_store
from turnout.errors import InvalidInput, WaitTimedOut
from turnout.model.rows import StoredRun
from turnout.model.states import RunState
from turnout.runner import Runner, RunView
from turnout.runner.lookup import find_run

PATIENCE = 60.0
"""Seconds in which the run's owner, or its successor, must have carried out a command."""


def control(wanted: str, kind: str, database: str | None, reason: str | None = None) -> RunView:
    """Carry out the command and return the run as it is then.

    A run that has an owner gets a command row. One that has none is claimed for as long as it takes, by a Runner that
    starts nothing.
    """
    with open_store(database) as store:
        stored = find_run(store, wanted)
    _check(stored, kind)
    run_id = stored.new.run_id
    with Runner(database, workflows=(), executors={}, drives=False, routing=None) as runner:
        try:
            runner.core.command(run_id, kind, reason).result(PATIENCE)
        except NotYet as error:
            raise WaitTimedOut(
                f"nobody has carried out the {kind} of run {run_id} in {PATIENCE:g} s; it stays asked for",
                run_id=run_id,
            ) from error
        return runner.get(run_id).status()


def _check(stored: StoredRun, kind: str) -> None:
    state = stored.row.state
    if state.terminal:
        raise InvalidInput(
            f"run {stored.new.run_id} is {state} already: there is nothing to {kind}",
            code="run_ended",
            hint="`turnout runs rerun RUN` makes a new run of it",
        )
    if kind in ("pause", "resume") and state is RunState.CANCELLING:
        raise InvalidInput(f"run {stored.new.run_id} is being cancelled: it cannot {kind}", code="run_cancelling")
