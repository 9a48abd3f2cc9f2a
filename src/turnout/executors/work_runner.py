"""Runs attempts for ``Work.run``: those of executors that bring no threads of their own."""

from __future__ import annotations

from turnout.contracts.executor import Work
from turnout.errors import ExecutionFailed
from turnout.executors.thread import ThreadExecutor
from turnout.model.events import ExecutionResult, TaskReadyEvent
from turnout.runtime.attempt import Key, key_of

MAX_THREADS = 1_000
MAX_COROUTINES = 10_000
"""The executors that call it limit how many attempts run at once, by their capacity."""


class WorkRunner:
    """Runs any number of works side by side. Threads are started when they are needed, and kept for the next work."""

    def __init__(self) -> None:
        self._works: dict[Key, Work] = {}
        self._executor: ThreadExecutor = ThreadExecutor(MAX_THREADS, MAX_COROUTINES, "work", max_backlog=0)
        self._executor.bind(self)

    async def __call__(self, work: Work) -> ExecutionResult:
        """Returns the attempt's result. If the call is cancelled, so is the attempt."""
        key = key_of(work.event)
        if key in self._works:
            raise ExecutionFailed(f"attempt {work.event.attempt} of {work.event.task_id} runs here already")
        self._works[key] = work
        try:
            return await self._executor.execute(work.event)
        finally:
            del self._works[key]

    async def stop(self) -> None:
        """Ends idle threads; bodies that still run see ``info.cancelled``."""
        await self._executor.stop(0.0)

    # -- the loader of the executor -------------------------------------------------------------------------------
    async def load(self, event: TaskReadyEvent) -> Work:
        return self.load_blocking(event)

    def load_now(self, event: TaskReadyEvent) -> Work | None:
        return self.load_blocking(event)

    def load_blocking(self, event: TaskReadyEvent) -> Work:
        work = self._works.get(key_of(event))
        if work is None:
            raise ExecutionFailed(f"attempt {event.attempt} of {event.task_id} was cancelled before it began")
        return work
