"""Hands attempts to their executors and brings exactly one result back for each, whatever the executor does."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, TypeAlias

from turnout.contracts.dispatcher import Results
from turnout.dispatcher.breaker_probes import BreakerProbes
from turnout.dispatcher.in_flight import Batch, InFlight, InFlightTable
from turnout.dispatcher.result_validation import raised
from turnout.dispatcher.slot import ExecutorSlot
from turnout.model.breaker import BreakerState
from turnout.model.events import ExecutionResult, TaskReadyEvent

log = logging.getLogger("turnout.dispatcher")

SLOW_HAND_OVER = 0.1

Timeouts: TypeAlias = Callable[[TaskReadyEvent], float | None]


class AttemptDelivery:
    """Hands attempts over and results back, on the engine's event loop."""

    def __init__(self, *, grace: float, output_limit: int) -> None:
        self.in_flight = InFlightTable(self._wake, output_limit)
        self.probes = BreakerProbes(self.in_flight, tell=self._tell, announce=self.announce, give_back=self.give_back)
        self.timeouts: Timeouts | None = None
        self.stopping: bool = False
        self._grace = grace
        self._loop: asyncio.AbstractEventLoop | None = None
        self._results: Results = _ignore
        self._capacity_freed: Callable[[str], None] = _ignore

    @property
    def started(self) -> bool:
        return self._loop is not None

    def start(self, results: Results, capacity_freed: Callable[[str], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._results = results
        self._capacity_freed = capacity_freed
        # What an executor posted before there was a loop was not delivered.
        self._loop.call_soon(self._flush)

    def reattach(self, slot: ExecutorSlot, event: TaskReadyEvent) -> None:
        """Hands over an attempt that the executor may have already. It needs no capacity, and no breaker stops it."""
        slot.reserved += 1
        self.hand_over(slot, [event], reattached=True)

    def leave(self, slot: ExecutorSlot) -> None:
        """Forgets the attempts of an executor that go on without this orchestrator."""
        self.in_flight.forget(slot)
        log.info("executor %s keeps %d attempts for other orchestrators", slot.key, slot.executor.leave())

    def hand_over(self, slot: ExecutorSlot, events: Sequence[TaskReadyEvent], *, reattached: bool = False) -> None:
        """Hands the events to the executor; their slots were reserved."""
        loop = self._running()
        timed = self.timeouts is not None and not slot.enforces_timeouts
        fresh: list[InFlight] = []
        slot.reserved = max(0, slot.reserved - len(events))
        slot.credit = 0
        shut = not reattached and slot.breaker.blocking
        if shut:
            events = self.probes.admit(slot, events)
        for event in events:
            flight = self.in_flight.add(event, slot)
            if shut:
                self.probes.track(slot, flight)
            if flight is None:
                slot.not_taken(event.holder)
            else:
                fresh.append(flight)
                if timed:
                    self._arm(flight)
        slot.in_flight += len(fresh)
        slot.dispatched += len(fresh)
        if shut:
            slot.vacated()
        if fresh:
            self._execute(slot, tuple([flight.event for flight in fresh]))
            if slot.one_by_one:
                # Runs when the executor waits for the first time, and so has counted these attempts.
                loop.call_soon(self.announce_soon, slot)

    def give_back(self, events: Sequence[TaskReadyEvent], reason: str) -> None:
        """Reports events that no executor can be given as returned."""
        batch = Batch(ExecutionResult.returned(event, reason) for event in events)
        self._running().call_soon(self._deliver, batch)

    def cancel(self, event: TaskReadyEvent) -> None:
        """Asks the attempt to stop; its result, if any, still comes."""
        flight = self.in_flight.of(event)
        if flight is not None:
            flight.slot.cancel(flight.event)

    def withdraw(self, events: Sequence[TaskReadyEvent], reason: str) -> Collection[asyncio.Future[Any]]:
        """Takes back what has not begun, shadow copies too. It is certain once the returned futures are done."""
        found: dict[ExecutorSlot, list[TaskReadyEvent]] = {}
        waits: list[asyncio.Future[Any]] = []
        for flight in self.in_flight.with_shadows(events):
            flight.withdrawn = reason
            found.setdefault(flight.slot, []).append(flight.event)
        for slot, withdrawn in found.items():
            waiting = slot.withdraw(withdrawn, reason)
            if waiting is not None:
                waits.append(waiting)
        return waits

    def announce(self, slot: ExecutorSlot) -> None:
        """Announces that a slot may be free."""
        slot.refused = False
        if not slot.breaker.blocking or slot.has_slot():
            self._tell(slot)

    def _tell(self, slot: ExecutorSlot) -> None:
        if self._loop is None or self.stopping:
            return
        try:
            self._capacity_freed(slot.key)
        except Exception:
            log.exception("announcing the capacity of executor %s failed", slot.key)

    def announce_soon(self, slot: ExecutorSlot) -> None:
        """Announces from a later turn of the loop, if a reservation was refused."""
        if self._loop is not None and slot.refused:
            slot.refused = False
            self._loop.call_soon(self.announce, slot)

    async def stop(self, slots: Iterable[ExecutorSlot], timeout: float) -> None:
        """Lets what runs end within the timeout, stops the executors side by side, and reports the rest as lost."""
        if self.stopping:
            return
        self.stopping = self.in_flight.stopping = True
        await asyncio.gather(*(self._stop_one(slot, timeout) for slot in slots))
        batch = self.in_flight.drain()
        for flight in tuple(self.in_flight.table.values()):
            if not flight.slot.outlives:
                self.in_flight.take(batch, flight, _stopped(flight))
        self._deliver(batch)

    # Handing over

    def _execute(self, slot: ExecutorSlot, events: tuple[TaskReadyEvent, ...]) -> None:
        began = time.monotonic()
        try:
            slot.executor.execute_many(events, slot.report)
        except (Exception, SystemExit) as error:
            self._running().call_soon(self._not_taken, slot, events, error)
        took = time.monotonic() - began
        if took > SLOW_HAND_OVER:
            log.warning("executor %s held up the engine for %.0f ms in execute_many", slot.key, took * 1000)

    def _not_taken(self, slot: ExecutorSlot, events: Sequence[TaskReadyEvent], error: BaseException) -> None:
        # What was reported before the exception stands; the rest counts as not taken.
        batch = self.in_flight.drain()
        first = True
        for event in events:
            flight = self.in_flight.of(event)
            if flight is not None and flight.slot is slot:
                # One call has failed, however many attempts it had.
                self.in_flight.take(batch, flight, raised(event, error), telling=first)
                first = False
        self._deliver(batch)

    # Results

    def _wake(self) -> None:
        if self._loop is None:
            return
        try:
            self._loop.call_soon_threadsafe(self._flush)
        except RuntimeError:
            log.debug("a result came after the event loop was closed")

    def _flush(self) -> None:
        self.in_flight.woken()
        self._deliver(self.in_flight.drain())

    def _deliver(self, batch: Batch) -> None:
        if batch.results:
            try:
                self._results(batch.results)
            except Exception:
                log.exception("taking %d results failed", len(batch.results))
        for slot in batch.answered:
            slot.answered()
            self.announce(slot)
        for slot in batch.refused - batch.answered:
            # An open breaker refuses everything by itself, for longer.
            if slot.breaker.state is not BreakerState.OPEN:
                self._running().call_later(slot.back_off(), self.announce, slot)

    # Stopping what runs

    def _arm(self, flight: InFlight) -> None:
        try:
            seconds = self.timeouts(flight.event) if self.timeouts else None
        except Exception:
            log.exception("the timeout of %s is not known", flight.event.task_id)
            return
        if seconds is not None:
            flight.timer = self._running().call_later(seconds + self._grace, self._expire, flight, seconds)

    def _expire(self, flight: InFlight, seconds: float) -> None:
        batch = self.in_flight.drain()
        if self.in_flight.of(flight.event) is flight:
            # It is not known whether the body or the executor is late.
            self.in_flight.take(batch, flight, ExecutionResult.timed_out(flight.event, seconds), telling=False)
            flight.slot.abandon(flight.event)
        self._deliver(batch)

    async def _stop_one(self, slot: ExecutorSlot, timeout: float) -> None:
        # asyncio.wait, not wait_for: a stop that ignores cancellation must not hold up the others.
        stopping = asyncio.ensure_future(slot.executor.stop(timeout))
        await asyncio.wait({stopping}, timeout=timeout + self._grace)
        if not stopping.done():
            stopping.cancel()
            log.warning("executor %s did not stop within %.1f s", slot.key, timeout)
        elif not stopping.cancelled() and (error := stopping.exception()) is not None:
            log.error("executor %s failed to stop", slot.key, exc_info=error)

    def _running(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            raise RuntimeError("the dispatcher is not started")
        return self._loop


def _stopped(flight: InFlight) -> ExecutionResult:
    return ExecutionResult.lost(flight.event, f'executor "{flight.slot.key}" was stopped')


def _ignore(_: object) -> None: ...
