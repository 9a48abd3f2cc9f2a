"""Runs attempts inside this process: sync bodies in threads and async bodies on an event loop, side by side."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence

import msgspec

from turnout.contracts.executor import Work
from turnout.errors import InvalidSetting
from turnout.executors.local_executor import STOPPING, LocalExecutor, not_loaded
from turnout.model.events import (
    ExecutionResult,
    ExecutorMetrics,
    TaskReadyEvent,
)
from turnout.model.reasons import NO_CAPACITY
from turnout.model.values import MAX_BYTES
from turnout.runtime.attempt import IN_THREAD, ON_LOOP, Attempt, body_of, is_quick, key_of, rank_of
from turnout.runtime.backlog import Backlog
from turnout.runtime.coroutine_pool import CoroutinePool
from turnout.runtime.deadlines import Deadlines
from turnout.runtime.execution import is_async, run_async_body, run_body
from turnout.runtime.thread_capacity import ThreadCapacity
from turnout.runtime.thread_pool import ThreadPool

log = logging.getLogger(__name__)

MAX_ASYNC_BODIES = 10_000


class ThreadExecutor(LocalExecutor[Attempt]):
    """The default executor.

    Every attempt that it accepts brings exactly one result, except those that still run when the grace of ``stop`` is
    over: they end with the process.

    A thread cannot be killed. When a sync body is cancelled or exceeds its timeout, the attempt ends at once and
    ``info.cancelled`` asks the body to return; until it does, its thread stays taken and ``capacity`` is one less.
    """

    # The thread that takes an attempt out of _live reports its result; all others drop theirs.
    kinds: frozenset[str] = frozenset({"python"})
    isolates: bool = False
    trusted: bool = True

    def __init__(
        self,
        threads: int = 32,
        coroutines: int = 512,
        name: str = "thread",
        *,
        max_backlog: int = 2048,
        max_output_bytes: int = MAX_BYTES,
    ) -> None:
        if threads < 1 or coroutines < 1 or max_backlog < 0:
            raise InvalidSetting("a ThreadExecutor needs a thread, a coroutine and a backlog of zero or more")
        super().__init__(name, max_output_bytes, Attempt)
        self._size: tuple[int, int] = (threads, coroutines)
        self._threads: ThreadPool[Attempt] = ThreadPool(
            threads, self._in_thread, f"turnout-{name}", rank_of, quick=is_quick, settle=self._settle
        )
        self._returned: deque[tuple[Attempt, ExecutionResult, float]] = deque()
        """Results of bodies in threads that were not handed in, and the seconds that the bodies took."""
        self._coroutines: CoroutinePool[Attempt] = CoroutinePool(
            coroutines, self._on_loop, f"turnout-{name}-async", rank_of
        )
        self._deadlines: Deadlines[Attempt] = Deadlines(self._expire, f"turnout-{name}-deadlines")
        self._thread_capacity: ThreadCapacity = ThreadCapacity(threads, coroutines, max_backlog)
        self._backlog: Backlog = Backlog(self._thread_capacity, self._waited_too_long, f"turnout-{name}")
        self._async_bodies: set[str] = set()
        """Bodies that were async when last seen: they go to the event loop without passing through a thread."""
        self._unanswered: set[Attempt] = set()
        """Attempts whose result was not handed in."""
        self._answered: threading.Event = threading.Event()
        self._announcing: bool = False
        self._capacity_freed: Callable[[], None] = lambda: None

    def on_capacity(self, callback: Callable[[], None]) -> None:
        self._capacity_freed = callback

    @property
    def capacity(self) -> int:
        """Number of attempts that it takes now, running and waiting together; ``ThreadCapacity`` adapts it. The number
        that runs at once is in its ``metrics``."""
        return self._thread_capacity.capacity(tasks=self._coroutines.running, async_seen=bool(self._async_bodies))

    def capacity_of(self, body: str) -> int:
        """Returns the number of attempts below which one more with this body is taken."""
        if body in self._async_bodies:
            running, queued = self._coroutines.running, self._coroutines.waiting
            return self._thread_capacity.capacity_on_loop(live=len(self._live), tasks=running, queued=queued)
        return self._thread_capacity.capacity_of(body)

    @property
    def stuck(self) -> int:
        """Number of threads in bodies that were ended and have not returned."""
        return self._thread_capacity.stuck

    def metrics(self) -> ExecutorMetrics:
        return msgspec.structs.replace(
            super().metrics(),
            capacity=self._size[0],
            running=self._thread_capacity.in_threads,
            async_capacity=self._size[1],
            async_running=self._thread_capacity.on_loop,
        )

    async def start(self) -> None:
        self._threads.open()
        self._answered.clear()
        self._closing = False

    async def stop(self, timeout: float) -> None:
        """Hands back what has not started; gives the rest ``timeout`` seconds, then reports nothing more of it."""
        self._closing = True
        self._hand_back()
        if self._unanswered:
            await asyncio.to_thread(self._answered.wait, timeout)
        for key in list(self._live):
            attempt = self._live.pop(key, None)
            if attempt is not None:
                self._backlog.take(attempt)
                self._thread_capacity.abandon(attempt)
                self._unanswered.discard(attempt)
                if attempt.info is not None:
                    attempt.info.cancelled = True
        self._threads.close()
        self._coroutines.close()
        self._deadlines.close()
        self._backlog.close()

    # -- accepting attempts -----------------------------------------------------------------------------------------
    def _begin(self, attempts: Sequence[Attempt]) -> None:
        self._unanswered.update(attempts)
        live = self._live
        # Another thread may have cancelled some of them already, and reported them before they were here.
        self._unanswered.difference_update([attempt for attempt in attempts if attempt.key not in live])
        for_loop: list[Attempt] = []
        if self._async_bodies:
            for_loop = [attempt for attempt in attempts if body_of(attempt.event) in self._async_bodies]
        if not for_loop:
            self._backlog.add(attempts, for_thread=True)
            self._threads.put(attempts)
        else:
            chosen = frozenset(for_loop)
            for_threads = [attempt for attempt in attempts if attempt not in chosen]
            if for_threads:
                self._backlog.add(for_threads, for_thread=True)
                self._threads.put(for_threads)
            self._backlog.add(for_loop, for_thread=False)
            self._coroutines.put(for_loop)
        if self._closing:  # since the check in ``execute_many``
            self._hand_back()

    def cancel(self, event: TaskReadyEvent) -> None:
        """Ends this attempt as cancelled, at once; a body that has not started never does."""
        attempt = self._live.get(key_of(event))
        if attempt is not None:
            self._end_early(attempt, ExecutionResult.cancelled(event))

    def withdraw(self, events: Sequence[TaskReadyEvent], reason: str) -> None:
        """Hands back those of these attempts that have not begun: none of them does once this returns."""
        self._return(self._backlog.withdraw(map(key_of, events)), reason)

    def _waited_too_long(self, attempts: Sequence[Attempt]) -> None:
        self._return(attempts, NO_CAPACITY)

    def _hand_back(self) -> None:
        self._return(self._backlog.withdraw_all(), STOPPING)

    def _return(self, attempts: Sequence[Attempt], reason: str) -> None:
        """Reports attempts that were taken out of the backlog as returned."""
        if attempts:
            gone = frozenset(attempts)
            self._threads.remove(gone)
            self._coroutines.remove(gone)
            for attempt in attempts:
                self._end_early(attempt, ExecutionResult.returned(attempt.event, reason))

    # -- running ----------------------------------------------------------------------------------------------------
    def _in_thread(self, attempt: Attempt) -> None:
        work = self._load(attempt, blocking=True)
        if work is None:
            return
        if is_async(work):
            if len(self._async_bodies) < MAX_ASYNC_BODIES:
                self._async_bodies.add(body_of(attempt.event))
            attempt.arrived, attempt.loading = time.monotonic(), False
            if attempt.key in self._live:
                self._coroutines.put((attempt,))
            return
        if not self._backlog.take(attempt):
            return
        info = attempt.begin(work, IN_THREAD, time.time())
        if work.timeout is not None:
            attempt.deadline = self._deadlines.add(work.timeout, attempt)
        began = self._thread_capacity.enter_thread(attempt)
        result: ExecutionResult | None = None
        # It may have ended before it began. From here on, what ends it early sees that it holds a thread.
        if attempt.key in self._live:
            result = run_body(work, info, self._max_output_bytes)
        counts = self._ended(attempt)
        seconds = self._thread_capacity.leave_thread(attempt, began, ended_early=not counts)
        if counts and result is not None:
            self._returned.append((attempt, result, seconds))
            # Read afterwards: a thread that ceases to stand by hands in what was left before, and not what comes then.
            if not self._threads.guarded:
                self._settle()
            return
        self._thread_capacity.measured(body_of(attempt.event), seconds)
        self._capacity_freed()

    def _settle(self) -> None:
        """Hands in the results that bodies have left for it."""
        left = self._returned
        returned: list[tuple[Attempt, ExecutionResult]] = []
        body, total, count = "", 0.0, 0
        while left:
            try:
                attempt, result, took = left.popleft()
            except IndexError:  # another thread was quicker
                break
            returned.append((attempt, result))
            event = attempt.event
            if (other := event.body or event.task_name) != body:
                if count:
                    self._thread_capacity.measured(body, total / count, count)
                body, total, count = other, 0.0, 0
            total += took
            count += 1
        if returned:
            self._thread_capacity.measured(body, total / count, count)
            self._report_all(returned)

    async def _on_loop(self, attempt: Attempt) -> None:
        work = self._load(attempt, blocking=False)
        if work is None:
            return
        if not is_async(work):
            self._async_bodies.discard(body_of(attempt.event))
            self._threads.put((attempt,))
            return
        if not self._backlog.take(attempt):
            return
        info = attempt.begin(work, ON_LOOP, time.time())
        self._thread_capacity.enter_loop()
        self._announce_soon()
        if work.timeout is not None:
            attempt.deadline = self._deadlines.add(work.timeout, attempt)
        result: ExecutionResult | None = None
        if attempt.key in self._live:
            result = await run_async_body(work, info, self._max_output_bytes)
        counts = self._ended(attempt)
        self._thread_capacity.leave_loop(attempt)
        if counts and result is not None:
            self._report(attempt, result)
        else:
            self._capacity_freed()

    def _load(self, attempt: Attempt, *, blocking: bool) -> Work | None:
        """Returns the work of an attempt that has not ended; None if it has a result or goes to a thread."""
        if attempt.key not in self._live:
            return None
        work, event, loader = attempt.work, attempt.event, self._loader
        assert loader is not None
        try:
            work = work or loader.load_now(event)
            if work is None and not blocking:
                self._threads.put((attempt,))
                return None
            if work is None:
                attempt.loading = True
                self._threads.held_up()
                work = loader.load_blocking(event)
        except BaseException as error:
            self._end_early(attempt, not_loaded(event, error))
            return None
        attempt.work = work
        if work.body is None:
            self._end_early(attempt, ExecutionResult.returned(event, "code_missing"))
            return None
        return work

    def _announce_soon(self) -> None:
        """Announces capacity, once for all coroutines that start in one turn of their loop."""
        if not self._announcing:
            self._announcing = True
            asyncio.get_running_loop().call_soon(self._announce)

    def _announce(self) -> None:
        self._announcing = False
        self._capacity_freed()

    # -- ending -----------------------------------------------------------------------------------------------------
    def _ended(self, attempt: Attempt) -> bool:
        """Called when the body has returned. True if its result counts: the attempt has not ended before."""
        attempt.work = None  # what it was given is not kept for as long as its deadline
        if attempt.deadline is not None:
            self._deadlines.discard(attempt.deadline)
        return self._live.pop(attempt.key, None) is not None

    def _end_early(self, attempt: Attempt, result: ExecutionResult) -> None:
        """Ends an attempt from outside of its body, which keeps its slot until it returns."""
        if self._live.pop(attempt.key, None) is None:
            return
        self._backlog.take(attempt)
        location = self._thread_capacity.abandon(attempt)
        if attempt.info is not None:
            attempt.info.cancelled = True
            result = msgspec.structs.replace(result, started_at=attempt.started_at, finished_at=time.time())
        if location is ON_LOOP:
            self._coroutines.cancel(attempt)
        self._report(attempt, result)

    def _expire(self, attempt: Attempt) -> None:
        timeout = attempt.work.timeout if attempt.work is not None else None
        self._end_early(attempt, ExecutionResult.timed_out(attempt.event, timeout or 0.0))

    def _report_all(self, ended: Sequence[tuple[Attempt, ExecutionResult]]) -> None:
        super()._report_all(ended)
        self._unanswered.difference_update([attempt for attempt, _ in ended])
        if self._closing and not self._unanswered:
            self._answered.set()
