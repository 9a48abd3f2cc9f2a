"""Holds the core of executors whose attempts are processes: one event loop, in a thread of its own, waits for all."""

from __future__ import annotations

import asyncio
import threading
import time
from abc import abstractmethod
from collections.abc import Awaitable, Sequence
from typing import Any

import msgspec

from turnout.contracts.executor import Report, Work
from turnout.errors import AttemptFenced, DefinitionError, ExecutorUnavailable, InputError, InvalidSetting
from turnout.executors.local_executor import STOPPING, LocalExecutor, not_loaded
from turnout.model.durations import Duration, seconds
from turnout.model.events import ExecutionResult, ExecutorMetrics, TaskReadyEvent
from turnout.model.reasons import CANCELLED
from turnout.model.values import MAX_BYTES
from turnout.runtime.attempt import Key, key_of
from turnout.runtime.outcome import describe

MAX_STOP_GRACE = 3.0
"""Seconds between SIGTERM and SIGKILL, at most, for what still runs when the executor stops."""
JOIN_TIMEOUT = 5.0


class RunningAttempt:
    """One attempt, from its acceptance until its processes have ended."""

    def __init__(self, key: Key, event: TaskReadyEvent, report: Report) -> None:
        self.key = key
        self.event = event
        self.report = report
        self.task: asyncio.Task[None] | None = None
        self.ends_as: ExecutionResult | None = None
        """The result with which it is being ended early; None if it is not."""
        self.kill_grace: float | None = None
        self.started_at: float | None = None
        self.committed = False
        """Its process may begin it at any moment."""
        self.timer: asyncio.TimerHandle | None = None
        self.settled: asyncio.Event = asyncio.Event()
        """Set when it has begun, or has ended."""

    def end(self, result: ExecutionResult, grace: float | None = None) -> None:
        """Ends it early, with this result once its processes are gone. Only the first call counts."""
        if self.ends_as is None and self.task is not None and not self.task.done():
            self.ends_as = result
            self.kill_grace = grace
            self.task.cancel()

    def began(self, at: float, timeout: float | None) -> None:
        self.started_at = at
        if timeout is not None:
            loop = asyncio.get_running_loop()
            self.timer = loop.call_later(timeout, lambda: self.end(ExecutionResult.timed_out(self.event, timeout)))


