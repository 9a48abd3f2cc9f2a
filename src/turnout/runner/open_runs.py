"""The runs of a database that have not ended: how many, and of the latest what they do and what they wait for."""

from __future__ import annotations

import msgspec

from turnout.contracts.store import Store
from turnout.model.driver import Driver
from turnout.model.states import RUN_TERMINAL, RunState, TaskState
from turnout.runner.drivers import drivers_of, open_counts
from turnout.runner.views import RunView, run_view

SHOWN = 50
"""Of so many runs the tasks are counted."""


class OpenRun(msgspec.Struct, frozen=True):
    """One run, and its tasks by state."""

    view: RunView
    tasks: dict[TaskState, int]
    reason: str | None = None
    """Of a task that could start: what it waits for."""
    driver: Driver = Driver.DRIVEN

    @property
    def working(self) -> bool:
        return self.driver is Driver.DRIVEN and self.tasks.get(TaskState.RUNNING, 0) > 0


class OpenRuns(msgspec.Struct, frozen=True):
    """The latest runs, how many there are by state, and how many of them nobody drives."""

    latest: tuple[OpenRun, ...] = ()
    counts: dict[RunState, int] = {}
    not_driven: int = 0


NO_RUNS = OpenRuns()


def open_runs(store: Store) -> OpenRuns:
    """The runs that have not ended, newest first."""
    found = [run for run in store.open_runs(SHOWN) if run.row.state not in RUN_TERMINAL]
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
