"""Reads the log lines of a run in pages, once or as they are written."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator

from turnout.contracts.store import Store
from turnout.errors import InvalidInput, RunNotFound
from turnout.model.logs import LogLine
from turnout.model.names import suggest
from turnout.orchestration.upkeep.log_writer import LogWriter

LOGS_PAGE_SIZE = 1_000
FOLLOW_INTERVAL = 0.2
"""Seconds between two reads of a reader that follows."""
LATE_LINES_TIMEOUT = 0.5
"""Seconds after the end of a run in which lines of other processes may still arrive."""


class LogReader:
    """Returns pages of lines until there are no more. Every method may wait for the store."""

    def __init__(self, store: Store, writer: LogWriter | None, run_id: str, *, follow: bool = False) -> None:
        self._store = store
        self._writer = writer
        self._run_id = run_id
        self._follow = follow
        self._task: str | None = None
        self._attempt: int | None = None
        self._after = 0
        self._ended: float | None = None
        """When the run was first seen to have ended."""
        self.over = False

    def begin(self, task: str | None, attempt: int | None) -> LogReader:
        """Checks that the run and the task exist, and flushes this process's own lines."""
        run = self._store.run(self._run_id)
        if run is None:
            raise RunNotFound(f"there is no run {self._run_id}", run_id=self._run_id)
        if task is not None:
            names = [row.name for row in self._store.tasks(self._run_id, outputs=False)]
            if not any(name == task or name.startswith(f"{task}[") for name in names):
                raise InvalidInput(
                    f"run {self._run_id} has no task {task!r}{suggest(task, names)}", code="unknown_task", task=task
                )
        self._run_id, self._task, self._attempt = run.new.run_id, task, attempt
        self._flush(ended=run.row.state.terminal)
        return self

    def page(self) -> list[LogLine]:
        """Returns the next lines, none if there are none now. ``over`` is True once no more can come."""
        if self._follow and self._ended is None:
            run = self._store.run(self._run_id)
            if run is None or run.row.state.terminal:
                self._ended = time.monotonic()
                self._flush(ended=True)
        since = self._ended
        lines = self._store.logs(
            self._run_id, task=self._task, attempt=self._attempt, after=self._after, limit=LOGS_PAGE_SIZE
        )
        if lines:
            self._after = lines[-1].id
        if not self._follow:
            self.over = len(lines) < LOGS_PAGE_SIZE
        elif not lines and since is not None:
            self.over = time.monotonic() - since >= LATE_LINES_TIMEOUT
        return lines

    def _flush(self, *, ended: bool) -> None:
        if self._writer is not None:
            self._writer.flush(ended=self._run_id if ended else None)


def lines_of(reader: LogReader) -> Iterator[LogLine]:
    while not reader.over:
        lines = reader.page()
        yield from lines
        if not lines and not reader.over:
            time.sleep(FOLLOW_INTERVAL)


async def lines_of_async(
    reader: LogReader, task: str | None = None, attempt: int | None = None
) -> AsyncIterator[LogLine]:
    await asyncio.to_thread(reader.begin, task, attempt)
    while not reader.over:
        lines = await asyncio.to_thread(reader.page)
        for line in lines:
            yield line
        if not lines and not reader.over:
            await asyncio.sleep(FOLLOW_INTERVAL)
