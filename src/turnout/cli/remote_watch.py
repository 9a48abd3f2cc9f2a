"""A run that a server drives, as it is displayed: its events are followed, and its tasks are read when they change."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext, suppress

import msgspec

from turnout.cli.api_client import ApiClient
from turnout.cli.event_stream import followed
from turnout.cli.logs import LineQueue
from turnout.cli.output import Line
from turnout.cli.remote_report import tasks_of, view_of
from turnout.errors import ServerUnavailable, StoreError
from turnout.model.driver import Driver
from turnout.model.logs import LogLine
from turnout.model.spec import WorkflowSpec
from turnout.model.states import TaskState
from turnout.runner.views import RunView, TaskView
from turnout.server.api.types.runs import Run

READ_INTERVAL = 0.2
"""Seconds between two reads of the tasks of a run in which something happens."""
WAIT_INTERVAL = 1.0
"""Seconds between two reads while a task waits: what it waits for is no event."""
READ_SHARE = 5
"""Reads of large runs are so many times rarer than they take long."""


class RemoteWatch:
    """One run of a server on display. Its events are read in a thread of its own until the run has ended."""

    interrupted = False
    """Ctrl-C ends the command: the run goes on."""

    def __init__(self, client: ApiClient, run: Run, spec: WorkflowSpec) -> None:
        self._client = client
        self._run_id = run.id
        self._run = run
        self._spec = spec
        self._queue = LineQueue()
        self._tasks: list[TaskView] = []
        self._begun: dict[str, int] = {}
        """Attempts begun, by task: once it has ended, the server no longer counts those that deferred it."""
        self._changed = True
        self._read_at = 0.0
        self._next_read = 0.0
        self._over = threading.Event()
        self._failure: BaseException | None = None
        self.began = time.time()
        threading.Thread(target=self._follow, name="turnout-events", daemon=True).start()

    @property
    def run_id(self) -> str:
        return self._run_id

    @property
    def spec(self) -> WorkflowSpec:
        return self._spec

    def display(self) -> AbstractContextManager[None]:
        return nullcontext()

    def tasks(self) -> list[TaskView]:
        if self._is_due():
            self._read()
        return self._tasks

    def progress(self, tasks: Sequence[TaskView]) -> dict[str, str]:
        return self._queue.progress_of(self._run_id, tasks)

    def status(self) -> tuple[RunView, Driver]:
        with suppress(ServerUnavailable, StoreError):  # it is as it was when it was last read
            self._run = self._client.get(f"/runs/{self._run_id}", Run)
        return view_of(self._run), self._run.driver or Driver.DRIVEN

    def new_lines(self) -> list[Line]:
        return self._queue.take()

    def remaining_lines(self) -> list[Line]:
        self._next_read, self._changed = 0.0, True
        return self._queue.take()

    def ended(self, within: float) -> bool:
        if not self._over.wait(within):
            return False
        if self._failure is not None:
            raise self._failure
        return True

    def _follow(self) -> None:
        try:
            for event in followed(self._client, f"/runs/{self._run_id}/events"):
                if event.name == "log":
                    line = msgspec.json.decode(event.data, type=LogLine)
                    self._queue.put(self._run_id, line.task, line.attempt, line.stream, line.text)
                elif event.name in ("task", "run"):
                    self._changed = True
        except BaseException as error:  # raised where the display waits for the end
            self._failure = error
        finally:
            self._over.set()

    def _is_due(self) -> bool:
        now = time.monotonic()
        waits = not self._tasks or any(task.state is TaskState.READY for task in self._tasks)
        return now >= self._next_read and (self._changed or (waits and now - self._read_at >= WAIT_INTERVAL))

    def _read(self) -> None:
        self._changed, self._read_at = False, time.monotonic()
        try:
            self._tasks = [self._counted(task) for task in tasks_of(self._client, self._run_id)[0]]
        except (ServerUnavailable, StoreError):
            if self._over.is_set():
                raise
            self._changed = True  # the stream is opened again, or says that the server is gone
        took = time.monotonic() - self._read_at
        self._next_read = time.monotonic() + max(READ_INTERVAL, READ_SHARE * took)

    def _counted(self, task: TaskView) -> TaskView:
        begun = self._begun[task.name] = max(task.begun, self._begun.get(task.name, 0))
        return task if begun == task.begun else msgspec.structs.replace(task, begun=begun)
