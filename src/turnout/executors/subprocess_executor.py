"""What do executors have in common whose attempts are processes? A loop of their own that attends to each of them."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import msgspec

from turnout.contracts.executor import BatchExecutor, Loader, Report, Work
from turnout.errors import (
    AttemptFenced,
    DefinitionError,
    ExecutionFailed,
    ExecutorUnavailable,
    InputError,
    InvalidSetting,
    StoreUnreachable,
    StoreUnusable,
)
from turnout.model.durations import Duration, seconds
from turnout.model.events import NO_FAILURE, ExecutionResult, ExecutionStatus, ExecutorMetrics, TaskReadyEvent
from turnout.model.reasons import CANCELLED
from turnout.model.spec import TaskSpec
from turnout.model.values import MAX_BYTES
from turnout.runtime.attempt import Key, key_of
from turnout.runtime.outcome import describe

log = logging.getLogger(__name__)

STOPPING = "executor_stopping"
STOP_GRACE = 3.0
"""Seconds between SIGTERM and SIGKILL, at most, for what still runs when the executor stops."""


class RunningAttempt:
    """One attempt from being taken in until everything of it is gone."""

    def __init__(self, event: TaskReadyEvent, report: Report) -> None:
        self.event = event
        self.key = key_of(event)
        self.report = report
        self.task: asyncio.Task[None] | None = None
        self.ends_as: ExecutionResult | None = None
        """Why it is being ended early, if it is."""
        self.kill_grace: float | None = None
        self.started_at: float | None = None
        self.committed = False
        """Its process may begin it at any moment."""
        self.timer: asyncio.TimerHandle | None = None
        self.settled: asyncio.Event = asyncio.Event()
        """It has begun, or has ended."""

    def end(self, result: ExecutionResult, grace: float | None = None) -> None:
        """End it early, with this result once its processes are gone. The first to say so is heard."""
        if self.ends_as is None and self.task is not None and not self.task.done():
            self.ends_as = result
            self.kill_grace = grace
            self.task.cancel()

    def began(self, at: float, timeout: float | None) -> None:
        self.started_at = at
        if timeout is not None:
            loop = asyncio.get_running_loop()
            self.timer = loop.call_later(timeout, lambda: self.end(ExecutionResult.timed_out(self.event, timeout)))


class SubprocessExecutor(BatchExecutor, ABC):
    """Takes attempts in from any thread, runs each as a coroutine, and reports its result when its processes are gone.

    Nothing is started, not even the loop's thread, before the first attempt comes.
    """

    local: bool = True
    kinds: frozenset[str]
    enforces_timeouts: bool = True
    isolates: bool = True
    """Every attempt has a process of its own."""
    outlives: bool = False
    trusted: bool = False

    def __init__(self, name: str, places: int, grace: Duration, max_output_bytes: int = MAX_BYTES) -> None:
        if places < 1:
            raise InvalidSetting(f"executor {name!r} has {places} places: it needs at least one")
        self._name = name
        self._places = places
        self.grace: float = seconds(grace, f"grace of executor {name!r}")
        self._max_output_bytes = max_output_bytes
        self._loader: Loader | None = None
        self._live: dict[Key, RunningAttempt] = {}
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._room: asyncio.Semaphore
        self._closing = False
        self._executed = 0
        self._failed = 0
        self._seconds = 0.0

    @abstractmethod
    async def _run(self, attempt: RunningAttempt, work: Work) -> ExecutionResult:
        """Run the attempt. When this is cancelled, it ends what it has started before it lets go."""

    def _has_begun(self, attempt: RunningAttempt) -> bool:
        """Whether to end this attempt now would cost it."""
        return attempt.started_at is not None

    async def _close(self) -> None:
        """End what outlives attempts."""

    @property
    def name(self) -> str:
        return self._name

    @property
    def capacity(self) -> int:
        return self._places

    def capacity_of(self, body: str) -> int:
        return self._places

    def bind(self, loader: Loader) -> None:
        self._loader = loader

    def on_capacity(self, callback: Callable[[], None]) -> None:
        """Nothing is announced: places become free by results only."""

    def refuses(self, task: TaskSpec) -> str | None:
        return None

    def has_capacity(self) -> bool:
        return not self._closing and len(self._live) < self._places

    def metrics(self) -> ExecutorMetrics:
        return ExecutorMetrics(
            active_tasks=len(self._live),
            total_executed=self._executed,
            total_failed=self._failed,
            total_seconds=self._seconds,
            capacity=self._places,
            running=min(len(self._live), self._places),
        )

    # -- life -------------------------------------------------------------------------------------------------------
    async def start(self) -> None:
        self._closing = False

    async def stop(self, timeout: float) -> None:
        """Hand back what has not started; give the rest ``timeout`` seconds, then end it."""
        self._closing = True
        with self._lock:
            loop, thread, self._loop = self._loop, self._thread, None
        if loop is None or thread is None:
            return
        try:
            await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(self._wind_up(timeout), loop))
        finally:
            loop.call_soon_threadsafe(loop.stop)
        await asyncio.to_thread(thread.join, 5.0)

    async def _wind_up(self, timeout: float) -> None:
        for attempt in tuple(self._live.values()):
            if not self._has_begun(attempt):
                attempt.end(ExecutionResult.returned(attempt.event, STOPPING), 0.0)
        await self._all_ended(timeout)
        grace = min(self.grace, STOP_GRACE)
        for attempt in tuple(self._live.values()):
            attempt.end(ExecutionResult.lost(attempt.event, f"executor {self._name!r} was stopped"), grace)
        await self._all_ended(None)
        await self._close()

    async def _all_ended(self, timeout: float | None) -> None:
        tasks = [attempt.task for attempt in self._live.values() if attempt.task is not None]
        if tasks:
            await asyncio.wait(tasks, timeout=timeout)

    def _running_loop(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = loop = asyncio.new_event_loop()
                self._room = asyncio.Semaphore(self._places)
                self._thread = threading.Thread(target=_turn, args=(loop,), name=f"turnout-{self._name}", daemon=True)
                self._thread.start()
            return self._loop

    # -- taking attempts in -----------------------------------------------------------------------------------------
    async def execute(self, event: TaskReadyEvent) -> ExecutionResult:
        if key_of(event) in self._live:
            raise ExecutionFailed(f"attempt {event.attempt} of {event.task_id} runs here already")
        return await super().execute(event)

    def execute_many(self, events: Sequence[TaskReadyEvent], report: Report) -> None:
        """Take these in and return at once. An attempt that is here already is not run twice."""
        if self._loader is None:
            raise ExecutionFailed(f"executor {self._name!r} is not bound to a loader")
        if self._closing:
            for event in events:
                report(ExecutionResult.returned(event, STOPPING))
            return
        fresh = [RunningAttempt(event, report) for event in events if key_of(event) not in self._live]
        self._live.update((attempt.key, attempt) for attempt in fresh)
        self._running_loop().call_soon_threadsafe(self._begin, fresh)

    def cancel(self, event: TaskReadyEvent) -> None:
        """End this attempt as cancelled: its result comes when its processes are gone."""
        attempt, loop = self._live.get(key_of(event)), self._loop
        if attempt is not None and loop is not None:
            loop.call_soon_threadsafe(attempt.end, ExecutionResult.cancelled(event))

    def withdraw(self, events: Sequence[TaskReadyEvent], reason: str) -> Awaitable[None] | None:
        """Hand back those of these attempts that have not begun. Those that their processes have been given begin."""
        attempts, loop = [self._live.get(key_of(event)) for event in events], self._loop
        if loop is None or not any(attempts):
            return None
        found = [attempt for attempt in attempts if attempt is not None]
        return asyncio.wrap_future(asyncio.run_coroutine_threadsafe(_withdraw(found, reason), loop))

    def _begin(self, attempts: Sequence[RunningAttempt]) -> None:
        for attempt in attempts:
            attempt.task = asyncio.get_running_loop().create_task(self._attend(attempt))

    # -- running ----------------------------------------------------------------------------------------------------
    async def _attend(self, attempt: RunningAttempt) -> None:
        try:
            result = await self._outcome(attempt)
        except asyncio.CancelledError:
            result = attempt.ends_as or ExecutionResult.lost(attempt.event, "its executor let it go")
        except BaseException as error:
            result = ExecutionResult.failed(attempt.event, describe(error))
        if attempt.timer is not None:
            attempt.timer.cancel()
        if attempt.started_at is not None and result.started_at is None:
            result = msgspec.structs.replace(result, started_at=attempt.started_at, finished_at=time.time())
        self._report(attempt, result)

    async def _outcome(self, attempt: RunningAttempt) -> ExecutionResult:
        event = attempt.event
        async with self._room:
            try:
                work = await self._load(event)
            except (StoreUnreachable, StoreUnusable) as error:
                # Nothing has started: an outage must not use up the task's attempts.
                return ExecutionResult.returned(event, error.code)
            except Exception as error:
                return ExecutionResult.failed(event, describe(error), retryable=not isinstance(error, InputError))
            try:
                return await self._run(attempt, work)
            except AttemptFenced as error:
                return ExecutionResult.returned(event, error.code)
            except ExecutorUnavailable as error:
                return ExecutionResult.returned(event, error.message, unavailable=True)
            except (DefinitionError, InputError) as error:
                return ExecutionResult.failed(event, describe(error), retryable=False)

    async def _load(self, event: TaskReadyEvent) -> Work:
        assert self._loader is not None
        work = self._loader.load_now(event)
        return work if work is not None else await asyncio.to_thread(self._loader.load_blocking, event)

    def _report(self, attempt: RunningAttempt, result: ExecutionResult) -> None:
        self._live.pop(attempt.key, None)
        attempt.settled.set()
        if result.status is not ExecutionStatus.RETURNED:
            self._executed += 1
            self._failed += result.status not in NO_FAILURE
            if result.started_at is not None and result.finished_at is not None:
                self._seconds += result.finished_at - result.started_at
        try:
            attempt.report(result)
        except Exception:
            log.exception("the result of attempt %d of %s could not be handed in", result.attempt, result.task_id)


async def _withdraw(attempts: Sequence[RunningAttempt], reason: str) -> None:
    """To be run on the loop that attends to them; ends when each has begun or has ended. What a process has been given
    begins, unless its run is cancelled: to end that process would cost the attempt, if it was about to begin it."""
    for attempt in attempts:
        if not attempt.committed or (reason == CANCELLED and not attempt.settled.is_set()):
            attempt.end(ExecutionResult.returned(attempt.event, reason), 0.0)
    for attempt in attempts:
        await attempt.settled.wait()


async def until_done(*awaited: asyncio.Future[Any]) -> None:
    """Wait for futures that belong to others: cancelling the wait does not cancel them."""
    await asyncio.wait(awaited)


def _turn(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    loop.run_forever()
    loop.run_until_complete(loop.shutdown_default_executor())
    loop.close()
