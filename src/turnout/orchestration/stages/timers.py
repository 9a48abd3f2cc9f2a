"""Delays of runs: until a task may be retried, until a run times out, until a cancelled attempt is given up."""

from __future__ import annotations

import time

from turnout.model.events import ExecutionResult, TaskReadyEvent
from turnout.model.names import split_task_id
from turnout.model.reasons import RUN_TIMED_OUT
from turnout.model.rows import TaskRow
from turnout.orchestration.active_run import ActiveRun, RunCommand
from turnout.orchestration.active_runs import ActiveRuns
from turnout.orchestration.background import Background


class RunTimers:
    """Timers of the runs that are driven here. A run's next owner sets them anew from what is stored."""

    def __init__(self, runs: ActiveRuns, background: Background, cancel_grace: float) -> None:
        self._runs = runs
        self._background = background
        self._cancel_grace = cancel_grace

    def retry(self, owned: ActiveRun, row: TaskRow) -> None:
        """Brings the run back when this ready task may start."""

        def due() -> None:
            if not owned.dropped:
                owned.machine.clear_delay(row.pos)
                self._runs.enqueue(owned)

        self._background.later(row.retry_in or 0.0, due)

    def deadline(self, owned: ActiveRun, age: float) -> None:
        """Cancels the run when its timeout is over."""
        timeout = owned.machine.new.timeout
        if timeout is not None and not owned.machine.row.state.terminal:
            order, left = RunCommand("cancel", RUN_TIMED_OUT), max(0.0, timeout - age)
            owned.ends_at = time.monotonic() + left
            owned.timer = self._background.later(left, lambda: self._runs.command(owned, order))

    def give_up(self, owned: ActiveRun, event: TaskReadyEvent) -> None:
        """Ends the run without this attempt if it does not answer its cancellation."""

        def overdue() -> None:
            if not owned.dropped:
                self._runs.deliver(owned, split_task_id(event.task_id)[1], ExecutionResult.cancelled(event))

        self._background.later(self._cancel_grace, overdue)
