"""Writes state changes to the database by group commit: all writes that are ready go into one transaction.

A lane is a thread that makes one commit at a time. When a lane is free the ledger flushes at once; while all are
busy, writes gather. A run has at most one write in the ledger, so its changes stay in order whichever lane takes them.

As many lanes are used as the largest pool has stage executors: a pool that grows because it waits for the database has
its commits side by side, and while it is small, writes gather in few commits.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TypeVar

import msgspec

from turnout.contracts.store import Store
from turnout.errors import StoreError, StoreFull, StoreReadOnly, StoreRejected, StoreUnreachable, StoreUnusable
from turnout.model.bisection import bisect_failing
from turnout.model.rows import RunWrite, WriteOutcome
from turnout.orchestration.heap import Heap, weight
from turnout.rate_limited_log import RateLimitedLog

log = logging.getLogger("turnout.ledger")

INITIAL_BACKOFF, MAX_BACKOFF = 0.05, 1.0
OUTAGE_TIMEOUT = 1.0
"""Seconds of failing commits after which submissions are refused; a shorter failure is only retried."""

MAX_COMMIT_CHARACTERS = 8 * 1024 * 1024
"""Characters of values in one commit, unless a single transition has more: a commit is held in memory several times,
and connections keep buffers of the size of the largest."""
MIN_LANES = 2
"""One batch is computed while another is committed, however small the pools are."""

YIELD_EVERY, YIELD_SECONDS = 32, 0.00002
"""Items of a batch between two yields to the lanes, and how long one takes."""
T = TypeVar("T")


class LedgerMetrics(msgspec.Struct):
    commits: int = 0
    writes: int = 0
    retries: int = 0
    splits: int = 0
    stale: int = 0


class Ledger:
    """Commits writes over a few lanes: ``width`` returns how many, up to those of the store."""

    def __init__(
        self,
        store: Store,
        *,
        max_commit: int,
        topics_of: Callable[[Sequence[RunWrite]], frozenset[str]],
        width: Callable[[], int] = lambda: MIN_LANES,
        on_outage: Callable[[bool], None] = lambda failing: None,
    ) -> None:
        self._store = store
        self._max_commit = max_commit
        self._topics_of = topics_of
        self._on_outage = on_outage
        """Called with True when a commit fails, with False when one succeeds after that."""
        self._pending: list[tuple[Sequence[RunWrite], asyncio.Future[list[WriteOutcome]], int]] = []
        """Writes, the future of their outcomes, and their characters of values."""
        self.heap = Heap()
        self._width = width
        self._in_flight = 0
        self._since_yield = 0
        """Items that were processed on the event loop since it last yielded."""
        self._lanes = ThreadPoolExecutor(store.lanes, thread_name_prefix="turnout-lane")
        self._closed = threading.Event()
        self.outage: StoreError | None = None
        """Set while the database is away: submissions are refused at once."""
        self.metrics = LedgerMetrics()
        self._rate_limited_log = RateLimitedLog(log)

    def write(self, writes: Sequence[RunWrite]) -> asyncio.Future[list[WriteOutcome]]:
        """Returns a future of the durable outcomes, in order. It fails only when the ledger is closed."""
        future: asyncio.Future[list[WriteOutcome]] = asyncio.get_running_loop().create_future()
        if self._closed.is_set():
            future.set_exception(StoreUnreachable("the ledger is closed"))
            return future
        size = sum(map(weight, writes))
        self.heap.passed(size)
        self._pending.append((writes, future, size))
        self._flush()
        return future

    def yielding(self, items: Sequence[T]) -> Iterator[T]:
        """Iterates over items and releases the GIL every 32 items while a commit runs in a lane thread.

        A lane needs the interpreter several times during a commit, and a waiting thread gets it only every 5 ms while
        another computes. Without yields, long batches on the event loop would make each commit ten times as long.
        """
        for start in range(0, len(items), YIELD_EVERY):
            if self._since_yield >= YIELD_EVERY and self._in_flight:
                time.sleep(YIELD_SECONDS)
                self._since_yield = 0
            part = items[start : start + YIELD_EVERY]
            self._since_yield += len(part)
            yield from part

    def close(self) -> None:
        self._closed.set()
        self._lanes.shutdown(wait=False, cancel_futures=True)
        for _, future, _ in self._pending:
            if not future.done():
                future.set_exception(StoreUnreachable("the ledger is closed"))
        self._pending.clear()

    def _flush(self) -> None:
        while self._pending and self._in_flight < self._lane_limit() and not self._closed.is_set():
            batch: list[tuple[Sequence[RunWrite], asyncio.Future[list[WriteOutcome]]]] = []
            count = size = 0
            while self._pending and (
                not batch
                or (
                    count + len(self._pending[0][0]) <= self._max_commit
                    and size + self._pending[0][2] <= MAX_COMMIT_CHARACTERS
                )
            ):
                writes, future, characters = self._pending.pop(0)
                batch.append((writes, future))
                count += len(writes)
                size += characters
            self._in_flight += 1
            writes = [write for part, _ in batch for write in part]
            task = asyncio.get_running_loop().run_in_executor(self._lanes, self._commit, writes)
            task.add_done_callback(lambda done, batch=batch: self._committed(batch, done))

    def _lane_limit(self) -> int:
        return min(self._store.lanes, max(MIN_LANES, self._width()))

    def _committed(
        self,
        batch: list[tuple[Sequence[RunWrite], asyncio.Future[list[WriteOutcome]]]],
        done: asyncio.Future[list[WriteOutcome]],
    ) -> None:
        self._in_flight -= 1
        error = None if done.cancelled() else done.exception()
        start = 0
        for writes, future in batch:
            if future.done():
                pass
            elif done.cancelled() or error is not None:
                future.set_exception(error or StoreUnreachable("the ledger is closed"))
            else:
                future.set_result(done.result()[start : start + len(writes)])
            start += len(writes)
        self._flush()

    # -- in the lane's thread -----------------------------------------------------------------------------------
    def _commit(self, writes: list[RunWrite]) -> list[WriteOutcome]:
        """Commits these writes. If the database refuses them, they are halved down to the run at fault."""
        outcomes: list[WriteOutcome] = []
        uncertain: set[str] = set()
        for part, result in bisect_failing(writes, partial(self._attempt, uncertain), _is_rejection):
            if isinstance(result, str):
                log.error("run %s was rejected by the store: %s", part[0].run_id, result)
                outcomes.append(WriteOutcome(part[0].run_id, rejected=result))
            else:
                outcomes += result
        return outcomes

    def _attempt(self, uncertain: set[str], writes: Sequence[RunWrite]) -> list[WriteOutcome] | str:
        """Commits these writes, as often as it takes. Returns an error text if the database refuses them.

        ``uncertain`` holds the runs whose writes were sent before without an answer."""
        unsure = bool(uncertain) and writes[0].run_id in uncertain
        topics = self._topics_of(writes)
        backoff, since = INITIAL_BACKOFF, time.monotonic()
        while True:
            try:
                outcomes = self._store.commit(writes, wake=topics)
                if unsure:
                    outcomes = [self._read_back(*each) for each in zip(writes, outcomes, strict=True)]
            except StoreRejected as error:
                return self._rejected(writes, str(error))
            except StoreError as error:
                known = isinstance(error, StoreFull | StoreReadOnly | StoreUnusable) and not unsure
                if self._closed.is_set() or (known and all(write.insert is not None for write in writes)):
                    # Nothing was written, for a reason that lasts: submissions are refused at once.
                    raise
                self._rate_limited_log.failure("commit of %d runs will be retried: %s", len(writes), error)
                self.metrics.retries += 1
                if time.monotonic() - since > OUTAGE_TIMEOUT:
                    self.outage = error
                unsure = True
                uncertain.update(write.run_id for write in writes)
                self._on_outage(True)
                self._closed.wait(backoff)
                backoff = min(backoff * 2, MAX_BACKOFF)
                continue
            except Exception as error:
                if self._closed.is_set():
                    raise
                log.exception("commit of %d runs failed", len(writes))
                return self._rejected(writes, f"{type(error).__name__}: {error}")
            self.outage = None
            if unsure:
                self._rate_limited_log.recovered("commits get through again")
                self._on_outage(False)
            self.metrics.commits += 1
            self.metrics.writes += len(writes)
            self.metrics.stale += sum(bool(outcome.stale) for outcome in outcomes)
            return outcomes

    def _rejected(self, writes: Sequence[RunWrite], error: str) -> str:
        self.outage = None
        self.metrics.splits += len(writes) > 1
        return error

    def _read_back(self, write: RunWrite, outcome: WriteOutcome) -> WriteOutcome:
        """Corrects the outcome of a write that was sent twice: a row that is as the write has it counts as applied."""
        if write.insert is not None:
            mine = outcome.existing == write.run_id and (write.insert.parent_run is None or self._inserted(write))
            return WriteOutcome(write.run_id) if mine else outcome
        if not outcome.stale:
            return outcome
        stored = {row.pos: row for row in self._store.tasks(write.run_id, outputs=False)}
        run = self._store.run(write.run_id)
        stale: list[int] = []
        for row in (*write.tasks, *write.items):
            there = stored.get(row.pos)
            if there is None or (there.state, there.attempt, there.seq) != (row.state, row.attempt, row.seq):
                stale.append(row.pos)
        if write.run is not None and (run is None or run.row.state != write.run.state or run.epoch != write.epoch):
            stale.append(-1)
        return WriteOutcome(write.run_id, tuple(stale))

    def _inserted(self, write: RunWrite) -> bool:
        """True if this write inserted the child run. Its id alone does not tell: other owners derive the same one."""
        run = self._store.run(write.run_id)
        return run is not None and (run.owner, run.epoch) == (write.owner, write.epoch)


def _is_rejection(result: list[WriteOutcome] | str) -> bool:
    return isinstance(result, str)
