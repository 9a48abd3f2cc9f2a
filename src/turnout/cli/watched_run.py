"""A run that this process drives, as it is displayed: its tasks, its output and the interrupt that cancels it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

import msgspec

from turnout.cli.interrupt import Interrupt
from turnout.cli.logs import LineQueue
from turnout.cli.output import Line
from turnout.errors import WaitTimedOut
from turnout.model.driver import Driver
from turnout.model.rows import TaskRow
from turnout.model.spec import WorkflowSpec
from turnout.model.states import TaskState
from turnout.runner import RunHandle
from turnout.runner.core import Core
from turnout.runner.views import RunView, TaskView, task_view


class WatchedRun:
    """A run on display, with its output and the interrupt that cancels it."""

    def __init__(
        self, core: Core, handle: RunHandle[Any], spec: WorkflowSpec, queue: LineQueue, interrupt: Interrupt
    ) -> None:
        self.core = core
        self.handle = handle
        self.spec = spec
        self.began = time.time()
        self.queue = queue
        self.interrupt = interrupt
        self._due: dict[str, tuple[TaskRow, float]] = {}
        """Tasks that wait for a time, with the row that holds the delay and when it ends."""
        self._begun: dict[str, int] = {}
        """Attempts begun, by unfinished task: the rows of ended tasks no longer have the memo."""

    @property
    def run_id(self) -> str:
        return self.handle.id

    @property
    def interrupted(self) -> bool:
        return self.interrupt.asked

    def display(self) -> AbstractContextManager[None]:
        return self.interrupt.display()

    def tasks(self) -> list[TaskView]:
        return [self._view(row) for row in self.core.reader.look(self.handle.id)]

    def _view(self, row: TaskRow) -> TaskView:
        """Returns the task as it is now. The delay in a row in memory is that of its beginning."""
        view = task_view(row)
        if row.memo is not None and not row.state.terminal:
            self._begun[row.name] = view.begun
        elif row.name in self._begun:
            view = msgspec.structs.replace(view, begun=max(view.begun, self._begun[row.name]))
        if row.retry_in is None or row.state is not TaskState.READY:
            return view
        now, known = time.monotonic(), self._due.get(row.name)
        if known is None or known[0] is not row:
            known = self._due[row.name] = row, now + row.retry_in
        return msgspec.structs.replace(view, retry_in=max(0.0, known[1] - now))

    def progress(self, tasks: Sequence[TaskView]) -> dict[str, str]:
        return self.queue.progress_of(self.handle.id, tasks)

    def status(self) -> tuple[RunView, Driver]:
        return self.handle.status(), self.handle.driver()

    def new_lines(self) -> list[Line]:
        return self.queue.take()

    def remaining_lines(self) -> list[Line]:
        """Returns the lines not shown yet, once the run has ended."""
        if self.core.log_writer is not None:
            self.core.log_writer.flush(ended=self.handle.id)
        return self.queue.take()

    def ended(self, within: float) -> bool:
        """Returns True if the run ends within this time. Cancels it if that was asked for."""
        self.interrupt.cancel(self.handle)
        try:
            self.handle.wait(within)
        except WaitTimedOut:
            return False
        return True
