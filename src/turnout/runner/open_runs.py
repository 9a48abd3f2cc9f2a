"""The runs of a database that have not ended: how many, and of the latest what they do and what they wait for."""

from __future__ import annotations

import msgspec

from turnout.contracts.store import Store
from turnout.model.states import RUN_TERMINAL, RunState, TaskState
from turnout.runner.views import RunView, run_view

SHOWN = 50
"""Of so many runs the tasks are counted."""


class OpenRun(msgspec.Struct, frozen=True):
    """One run, and its tasks by state."""

    view: RunView
    tasks: dict[TaskState, int]
    reason: str | None = None
    """Of a task that could start: what it waits for."""

    @property
    def working(self) -> bool:
        return self.tasks.get(TaskState.RUNNING, 0) > 0


class OpenRuns(msgspec.Struct, frozen=True):
    """The latest runs, and how many there are by state, driven or not."""

    latest: tuple[OpenRun, ...] = ()
    counts: dict[str, int] = {}
    unowned: int = 0


NO_RUNS = OpenRuns()


def open_runs(store: Store) -> OpenRuns:
    """The runs that have not ended, newest first."""
    states = [state for state in RunState if state not in RUN_TERMINAL]
    views = [run_view(run) for run in store.open_runs(SHOWN) if run.row.state in states]
    counted = store.task_counts([view.id for view in views])
    waiting = {state: counts for state, counts in store.waiting()["runs"].items() if RunState(state) in states}
    return OpenRuns(
        tuple(_open_run(view, counted.get(view.id, [])) for view in views),
        {state: counts["owned"] + counts["unowned"] for state, counts in waiting.items()},
        sum(counts["unowned"] for counts in waiting.values()),
    )


def _open_run(view: RunView, counted: list[tuple[TaskState, int, str | None]]) -> OpenRun:
    reasons = {state: reason for state, _, reason in counted}
    return OpenRun(view, {state: count for state, count, _ in counted}, reasons.get(TaskState.READY))
