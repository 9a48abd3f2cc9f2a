"""How attempts run inside this process: sync bodies in threads, async bodies on an event loop, both at once."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Sequence

import msgspec

from turnout.contracts.executor import BatchExecutor, Loader, Report, Work
from turnout.errors import AttemptFenced, ExecutionFailed, InputError, InvalidSetting, StoreUnreachable, StoreUnusable
from turnout.model.events import (
    NO_FAILURE,
    STATUS_RETURNED,
    ExecutionResult,
    ExecutorMetrics,
    TaskReadyEvent,
)
from turnout.model.reasons import NO_CAPACITY
from turnout.model.spec import TaskSpec
from turnout.model.values import MAX_BYTES
from turnout.runtime.attempt import IN_THREAD, ON_LOOP, Attempt, Key, body_of, is_async, key_of, rank_of
from turnout.runtime.backlog import Backlog
from turnout.runtime.coroutines import Coroutines
from turnout.runtime.deadlines import Deadlines
from turnout.runtime.execution import run_async_body, run_body
from turnout.runtime.outcome import describe
from turnout.runtime.thread_capacity import ThreadCapacity
from turnout.runtime.threads import Threads

log = logging.getLogger(__name__)

STOPPING = "executor_stopping"
MAX_ASYNC_BODIES = 10_000


class ThreadExecutor(BatchExecutor):
    """The default executor.

    Every attempt that it accepts brings exactly one result, except those that still run when the grace of ``stop`` is
    over: they end with the process. Who takes an attempt out of ``_live`` reports its result; all others drop theirs.

    A thread cannot be killed. When a sync body is cancelled or exceeds its timeout, the attempt ends at once and
    ``info.cancelled`` asks the body to return; until it does, its thread stays taken and ``capacity`` is one less.
    """

    local: bool = True
    kinds: frozenset[str] = frozenset({"python"})
    enforces_timeouts: bool = True
    isolates: bool = False
    outlives: bool = False
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
        self._name: str = name
        self._size: tuple[int, int] = (threads, coroutines)
        self._max_output_bytes: int = max_output_bytes
        self._loader: Loader | None = None
        self._live: dict[Key, Attempt] = {}
        self._threads: Threads[Attempt] = Threads(threads, self._in_thread, f"turnout-{name}", rank_of)
        self._coroutines: Coroutines[Attempt] = Coroutines(coroutines, self._on_loop, f"turnout-{name}-async", rank_of)
        self._deadlines: Deadlines[Attempt] = Deadlines(self._expire, f"turnout-{name}-deadlines")
        self._places: ThreadCapacity = ThreadCapacity(threads, coroutines, max_backlog)
        self._backlog: Backlog = Backlog(self._places, self._waited_too_long, f"turnout-{name}")
        self._async_bodies: set[str] = set()
        """Those that were async when last seen: they go to the event loop without a thread's help."""
        self._lock: threading.Lock = threading.Lock()
        self._unanswered: int = 0
        self._answered: threading.Event = threading.Event()
        self._closing: bool = False
        self._executed: int = 0
        self._failed: int = 0
        self._seconds: float = 0.0
        self._telling: bool = False
        self._capacity_freed: Callable[[], None] = lambda: None

    @property
    def name(self) -> str:
        return self._name

    def bind(self, loader: Loader) -> None:
        self._loader = loader

    def on_capacity(self, callback: Callable[[], None]) -> None:
        self._capacity_freed = callback

    @property
    def capacity(self) -> int:
        """Number of attempts that it takes now, running and waiting together; ``ThreadCapacity`` adapts it. The number
        that runs at once is in its ``metrics``."""
        return self._places.capacity(tasks=self._coroutines.running, async_seen=bool(self._async_bodies))

    def capacity_of(self, body: str) -> int:
        """How many attempts may be here for one more with this body to be taken."""
        if body in self._async_bodies:
            running, queued = self._coroutines.running, self._coroutines.waiting
            return self._places.capacity_on_loop(live=len(self._live), tasks=running, queued=queued)
        return self._places.capacity_of(body)

    def refuses(self, task: TaskSpec) -> str | None:
        return None

    @property
    def stuck(self) -> int:
        """How many threads are in bodies that were ended and have not returned."""
        return self._places.stuck

    def has_capacity(self) -> bool:
        return not self._closing and len(self._live) < self.capacity

    def metrics(self) -> ExecutorMetrics:
        return ExecutorMetrics(
            active_tasks=len(self._live),
            total_executed=self._executed,
            total_failed=self._failed,
            total_seconds=self._seconds,
            capacity=self._size[0],
            running=self._places.in_threads,
            async_capacity=self._size[1],
            async_running=self._places.on_loop,
        )

    async def start(self) -> None:
        self._threads.open()
        self._answered.clear()
        self._closing = False

    async def stop(self, timeout: float) -> None:
        """Hand back what has not started; give the rest ``timeout`` seconds, then report nothing more of it."""
        self._closing = True
        self._hand_back()
        if self._unanswered:
            await asyncio.to_thread(self._answered.wait, timeout)
        for key in list(self._live):
            attempt = self._live.pop(key, None)
            if attempt is not None:
                self._backlog.take(attempt)
                self._places.abandon(attempt)
                self._answer_owed(-1)
                if attempt.info is not None:
                    attempt.info.cancelled = True
        self._threads.close()
        self._coroutines.close()
        self._deadlines.close()
        self._backlog.close()

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
        for_threads: list[Attempt] = []
        for_loop: list[Attempt] = []
        for event in events:
            key = (event.task_id, event.attempt, event.shadow)
            if key not in self._live:
                self._live[key] = attempt = Attempt(key, event, report)
                (for_loop if body_of(event) in self._async_bodies else for_threads).append(attempt)
        self._answer_owed(len(for_threads) + len(for_loop))
        if for_threads:
            self._backlog.add(for_threads, for_thread=True)
            self._threads.put(for_threads)
        if for_loop:
            self._backlog.add(for_loop, for_thread=False)
            self._coroutines.put(for_loop)
        if self._closing:  # since the look above
            self._hand_back()

    def cancel(self, event: TaskReadyEvent) -> None:
        """End this attempt as cancelled, at once; a body that has not started never does."""
        attempt = self._live.get(key_of(event))
        if attempt is not None:
            self._end_early(attempt, ExecutionResult.cancelled(event))

    def withdraw(self, events: Sequence[TaskReadyEvent], reason: str) -> None:
        """Hand back those of these attempts that have not begun: none of them does once this returns."""
        self._return(self._backlog.withdraw(map(key_of, events)), reason)

    def _waited_too_long(self, attempts: Sequence[Attempt]) -> None:
        self._return(attempts, NO_CAPACITY)

    def _hand_back(self) -> None:
        self._return(self._backlog.withdraw_all(), STOPPING)

    def _return(self, attempts: Sequence[Attempt], reason: str) -> None:
        """Answer for attempts that were taken out of the backlog."""
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
        began = self._places.enter_thread(attempt)
        result: ExecutionResult | None = None
        # Ended before it began? From here on, whoever ends it early sees that it has a place.
        if attempt.key in self._live:
            result = run_body(work, info, self._max_output_bytes)
        self._finish(attempt, result, began)

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
        self._places.enter_loop()
        self._tell_soon()
        if work.timeout is not None:
            attempt.deadline = self._deadlines.add(work.timeout, attempt)
        result: ExecutionResult | None = None
        if attempt.key in self._live:
            result = await run_async_body(work, info, self._max_output_bytes)
        self._finish(attempt, result)

    def _load(self, attempt: Attempt, *, blocking: bool) -> Work | None:
        """The work of an attempt that still counts; None if it was dealt with otherwise."""
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
                work = loader.load_blocking(event)
        except (StoreUnreachable, StoreUnusable, AttemptFenced) as error:
            # Nothing has started: neither an outage nor a pause may use up the task's attempts.
            self._end_early(attempt, ExecutionResult.returned(event, error.code))
            return None
        except BaseException as error:
            retryable = not isinstance(error, InputError)  # the same data would be refused again
            self._end_early(attempt, ExecutionResult.failed(event, describe(error), retryable=retryable))
            return None
        attempt.work = work
        if work.body is None:
            self._end_early(attempt, ExecutionResult.returned(event, "code_missing"))
            return None
        return work

    def _tell_soon(self) -> None:
        """Say that there is room, once for all coroutines that start in one turn of their loop."""
        if not self._telling:
            self._telling = True
            asyncio.get_running_loop().call_soon(self._tell)

    def _tell(self) -> None:
        self._telling = False
        self._capacity_freed()

    # -- ending -----------------------------------------------------------------------------------------------------
    def _finish(self, attempt: Attempt, result: ExecutionResult | None, began: float | None = None) -> None:
        """The body has returned and its place is free; its result counts unless the attempt has ended before."""
        attempt.work = None  # what it was given is not kept for as long as its deadline
        if attempt.deadline is not None:
            self._deadlines.discard(attempt.deadline)
        counts = self._live.pop(attempt.key, None) is not None
        self._places.leave(attempt, began)
        if counts and result is not None:
            self._report(attempt, result)
        else:
            self._capacity_freed()

    def _end_early(self, attempt: Attempt, result: ExecutionResult) -> None:
        """End an attempt from outside of its body, which keeps its place until it returns."""
        if self._live.pop(attempt.key, None) is None:
            return
        self._backlog.take(attempt)
        place = self._places.abandon(attempt)
        if attempt.info is not None:
            attempt.info.cancelled = True
            result = msgspec.structs.replace(result, started_at=attempt.started_at, finished_at=time.time())
        if place is ON_LOOP:
            self._coroutines.cancel(attempt)
        self._report(attempt, result)

    def _expire(self, attempt: Attempt) -> None:
        timeout = attempt.work.timeout if attempt.work is not None else None
        self._end_early(attempt, ExecutionResult.timed_out(attempt.event, timeout or 0.0))

    def _report(self, attempt: Attempt, result: ExecutionResult) -> None:
        if result.status is not STATUS_RETURNED:
            with self._lock:
                self._executed += 1
                self._failed += result.status not in NO_FAILURE
                if result.started_at is not None and result.finished_at is not None:
                    self._seconds += result.finished_at - result.started_at
        try:
            attempt.report(result)
        except Exception:
            log.exception("the result of attempt %d of %s could not be handed in", result.attempt, result.task_id)
        self._answer_owed(-1)

    def _answer_owed(self, more: int) -> None:
        with self._lock:
            self._unanswered += more
            if self._closing and not self._unanswered:
                self._answered.set()
