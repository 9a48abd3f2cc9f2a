"""Reads the runs of a database that have not ended, with what they wait for and whether they are driven."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from turnout.contracts.store import Store
from turnout.model.driver import Driver, driver
from turnout.model.rows import Holder, StoredRun
from turnout.model.states import RUN_TERMINAL, RunState, TaskState
from turnout.orchestration.session import process_is_gone
from turnout.runner.views import RunView, run_view

MAX_SHOWN_RUNS = 50
"""Runs whose tasks are counted, at most."""


class OpenRun(msgspec.Struct, frozen=True):
    """One run, and its tasks by state."""

    view: RunView
    tasks: dict[TaskState, int]
    reason: str | None = None
    """What a ready task waits for."""
    driver: Driver = Driver.DRIVEN

    @property
    def working(self) -> bool:
        return self.driver is Driver.DRIVEN and self.tasks.get(TaskState.RUNNING, 0) > 0


class OpenRuns(msgspec.Struct, frozen=True):
    """The latest runs, the number of runs by state, and how many of them are not driven."""

    latest: tuple[OpenRun, ...] = ()
    counts: dict[RunState, int] = {}
    not_driven: int = 0


NO_RUNS = OpenRuns()


def open_runs(store: Store) -> OpenRuns:
    """Returns the runs that have not ended, newest first."""
    found = [run for run in store.open_runs(MAX_SHOWN_RUNS) if run.row.state not in RUN_TERMINAL]
    counted = store.task_counts([run.new.run_id for run in found])
    known = zip(found, drivers_of(store, found), strict=True)
    counts = open_counts(store)
    return OpenRuns(
        tuple(_open_run(run_view(run), counted.get(run.new.run_id, []), driver) for run, driver in known),
        counts.states,
        counts.not_driven,
    )


def _open_run(view: RunView, counted: list[tuple[TaskState, int, str | None]], driver: Driver) -> OpenRun:
    reasons = {state: reason for state, _, reason in counted}
    return OpenRun(view, {state: count for state, count, _ in counted}, reasons.get(TaskState.READY), driver)


def drivers_of(store: Store, runs: Sequence[StoredRun]) -> list[Driver]:
    """Returns for each of these runs whether it is driven."""
    owners = sorted({run.owner for run in runs if run.owner is not None and not run.row.state.terminal})
    known = store.holders(owners) if owners else {}
    gone = {name for name, holder in known.items() if process_is_gone(holder.session)}
    return [
        driver(run.row.state, known.get(run.owner or ""), gone=run.owner in gone, queued=run.queued) for run in runs
    ]


def driver_of(store: Store, run: StoredRun) -> Driver:
    return drivers_of(store, [run])[0]


class OpenCounts(msgspec.Struct, frozen=True):
    """The runs of a database that have not ended."""

    states: dict[RunState, int]
    unfinished: int
    not_driven: int


NONE_OPEN = OpenCounts({}, 0, 0)


def open_counts(store: Store) -> OpenCounts:
    """Returns how many there are, and how many of them are not driven."""
    waiting = store.waiting()
    owners: dict[str, int] = waiting["owners"]
    known = store.holders(sorted(owners)) if owners else {}
    driven = sum(count for owner, count in owners.items() if _drives(known.get(owner)))
    states = {RunState(state): counts["owned"] + counts["unowned"] for state, counts in waiting["runs"].items()}
    return OpenCounts(states, waiting["unfinished"], waiting["unfinished"] - driven - waiting["queued"])


def _drives(owner: Holder | None) -> bool:
    """True if runs of this owner that have not ended are driven."""
    gone = owner is not None and process_is_gone(owner.session)
    return driver(RunState.RUNNING, owner, gone=gone) is Driver.DRIVEN
