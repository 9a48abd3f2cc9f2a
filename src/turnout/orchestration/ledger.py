"""How state changes reach the database: everything that is ready to be written goes into one transaction.

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
from typing import TypeVar

import msgspec

from turnout.contracts.store import Store
from turnout.errors import StoreError, StoreFull, StoreReadOnly, StoreRejected, StoreUnreachable, StoreUnusable
from turnout.model.rows import RunWrite, WriteOutcome
from turnout.orchestration.heap import Heap, weight
from turnout.rate_limited_log import RateLimitedLog

log = logging.getLogger("turnout.ledger")

INITIAL_BACKOFF, MAX_BACKOFF = 0.05, 1.0
OUTAGE_AFTER = 1.0
"""Seconds without a commit before the database counts as gone; a shorter trouble is only waited out."""


LARGEST = 8 * 1024 * 1024
"""Characters of values in one commit, unless a single turn has more: a commit is held in memory several times over, and
connections keep buffers of the size of the largest."""
MIN_LANES = 2
"""One commit is worked out while another is under way, however small the pools are."""

YIELD_EVERY, YIELD_SECONDS = 32, 0.00002
T = TypeVar("T")


class LedgerMetrics(msgspec.Struct):
    commits: int = 0
    writes: int = 0
    retries: int = 0
    splits: int = 0
    stale: int = 0


class Ledger:
    """Group commit over a few lanes: ``width`` says how many, within what the store has."""

    def __init__(
        self,
        store: Store,
        *,
        max_commit: int,
        topics_of: Callable[[Sequence[RunWrite]], frozenset[str]],
        width: Callable[[], int] = lambda: MIN_LANES,
        trouble: Callable[[bool], None] = lambda troubled: None,
    ) -> None:
        self._store = store
        self._max_commit = max_commit
        self._topics_of = topics_of
        self._trouble = trouble
        self._pending: list[tuple[Sequence[RunWrite], asyncio.Future[list[WriteOutcome]], int]] = []
        """Writes, who waits for them, and how much text they have."""
        self.heap = Heap()
        self._width = width
        self._under_way = 0
        self._unbroken = 0
        """Items that were worked through on the event loop since it last gave way."""
        self._lanes = ThreadPoolExecutor(store.lanes, thread_name_prefix="turnout-lane")
        self._closed = threading.Event()
        self.outage: StoreError | None = None
        """Set while commits fail for want of a database: what is submitted meanwhile is refused at once."""
        self.metrics = LedgerMetrics()
        self._rate_limited_log = RateLimitedLog(log)

    def write(self, writes: Sequence[RunWrite]) -> asyncio.Future[list[WriteOutcome]]:
        """The outcomes of these writes, in order, once they are durable. Fails only when the ledger is closed."""
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
        """The items, with a moment for the lanes in between while they are at work.

        A lane needs the interpreter several times during a commit, and Python lets a waiting thread have it only every
        5 ms while another computes. A long batch on the event loop, or many small ones after one another, would so
        make each commit ten times as long.
        """
        for start in range(0, len(items), YIELD_EVERY):
            if self._unbroken >= YIELD_EVERY and self._under_way:
                time.sleep(YIELD_SECONDS)
                self._unbroken = 0
            some = items[start : start + YIELD_EVERY]
            self._unbroken += len(some)
            yield from some

    def close(self) -> None:
        self._closed.set()
        self._lanes.shutdown(wait=False, cancel_futures=True)
        for _, future, _ in self._pending:
            if not future.done():
                future.set_exception(StoreUnreachable("the ledger is closed"))
        self._pending.clear()

    def _flush(self) -> None:
        while self._pending and self._under_way < self._lanes_now() and not self._closed.is_set():
            batch: list[tuple[Sequence[RunWrite], asyncio.Future[list[WriteOutcome]]]] = []
            count = size = 0
            while self._pending and (
                not batch
                or (count + len(self._pending[0][0]) <= self._max_commit and size + self._pending[0][2] <= LARGEST)
            ):
                writes, future, more = self._pending.pop(0)
                batch.append((writes, future))
                count += len(writes)
                size += more
            self._under_way += 1
            writes = [write for some, _ in batch for write in some]
            task = asyncio.get_running_loop().run_in_executor(self._lanes, self._commit, writes)
            task.add_done_callback(lambda done, batch=batch: self._committed(batch, done))

    def _lanes_now(self) -> int:
        return min(self._store.lanes, max(MIN_LANES, self._width()))

    def _committed(
        self,
        batch: list[tuple[Sequence[RunWrite], asyncio.Future[list[WriteOutcome]]]],
        done: asyncio.Future[list[WriteOutcome]],
    ) -> None:
        self._under_way -= 1
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
    def _commit(self, writes: list[RunWrite], unsure: bool = False) -> list[WriteOutcome]:
        wake = self._topics_of(writes)
        backoff, since = INITIAL_BACKOFF, time.monotonic()
        while True:
            try:
                outcomes = self._store.commit(writes, wake=wake)
                if unsure:
                    outcomes = [self._read_back(*each) for each in zip(writes, outcomes, strict=True)]
            except StoreRejected as error:
                return self._split(writes, str(error), unsure)
            except StoreError as error:
                known = isinstance(error, StoreFull | StoreReadOnly | StoreUnusable) and not unsure
                if self._closed.is_set() or (known and all(write.insert is not None for write in writes)):
                    # Nothing was written, for a reason that will not pass by itself: submissions are told at once.
                    raise
                self._rate_limited_log.failure("commit of %d runs will be tried again: %s", len(writes), error)
                self.metrics.retries += 1
                if time.monotonic() - since > OUTAGE_AFTER:
                    self.outage = error
                unsure = True
                self._trouble(True)
                self._closed.wait(backoff)
                backoff = min(backoff * 2, MAX_BACKOFF)
                continue
            except Exception as error:
                if self._closed.is_set():
                    raise
                log.exception("commit of %d runs failed", len(writes))
                return self._split(writes, f"{type(error).__name__}: {error}", unsure)
            self.outage = None
            if unsure:
                self._rate_limited_log.recovered("commits get through again")
                self._trouble(False)
            self.metrics.commits += 1
            self.metrics.writes += len(writes)
            self.metrics.stale += sum(bool(outcome.stale) for outcome in outcomes)
            return outcomes

    def _split(self, writes: list[RunWrite], error: str, unsure: bool) -> list[WriteOutcome]:
        """Something in the batch was refused: find the run at fault, so that it alone fails."""
        self.outage = None
        if len(writes) == 1:
            log.error("run %s was rejected by the store: %s", writes[0].run_id, error)
            return [WriteOutcome(writes[0].run_id, rejected=error)]
        self.metrics.splits += 1
        half = len(writes) // 2
        return self._commit(writes[:half], unsure) + self._commit(writes[half:], unsure)

    def _read_back(self, write: RunWrite, outcome: WriteOutcome) -> WriteOutcome:
        """The commit was sent twice and the first may have counted: a row that is as I wanted it counts as applied."""
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
        """Whether this very write inserted the child run: its id alone does not tell, others derive it too."""
        run = self._store.run(write.run_id)
        return run is not None and (run.owner, run.epoch) == (write.owner, write.epoch)
