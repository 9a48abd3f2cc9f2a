"""Finds the run that a request names, and holds the run of the examples."""

from __future__ import annotations

from turnout.errors import RunNotFound
from turnout.model.rows import StoredRun
from turnout.model.states import RunState
from turnout.server.api.types.runs import Run
from turnout.server.context import ServerContext
from turnout.server.responses import RUN_ID

EXAMPLE = Run(
    id=RUN_ID,
    workflow="public::embedded::fulfil",
    name="fulfil",
    version="b1946ac92492d2347c6235b4d2611184",
    state=RunState.RUNNING,
    created_at=1_760_000_000.0,
    started_at=1_760_000_000.1,
)


def find(context: ServerContext, run_id: str) -> StoredRun:
    """Returns the run with this id. Raises RunNotFound. Blocks."""
    run = context.store.run(run_id)
    if run is None:
        raise RunNotFound(f"there is no run {run_id[:64]!a}", run_id=run_id[:64])
    return run
