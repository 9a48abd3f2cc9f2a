"""Holds one executor under its key: its capacity, what is reserved and in flight there, and its counts."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Sequence
from typing import Any

import msgspec

from turnout.contracts.executor import BatchExecutor, Report
from turnout.contracts.workers import Assigner
from turnout.dispatcher.exclusive import ExclusiveUse
from turnout.dispatcher.executor_breaker import ExecutorBreaker
from turnout.model.events import TaskReadyEvent
from turnout.model.spec import TaskSpec

log = logging.getLogger("turnout.dispatcher")

INITIAL_BACKOFF = 0.05
MAX_BACKOFF = 2.0
MAX_CREDIT = 32
"""Slots that are reserved, at most, without another look at the capacity."""


class DispatcherMetrics(msgspec.Struct, frozen=True, kw_only=True):
    """Counts of attempts and results of one executor since the start."""

    dispatched: int = 0
    results: dict[str, int] = {}
    """Number of results by status; each attempt that was handed over has exactly one."""
    in_flight: int = 0
    reserved: int = 0
    dropped: int = 0
    """Results that no attempt was waiting for: duplicates, late ones, nonsense."""


class ExecutorSlot:
    """An executor under its key, with what is reserved and in flight there. Used on the engine's event loop only."""

    __slots__ = (
        "assigner",
        "backoff",
        "backoff_until",
        "breaker",
        "by_status",
        "credit",
        "credited_body",
        "dispatched",
        "dropped",
        "enforces_timeouts",
        "exclusive_use",
        "executor",
        "in_flight",
        "isolates",
        "key",
        "one_by_one",
        "outlives",
        "ready",
        "refused",
        "report",
        "reserved",
        "trusted",
    )

    def __init__(
        self,
        key: str,
        executor: BatchExecutor,
        breaker: ExecutorBreaker | None = None,
        assigner: Assigner | None = None,
    ) -> None:
        self.key = key
        self.executor = executor
        self.breaker = breaker or ExecutorBreaker(key)
        self.assigner = assigner
        self.one_by_one: bool = executor.capacity is None
        self.enforces_timeouts: bool = executor.enforces_timeouts
        self.trusted: bool = executor.trusted
        self.outlives: bool = executor.outlives
        self.isolates: bool = executor.isolates
        self.exclusive_use: ExclusiveUse | None = None
        """Set while a task uses the executor exclusively, or waits to."""
        self.ready: bool = True
        self.reserved: int = 0
        self.in_flight: int = 0
        self.credit: int = 0
        """Free slots for ``credited_body`` that were counted and are not reserved yet. It lasts for the reservations of
        one batch: the hand-over that follows them sets it to zero, and so does all else that changes the capacity."""
        self.credited_body: str | None = None
        self.refused: bool = False
        """A reservation was refused since capacity was last announced."""
        self.backoff: float = 0.0
        self.backoff_until: float = 0.0
        self.report: Report
        self.dispatched: int = 0
        self.dropped: int = 0
        self.by_status: dict[str, int] = {}

    @property
    def undisturbed(self) -> bool:
        """True if a success changes nothing but counts: no breaker is open or has failures, no task runs alone."""
        return self.exclusive_use is None and not self.breaker.has_failures

    def has_slot(self) -> bool:
        """True if one more attempt may be committed to this executor."""
        return self.free_slots() > 0

    def free_slots(self, body: str | None = None) -> int:
        """Returns how many more attempts, with this body if it is named, may be committed to this executor."""
        if not self.ready or (self.backoff_until and time.monotonic() < self.backoff_until):
            return 0
        if self.exclusive_use is not None and self.exclusive_use.closed_to_others(time.monotonic()):
            return 0
        return self._free(body)

    def reserve(self, body: str | None = None) -> bool:
        """Reserves a slot."""
        if self.credit and body == self.credited_body and not self.breaker.blocking:
            self.credit -= 1
            self.reserved += 1
            return True
        free = self.free_slots(body)
        if free <= 0:
            if self.exclusive_use is not None:
                self.exclusive_use.turn_away()
            return False
        self.reserved += 1
        if self.breaker.blocking:
            self.breaker.reserve_probe()
        elif self.exclusive_use is None and not self.one_by_one:
            self.credit, self.credited_body = min(free, MAX_CREDIT) - 1, body
        return True

    def release(self, holder: str) -> None:
        """Releases a reserved slot."""
        self.credit = 0
        self.reserved -= 1
        self.not_taken(holder)
        if self.breaker.blocking:
            self.breaker.release_probes(self.reserved)
        self.vacated()

    def not_taken(self, holder: str) -> None:
        """Called when a reserved attempt will not come: the slot of its holder is free."""
        if self.assigner is not None:
            self.assigner.unassign(holder)

    def reserve_exclusively(self, body: str | None = None) -> bool:
        """Reserves a slot for an attempt that must run alone. An executor that isolates its attempts grants any
        slot."""
        self.credit = 0
        if not self.ready or self.isolates:
            return self.reserve(body)
        self.exclusive_use = self.exclusive_use or ExclusiveUse()
        empty = not self.reserved and not self.in_flight
        granted = not self.exclusive_use.taken and self._free() > 0 and self.exclusive_use.ask(time.monotonic(), empty)
        if granted:
            self.reserved += 1
            if self.breaker.blocking:
                self.breaker.reserve_probe()
        return granted

    def vacated(self) -> None:
        """Called when an attempt has ended, or will not come."""
        if self.exclusive_use is not None and not self.reserved and not self.in_flight:
            now = time.monotonic()
            self.exclusive_use.release(now)
            if self.exclusive_use.over(now):
                self.exclusive_use = None

    def _free(self, body: str | None = None) -> int:
        if self.breaker.blocking and not self.breaker.free_probes():
            return 0
        try:
            if self.one_by_one:
                # Each hand-over must be visible to has_capacity() before the next reservation.
                return int(not self.reserved and self.executor.has_capacity())
            capacity = self.executor.capacity if body is None else self.executor.capacity_of(body)
            free = (capacity or 0) - self.reserved - self.in_flight
            return min(free, self.breaker.free_probes()) if self.breaker.blocking else free
        except Exception:
            log.exception("the capacity of executor %s could not be read", self.key)
            return 0

    def can_run(self, task: TaskSpec) -> bool:
        """True if the task's body is of a kind that it runs, and it does not refuse it."""
        return task.body.kind in self.executor.kinds and self.executor.refuses(task) is None

    async def start(self) -> None:
        """Starts the executor, which gets attempts from then on."""
        await self.executor.start()
        self.ready = True

    def cancel(self, event: TaskReadyEvent) -> None:
        """Asks for a running attempt to stop."""
        try:
            self.executor.cancel(event)
        except Exception:
            log.exception("executor %s could not cancel %s", self.key, event.task_id)

    def abandon(self, event: TaskReadyEvent) -> None:
        """Asks an attempt that has its result already to stop."""
        try:
            self.executor.abandon(event)
        except Exception:
            log.exception("executor %s could not cancel %s", self.key, event.task_id)

    def withdraw(self, events: Sequence[TaskReadyEvent], reason: str) -> asyncio.Future[Any] | None:
        """Takes back what has not begun; returns what to wait for, if anything."""
        try:
            waiting = self.executor.withdraw(events, reason)
            return None if waiting is None else asyncio.ensure_future(waiting)
        except Exception:
            log.exception("executor %s could not withdraw %d attempts", self.key, len(events))
            return None

    def back_off(self) -> float:
        """Called when it refused what it had a slot for. Returns the seconds of back-off, longer each time in a row."""
        self.credit = 0
        self.backoff = min(self.backoff * 2 or INITIAL_BACKOFF, MAX_BACKOFF)
        self.backoff_until = time.monotonic() + self.backoff
        return self.backoff

    def answered(self) -> None:
        """Called when it gave a result: the back-off ends."""
        self.backoff = self.backoff_until = 0.0
        self.credit = 0

    def metrics(self) -> DispatcherMetrics:
        return DispatcherMetrics(
            dispatched=self.dispatched,
            results=dict(self.by_status),
            in_flight=self.in_flight,
            reserved=self.reserved,
            dropped=self.dropped,
        )
