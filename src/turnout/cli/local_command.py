"""Cancels, pauses and resumes runs on a database, wherever they are driven."""

from __future__ import annotations

import time
from concurrent.futures import TimeoutError as NotYet

from turnout.cli.database import open_store
from turnout.contracts.store import Store
from turnout.errors import WaitTimedOut
from turnout.model.driver import Driver
from turnout.runner import Runner, RunView
from turnout.runner.live_sessions import live_orchestrators
from turnout.runner.open_runs import driver_of
from turnout.runner.run_commands import check_command
from turnout.runner.run_reader import find_run

CLAIM_TIMEOUT = 3.0
"""Seconds in which a live orchestrator that can drive a released run has claimed it."""
COMMAND_TIMEOUT = 60.0
"""Seconds in which the run's owner, or its successor, must have applied a command."""


def apply_command(wanted: str, kind: str, database: str | None, reason: str | None = None) -> tuple[RunView, Driver]:
    """Applies the command and returns the run as it is then, and its driver.

    A run that has an owner gets a command row. A run without one is claimed meanwhile by a Runner that starts nothing.
    """
    with open_store(database) as store:
        stored = find_run(store, wanted)
    check_command(stored, kind)
    run_id = stored.new.run_id
    with Runner(database, workflows=(), executors={}, drives=False, routing=None) as runner:
        try:
            runner.core.admin.command(run_id, kind, reason).result(COMMAND_TIMEOUT)
        except NotYet as error:
            raise WaitTimedOut(
                f"the {kind} of run {run_id} was not applied in {COMMAND_TIMEOUT:g} s; it stays requested",
                run_id=run_id,
            ) from error
        view = runner.get(run_id).status()
    with open_store(database) as store:
        return view, _driver(store, run_id)


def _driver(store: Store, run_id: str) -> Driver:
    """Returns the run's driver after the Runner of the command has released it; waits for others to claim it."""
    until = time.monotonic() + CLAIM_TIMEOUT
    while True:
        known = driver_of(store, find_run(store, run_id))
        if known is not Driver.NOT_DRIVEN or time.monotonic() > until or not live_orchestrators(store):
            return known
        time.sleep(0.1)