class SubprocessExecutor(LocalExecutor[RunningAttempt]):
    """Accepts attempts from any thread, runs each as a coroutine, and reports its result when its processes are gone.

    Nothing is started, not even the loop's thread, before the first attempt comes.
    """

    kinds: frozenset[str]
    isolates: bool = True
    """Every attempt has a process of its own."""
    trusted: bool = False

    def __init__(self, name: str, slots: int, grace: Duration, max_output_bytes: int = MAX_BYTES) -> None:
        if slots < 1:
            raise InvalidSetting(f"executor {name!r} has {slots} slots: it needs at least one")
        super().__init__(name, max_output_bytes, RunningAttempt)
        self._slots = slots
        self.grace: float = seconds(grace, f"grace of executor {name!r}")
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._free_slots: asyncio.Semaphore

    @abstractmethod
    async def _run(self, attempt: RunningAttempt, work: Work) -> ExecutionResult:
        """Runs the attempt. When this is cancelled, it ends what it has started before it returns."""

    def _has_begun(self, attempt: RunningAttempt) -> bool:
        """True if ending this attempt now would make it lost."""
        return attempt.started_at is not None

    async def _close(self) -> None:
        """Ends the processes that are kept between attempts."""

    @property
    def capacity(self) -> int:
        return self._slots

    def capacity_of(self, body: str) -> int:
        return self._slots

    def metrics(self) -> ExecutorMetrics:
        running = min(len(self._live), self._slots)
        return msgspec.structs.replace(super().metrics(), capacity=self._slots, running=running)

    # -- start and stop ---------------------------------------------------------------------------------------------
    async def start(self) -> None:
        self._closing = False

    async def stop(self, timeout: float) -> None:
        """Hands back what has not started; gives the rest ``timeout`` seconds, then ends it."""
        self._closing = True
        with self._lock:
            loop, thread, self._loop = self._loop, self._thread, None
        if loop is None or thread is None:
            return
        try:
            await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(self._drain(timeout), loop))
        finally:
            loop.call_soon_threadsafe(loop.stop)
        await asyncio.to_thread(thread.join, JOIN_TIMEOUT)

    async def _drain(self, timeout: float) -> None:
        for attempt in tuple(self._live.values()):
            if not self._has_begun(attempt):
                attempt.end(ExecutionResult.returned(attempt.event, STOPPING), 0.0)
        await self._all_ended(timeout)
        grace = min(self.grace, MAX_STOP_GRACE)
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
                self._free_slots = asyncio.Semaphore(self._slots)
                name = f"turnout-{self._name}"
                self._thread = threading.Thread(target=_run_loop, args=(loop,), name=name, daemon=True)
                self._thread.start()
            return self._loop

    # -- accepting attempts -----------------------------------------------------------------------------------------
    def _begin(self, attempts: Sequence[RunningAttempt]) -> None:
        self._running_loop().call_soon_threadsafe(self._create_tasks, attempts)

    def cancel(self, event: TaskReadyEvent) -> None:
        """Ends this attempt as cancelled: its result comes when its processes are gone."""
        attempt, loop = self._live.get(key_of(event)), self._loop
        if attempt is not None and loop is not None:
            loop.call_soon_threadsafe(attempt.end, ExecutionResult.cancelled(event))

    def withdraw(self, events: Sequence[TaskReadyEvent], reason: str) -> Awaitable[None] | None:
        """Hands back those of these attempts that have not begun. Those that their processes have been given begin."""
        attempts, loop = [self._live.get(key_of(event)) for event in events], self._loop
        if loop is None or not any(attempts):
            return None
        found = [attempt for attempt in attempts if attempt is not None]
        return asyncio.wrap_future(asyncio.run_coroutine_threadsafe(_withdraw(found, reason), loop))

    def _create_tasks(self, attempts: Sequence[RunningAttempt]) -> None:
        for attempt in attempts:
            attempt.task = asyncio.get_running_loop().create_task(self._run_attempt(attempt))

    # -- running ----------------------------------------------------------------------------------------------------
    async def _run_attempt(self, attempt: RunningAttempt) -> None:
        try:
            result = await self._outcome(attempt)
        except asyncio.CancelledError:
            result = attempt.ends_as or ExecutionResult.lost(attempt.event, "its executor dropped it")
        except BaseException as error:
            result = ExecutionResult.failed(attempt.event, describe(error))
        if attempt.timer is not None:
            attempt.timer.cancel()
        if attempt.started_at is not None and result.started_at is None:
            result = msgspec.structs.replace(result, started_at=attempt.started_at, finished_at=time.time())
        self._live.pop(attempt.key, None)
        attempt.settled.set()
        self._report(attempt, result)

    async def _outcome(self, attempt: RunningAttempt) -> ExecutionResult:
        event = attempt.event
        async with self._free_slots:
            try:
                work = await self._load(event)
            except Exception as error:
                return not_loaded(event, error)
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


async def _withdraw(attempts: Sequence[RunningAttempt], reason: str) -> None:
    """Ends when each attempt has begun or has ended; runs on their loop. What a process has been given begins, unless
    its run is cancelled: to end that process would cost the attempt, if it was about to begin it."""
    for attempt in attempts:
        if not attempt.committed or (reason == CANCELLED and not attempt.settled.is_set()):
            attempt.end(ExecutionResult.returned(attempt.event, reason), 0.0)
    for attempt in attempts:
        await attempt.settled.wait()


async def until_done(*awaited: asyncio.Future[Any]) -> None:
    """Waits for futures that belong to others: cancelling the wait does not cancel them."""
    await asyncio.wait(awaited)


def _run_loop(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    loop.run_forever()
    loop.run_until_complete(loop.shutdown_default_executor())
    loop.close()
