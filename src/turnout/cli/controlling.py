"""How is a run cancelled, paused or resumed from outside of the process that drives it?"""

from __future__ import annotations

import time
from concurrent.futures import TimeoutError as NotYet

from turnout.cli.opening import open_store
from turnout.contracts.store import Store
from turnout.errors import InvalidInput, WaitTimedOut
from turnout.model.driver import Driver
from turnout.model.rows import StoredRun
from turnout.model.states import RunState
from turnout.runner import Runner, RunView
from turnout.runner.drivers import driver_of
from turnout.runner.lookup import find_run
from turnout.runner.orchestrators import live_orchestrators

CLAIMED_WITHIN = 3.0
"""Seconds in which an orchestrator that is there, and can drive it, has claimed a run that was let go."""
PATIENCE = 60.0
"""Seconds in which the run's owner, or its successor, must have carried out a command."""


def control(wanted: str, kind: str, database: str | None, reason: str | None = None) -> tuple[RunView, Driver]:
    """Carry out the command and return the run as it is then, and what is known of its driver.

    A run that has an owner gets a command row. One that has none is claimed for as long as it takes, by a Runner that
    starts nothing.
    """
    with open_store(database) as store:
        stored = find_run(store, wanted)
    _check(stored, kind)
    run_id = stored.new.run_id
    with Runner(database, workflows=(), executors={}, drives=False, routing=None) as runner:
        try:
            runner.core.admin.command(run_id, kind, reason).result(PATIENCE)
        except NotYet as error:
            raise WaitTimedOut(
                f"nobody has carried out the {kind} of run {run_id} in {PATIENCE:g} s; it stays asked for",
                run_id=run_id,
            ) from error
        view = runner.get(run_id).status()
    with open_store(database) as store:
        return view, _driver(store, run_id)


def _driver(store: Store, run_id: str) -> Driver:
    """Who drives it once the Runner that may have claimed it for the command has let it go; others need a moment."""
    until = time.monotonic() + CLAIMED_WITHIN
    while True:
        known = driver_of(store, find_run(store, run_id))
        if known is not Driver.NOT_DRIVEN or time.monotonic() > until or not live_orchestrators(store):
            return known
        time.sleep(0.1)


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
