"""Runs attempts as asyncio tasks, one call of an executor's ``execute`` each."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TypeAlias

from turnout.contracts.executor import Report, TaskExecutor
from turnout.dispatcher.result_validation import accepted, nonsense, raised
from turnout.errors import ExecutionFailed
from turnout.model.events import ExecutionResult, TaskReadyEvent

log = logging.getLogger("turnout.dispatcher")

Reattach: TypeAlias = Callable[[TaskReadyEvent], Awaitable[ExecutionResult | None]]


class AttemptTask:
    """One call of ``execute`` and what was asked of it."""

    __slots__ = ("abandoned", "cancel_asked", "event", "report", "started", "task", "withdrawn")

    def __init__(self, event: TaskReadyEvent, report: Report) -> None:
        self.event = event
        self.report = report
        self.task: asyncio.Task[object]
        self.started: bool = False
        self.cancel_asked: bool = False
        self.abandoned: bool = False
        self.withdrawn: str | None = None
        """The reason for which it is taken back before it has begun."""


class AttemptTasks:
    """The running calls of one executor. Each attempt is reported once, unless it is abandoned, with a sound result."""

    def __init__(self, key: str, executor: TaskExecutor, reattach: Reattach | None, output_limit: int) -> None:
        self._key = key
        self._executor = executor
        self._reattach = reattach
        self._output_limit = output_limit
        self._attempts: dict[tuple[str, int, bool], AttemptTask] = {}
        self._stopping: bool = False
        self.starting: int = 0
        """How many were handed over and have not begun."""

    def of(self, event: TaskReadyEvent) -> AttemptTask | None:
        return self._attempts.get(_key_of(event))

    def execute_many(self, events: Sequence[TaskReadyEvent], report: Report) -> None:
        loop = asyncio.get_running_loop()
        for event in events:
            attempt = self._attempts[_key_of(event)] = AttemptTask(event, report)
            self.starting += 1
            attempt.task = loop.create_task(self._call(attempt))
            attempt.task.add_done_callback(partial(self._ended, attempt))

    def withdraw(self, events: Sequence[TaskReadyEvent], reason: str) -> list[TaskReadyEvent]:
        """Cancels those of these that have not begun; returns the others."""
        others: list[TaskReadyEvent] = []
        for event in events:
            attempt = self.of(event)
            # One that an earlier orchestrator handed over may have begun.
            if attempt is None or attempt.started or attempt.event.again:
                others.append(event)
            else:
                attempt.withdrawn = reason
                attempt.task.cancel()
        return others

    def abandon(self, event: TaskReadyEvent) -> None:
        """Cancels an attempt that has its result already: that it was cancelled is not reported."""
        attempt = self._attempts.pop(_key_of(event), None)
        if attempt is not None:
            attempt.abandoned = True
            attempt.task.cancel()

    def leave(self) -> int:
        """Ends the calls of attempts that go on elsewhere, and reports nothing of them. Returns how many those are."""
        left = tuple(self._attempts.values())
        for attempt in left:
            self.abandon(attempt.event)
        return len(left)

    async def stop(self, timeout: float) -> None:
        """Lets what runs end within the timeout, and cancels the rest."""
        self._stopping = True
        running = [attempt.task for attempt in self._attempts.values()]
        if running:
            _, late = await asyncio.wait(running, timeout=timeout)
            for task in late:
                task.cancel()

    async def _call(self, attempt: AttemptTask) -> object:
        attempt.started = True
        self.starting -= 1
        try:
            if attempt.event.again and self._reattach is not None:
                found = await self._reattach(attempt.event)
                return found or ExecutionResult.lost(attempt.event, f'executor "{self._key}" does not have it')
            answer: object = self._executor.execute(attempt.event)
            return await answer if inspect.isawaitable(answer) else answer
        except SystemExit as error:
            # Out of a task it would end the engine's event loop.
            raise ExecutionFailed(f'executor "{self._key}" called exit') from error

    def _ended(self, attempt: AttemptTask, task: asyncio.Task[object]) -> None:
        event = attempt.event
        if not attempt.started:
            self.starting -= 1
        if self.of(event) is attempt:
            del self._attempts[_key_of(event)]
        answer = self._answer(attempt, task)
        if attempt.abandoned and task.cancelled():
            return
        try:
            result = accepted(event, answer, self._key, self._output_limit)
        except Exception:
            log.exception("an answer of executor %s could not be read", self._key)
            result = nonsense(event, self._key, "an answer that cannot be read")
        attempt.report(result)

    def _answer(self, attempt: AttemptTask, task: asyncio.Task[object]) -> object:
        event = attempt.event
        if not task.cancelled():
            error = task.exception()
            return task.result() if error is None else raised(event, error)
        if attempt.cancel_asked:
            return ExecutionResult.cancelled(event)
        if attempt.withdrawn is not None and not attempt.started:
            return ExecutionResult.returned(event, attempt.withdrawn)
        if self._stopping:
            return ExecutionResult.lost(event, f'executor "{self._key}" was stopped')
        return raised(event, ExecutionFailed(f'executor "{self._key}" cancelled the attempt by itself'))


def _key_of(event: TaskReadyEvent) -> tuple[str, int, bool]:
    return event.task_id, event.attempt, event.shadow
