"""Makes the moves of a run that commands ask for: cancel, pause and resume; and of one that cannot go on."""

from __future__ import annotations

import msgspec

from turnout.model.events import ErrorInfo
from turnout.model.hooks import call_stuck, only_hooks_open, open_hooks
from turnout.model.reasons import PAUSED, RUN_TIMED_OUT, STORE_REJECTED
from turnout.model.states import (
    RUN_CANCELLING,
    RUN_RUNNING,
    TASK_READY,
    TASK_RUNNING,
    TASK_TERMINAL,
    RunState,
    TaskState,
)
from turnout.model.task_moves import TaskMoves

MAX_EXPLAINED = 256
"""Ready tasks that get the reason when a run is paused: thousands of items are not written for that alone."""


class RunMoves(TaskMoves, gc=False, eq=False):
    """The moves of a run, with those of its tasks that follow from them."""

    def set_wait_reason(self, pos: int, reason: str) -> None:
        """Sets the waiting reason of a task that this transition makes ready; the reason alone causes no commit."""
        row = self.settled().get(pos)
        if row is not None and row.state is TASK_READY and row.reason != reason:
            self.rows[pos] = msgspec.structs.replace(row, reason=reason)

    def update_wait_reason(self, pos: int, reason: str | None) -> None:
        """Sets the waiting reason of a ready task, also if it was ready before; this alone causes a commit."""
        row = self.task(pos)
        if row.state is TASK_READY and row.reason != reason:
            was = self.tasks[pos]
            if pos not in self.rows:
                row = msgspec.structs.replace(row, was=was.state, was_attempt=was.attempt)
            self.rows[pos] = msgspec.structs.replace(row, reason=reason)

    def cancel(self, reason: str, error: ErrorInfo | None = None) -> list[int]:
        """Begins to cancel: tasks that have not started end now. Returns the running tasks, which are to be stopped.

        Hooks continue. A second command to cancel ends them too.
        """
        state, hooks = self.run_row.state, self.machine.graph.hooks
        if state is RUN_CANCELLING and hooks and reason != RUN_TIMED_OUT:
            return self._end_hooks(reason)
        if state in (RUN_CANCELLING, RunState.COMPLETED, RunState.FAILED, RunState.CANCELLED):
            return []
        if hooks and reason == RUN_TIMED_OUT and only_hooks_open(self):
            return []  # Only hooks are late, and they do not affect how the run ends.
        self.move_run(RUN_CANCELLING, reason=reason, error=error)
        return self.go_on_cancelling()

    def go_on_cancelling(self) -> list[int]:
        """Ends tasks that have not started in a run that is being cancelled, except hooks; returns the running ones."""
        reason, hooks, mapped = self.run_row.reason, self.machine.graph.hooks, self.machine.graph.mapped
        running: list[int] = []
        for pos in range(len(self.tasks)):
            if pos in hooks:
                continue
            row = self.task(pos)
            if row.state is TASK_RUNNING:
                if pos not in mapped:  # A mapped task ends with the last of its items.
                    running.append(pos)
            elif row.state not in TASK_TERMINAL:
                self.stop(pos, TaskState.CANCELLED, reason)
        return running

    def call_stuck(self, hook: str) -> None:
        """Calls a hook because the run should have ended by now."""
        self.make(call_stuck(self, self.machine.graph.position[hook]))

    def stop_running(self, pos: int, reason: str) -> None:
        """Ends a running attempt without a result: a poller's, or one that does not answer a cancellation."""
        if self.task(pos).state is TASK_RUNNING:
            self.stop(pos, TaskState.CANCELLED, reason)

    def pause(self, reason: str = "paused") -> None:
        self.settled()
        if self.run_row.state in (RUN_RUNNING, RunState.PENDING):
            self.move_run(RunState.PAUSED, reason=reason)
            for pos in list(self.machine.ready)[:MAX_EXPLAINED]:
                self.update_wait_reason(pos, PAUSED)

    def resume(self) -> None:
        if self.run_row.state is RunState.PAUSED:
            self.move_run(RUN_RUNNING)
            for pos in self.machine.ready:
                if self.task(pos).reason == PAUSED:
                    self.update_wait_reason(pos, None)

    def reject(self, error: ErrorInfo, reason: str = STORE_REJECTED) -> None:
        """Fails the run because its data cannot be stored or used: cancels open tasks, and drops the data."""
        self.cancel(reason, error)
        for pos in range(len(self.tasks)):
            self.stop_running(pos, reason)
        self._end_hooks(reason)
        if not self.awaits_claim_check:
            self.move_run(RunState.FAILED, reason=reason, error=error)

    def _end_hooks(self, reason: str) -> list[int]:
        """Ends all open hooks, the running ones without waiting for their answer. Returns those that ran."""
        open_ = open_hooks(self)
        running = [pos for pos in open_ if self.task(pos).state is TASK_RUNNING]
        for pos in open_:
            self.stop(pos, TaskState.CANCELLED, reason)
        return running
