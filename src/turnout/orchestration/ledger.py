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
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import TypeAlias, TypeVar

import msgspec

from turnout.contracts.store import Store
from turnout.errors import StoreError, StoreFull, StoreReadOnly, StoreRejected, StoreUnreachable, StoreUnusable
from turnout.model.bisection import bisect_failing
from turnout.model.rows import RunWrite, WriteOutcome
from turnout.orchestration.commit_channels import MAX_CHARACTERS, CommitChannels
from turnout.orchestration.heap import Heap, weight
from turnout.orchestration.lanes import Lanes
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

Outcomes: TypeAlias = list[WriteOutcome] | BaseException
"""The durable outcomes of writes, in order; an error if the ledger was closed before, or refused what it was given."""
Then: TypeAlias = Callable[[Outcomes], None]


class PendingWrites(msgspec.Struct, frozen=True, gc=False):
    """Writes that wait for a lane, or are in one."""

    writes: Sequence[RunWrite]
    then: Then
    characters: int
    """Characters of their values."""


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
        lanes: Lanes | None = None,
    ) -> None:
        self._store = store
        self._max_commit = max_commit
        self._topics_of = topics_of
        self._on_outage = on_outage
        """Called with True when a commit fails, with False when one succeeds after that."""
        self._pending: deque[PendingWrites] = deque()
        self.heap = Heap()
        self._width = width
        self._in_flight = 0
        self._in_lanes = 0
        """Commits of these that are made in threads."""
        self._channels = CommitChannels[list[PendingWrites]](self._answered, self._unanswered)
        self._since_yield = 0
        """Items that were processed on the event loop since it last yielded."""
        self._lanes = lanes or Lanes(store.lanes)
        self._closed = threading.Event()
        self.outage: StoreError | None = None
        """Set while the database is away: submissions are refused at once."""
        self.metrics = LedgerMetrics()
        self._rate_limited_log = RateLimitedLog(log)

    def write(self, writes: Sequence[RunWrite]) -> asyncio.Future[list[WriteOutcome]]:
        """Returns a future of the durable outcomes, in order."""
        future: asyncio.Future[list[WriteOutcome]] = asyncio.get_running_loop().create_future()

        def settle(outcomes: Outcomes) -> None:
            if future.done():
                return
            if isinstance(outcomes, BaseException):
                future.set_exception(outcomes)
            else:
                future.set_result(outcomes)

        self.submit(writes, settle)
        return future

    def submit(self, writes: Sequence[RunWrite], then: Then) -> None:
        """Commits these, and calls ``then`` on the event loop with their durable outcomes."""
        if self._closed.is_set():
            asyncio.get_running_loop().call_soon(then, StoreUnreachable("the ledger is closed"))
            return
        characters = sum(map(weight, writes))
        self.heap.passed(characters)
        self._pending.append(PendingWrites(writes, then, characters))
        self._flush()

    def yielding(self, items: Sequence[T]) -> Iterator[T]:
        """Iterates over items and releases the GIL every 32 items while a commit runs in a lane thread.

        A lane needs the interpreter several times during a commit, and a waiting thread gets it only every 5 ms while
        another computes. Without yields, long batches on the event loop would make each commit ten times as long.
        """
        for start in range(0, len(items), YIELD_EVERY):
            if self._since_yield >= YIELD_EVERY and self._in_lanes:
                time.sleep(YIELD_SECONDS)
                self._since_yield = 0
            part = items[start : start + YIELD_EVERY]
            self._since_yield += len(part)
            yield from part

    def close(self) -> None:
        self._closed.set()
        self._channels.close()
        self._lanes.close()
        while self._pending:
            _tell(self._pending.popleft(), StoreUnreachable("the ledger is closed"))

    def _flush(self) -> None:
        while self._pending and self._in_flight < self._lane_limit() and not self._closed.is_set():
            batch = self._next_batch()
            self._in_flight += 1
            writes = _writes_of(batch)
            light = sum([pending.characters for pending in batch]) <= MAX_CHARACTERS
            if not (light and self._channels.send(batch, writes, partial(self._topics_of, writes))):
                self._submit(batch, opens=self._channels.request(self._lane_limit()))

    def _submit(self, batch: list[PendingWrites], *, opens: bool = False, unsure: bool = False) -> None:
        """Commits the batch in a lane, which opens a channel afterwards if it ``opens`` one."""
        self._in_lanes += 1
        self._lanes.submit(partial(self._in_lane, asyncio.get_running_loop(), batch, opens, unsure))

    def _next_batch(self) -> list[PendingWrites]:
        """Takes as many pending writes as one commit may have, and at least one."""
        pending = self._pending
        batch = [pending.popleft()]
        count, characters = len(batch[0].writes), batch[0].characters
        while pending:
            count += len(pending[0].writes)
            characters += pending[0].characters
            if count > self._max_commit or characters > MAX_COMMIT_CHARACTERS:
                break
            batch.append(pending.popleft())
        return batch

    def _lane_limit(self) -> int:
        return min(self._store.lanes, max(MIN_LANES, self._width()))

    def _answered(self, batch: list[PendingWrites], outcomes: list[WriteOutcome]) -> None:
        """Called with the outcomes of a commit on a channel."""
        self.outage = None
        self._count(outcomes)
        self._committed(batch, outcomes)

    def _unanswered(self, batch: list[PendingWrites], error: BaseException) -> None:
        """Called when a channel has failed before the outcomes of its commit were known."""
        if isinstance(error, StoreError) and not isinstance(error, StoreUnreachable):
            # The database has refused all of it: a lane finds out what that means.
            self._submit(batch)
            return
        self._rate_limited_log.failure("commit of %d runs will be retried: %s", len(_writes_of(batch)), error)
        self.metrics.retries += 1
        self._on_outage(True)
        self._submit(batch, unsure=True)

    def _committed(self, batch: list[PendingWrites], outcomes: Outcomes) -> None:
        self._in_flight -= 1
        start = 0
        for pending in batch:
            end = start + len(pending.writes)
            _tell(pending, outcomes if isinstance(outcomes, BaseException) else outcomes[start:end])
            start = end
        self._flush()

    def _left_lane(self, batch: list[PendingWrites], outcomes: Outcomes) -> None:
        self._in_lanes -= 1
        self._committed(batch, outcomes)

    # -- in the lane's thread -----------------------------------------------------------------------------------
    def _in_lane(
        self,
        loop: asyncio.AbstractEventLoop,
        batch: list[PendingWrites],
        opens: bool,
        unsure: bool,
    ) -> None:
        writes = _writes_of(batch)
        outcomes: Outcomes
        try:
            outcomes = self._commit(writes, {write.run_id for write in writes} if unsure else set())
        except BaseException as error:
            outcomes = error
        with suppress(RuntimeError):  # the loop was closed meanwhile
            loop.call_soon_threadsafe(self._left_lane, batch, outcomes)
            if opens:
                self._open_channel(loop)

    def _open_channel(self, loop: asyncio.AbstractEventLoop) -> None:
        channel, available = None, True
        try:
            channel = self._store.commit_channel()
            available = channel is not None
        except Exception as error:
            log.debug("no connection for commits on the event loop: %s", error)
        try:
            loop.call_soon_threadsafe(partial(self._channels.opened, channel, available=available))
        except RuntimeError:
            if channel is not None:
                channel.close()
            raise

    def _commit(self, writes: list[RunWrite], uncertain: set[str]) -> list[WriteOutcome]:
        """Commits these writes. If the database refuses them, they are halved down to the run at fault.

        ``uncertain`` holds the runs whose writes were sent before without an answer."""
        outcomes: list[WriteOutcome] = []
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
            self._count(outcomes)
            return outcomes

    def _count(self, outcomes: Sequence[WriteOutcome]) -> None:
        self.metrics.commits += 1
        self.metrics.writes += len(outcomes)
        self.metrics.stale += len([outcome for outcome in outcomes if outcome.stale])

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


def _writes_of(batch: Sequence[PendingWrites]) -> list[RunWrite]:
    return [write for pending in batch for write in pending.writes]


def _tell(pending: PendingWrites, outcomes: Outcomes) -> None:
    try:
        pending.then(outcomes)
    except Exception:
        log.exception("the effects of a commit of %d runs failed", len(pending.writes))


def _is_rejection(result: list[WriteOutcome] | str) -> bool:
    return isinstance(result, str)
