"""Holds the attempts in flight and matches results to them: each attempt has one result."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TypeAlias

import msgspec

from turnout.contracts.executor import BatchReport, Report
from turnout.dispatcher.result_validation import accepted
from turnout.dispatcher.slot import ExecutorSlot
from turnout.model.breaker import at_fault
from turnout.model.events import STATUS_COMPLETED, STATUS_RETURNED, ExecutionResult, TaskReadyEvent

log = logging.getLogger("turnout.dispatcher")

FlightKey: TypeAlias = tuple[str, int, bool]
"""Task id, attempt, shadow."""

_ROOM = object()
"""Posted instead of an answer: the executor has free capacity."""


class InFlight(msgspec.Struct, gc=False, eq=False):
    """One attempt that was handed over and not yet answered."""

    event: TaskReadyEvent
    slot: ExecutorSlot
    timer: asyncio.TimerHandle | None = None
    withdrawn: str | None = None
    """Why it was withdrawn, None if it was not. A withdrawn attempt that comes back was not refused by the executor."""
    probe: int = 0
    """The round of the executor's breaker in which it was admitted as a probe; 0 if it is none."""


class Batch:
    """Results to hand to the engine, and the executors that they came from."""

    __slots__ = ("answered", "refused", "results")

    def __init__(self, results: Iterable[ExecutionResult] = ()) -> None:
        self.results: list[ExecutionResult] = list(results)
        self.answered: set[ExecutorSlot] = set()
        self.refused: set[ExecutorSlot] = set()


class InFlightTable:
    """The table of attempts in flight, and the inbox of answers. Only ``post`` may be called from other threads."""

    def __init__(self, wake: Callable[[], None], output_limit: int) -> None:
        self.table: dict[FlightKey, InFlight] = {}
        self.stopping: bool = False
        """Attempts lost from now on do not count as failures of the executor."""
        self._wake = wake
        self._wake_due: bool = False
        self._output_limit = output_limit
        self._inbox: deque[tuple[ExecutorSlot, Sequence[object]]] = deque()

    def reporter(self, slot: ExecutorSlot) -> Report:
        """Returns the function that the executor calls with each result, from any thread."""
        return SlotReport(self, slot)

    def room(self, slot: ExecutorSlot) -> Callable[[], None]:
        """Returns the function that the executor calls, from any thread, when slots became free without a result."""
        return partial(self.post, slot, (_ROOM,))

    def post(self, slot: ExecutorSlot, answers: Sequence[object]) -> None:
        """Adds answers to the inbox, from any thread."""
        self._inbox.append((slot, answers))
        # woken() clears the flag before the inbox is drained, so an answer that finds it set is drained too.
        if not self._wake_due:
            self._wake_due = True
            self._wake()

    def woken(self) -> None:
        self._wake_due = False

    def add(self, event: TaskReadyEvent, slot: ExecutorSlot) -> InFlight | None:
        """Adds the attempt and returns its record; None if it is in flight already."""
        key, table = (event.task_id, event.attempt, event.shadow), self.table
        if key in table:
            log.warning("%s attempt %s is in flight already: not handed over twice", event.task_id, event.attempt)
            return None
        flight = table[key] = InFlight(event, slot)
        return flight

    def of(self, event: TaskReadyEvent) -> InFlight | None:
        return self.table.get((event.task_id, event.attempt, event.shadow))

    def with_shadows(self, events: Iterable[TaskReadyEvent]) -> list[InFlight]:
        """Returns those of these attempts that are in flight, and their shadow copies that are."""
        keys = ((event.task_id, event.attempt, shadow) for event in events for shadow in (False, True))
        return [flight for key in keys if (flight := self.table.get(key)) is not None]

    def drain(self) -> Batch:
        """Takes everything from the inbox, and returns the sound results as one batch."""
        batch, inbox = Batch(), self._inbox
        for _ in range(len(inbox)):
            slot, answers = inbox.popleft()
            self._take_all(batch, slot, answers)
        return batch

    def _take_all(self, batch: Batch, slot: ExecutorSlot, answers: Sequence[object]) -> None:
        """Takes answers of one executor, in order. Those of attempts that have completed are taken as ``take`` does,
        without what only failures, timers and exclusive use need."""
        table, results, completed = self.table, batch.results, 0
        calm = slot.trusted and slot.undisturbed
        for answer in answers:
            if calm and isinstance(answer, ExecutionResult) and answer.status is STATUS_COMPLETED:
                key = (answer.task_id, answer.attempt, answer.shadow)
                flight = table.get(key)
                if flight is not None and flight.slot is slot and flight.timer is None:
                    del table[key]
                    slot.in_flight -= 1
                    completed += 1
                    results.append(answer)
                    continue
            if answer is _ROOM:
                batch.answered.add(slot)
            else:
                self._take_any(batch, slot, answer)
                calm = slot.trusted and slot.undisturbed
        if completed:
            slot.by_status[STATUS_COMPLETED] = slot.by_status.get(STATUS_COMPLETED, 0) + completed
            batch.answered.add(slot)

    def _take_any(self, batch: Batch, slot: ExecutorSlot, answer: object) -> None:
        try:
            flight = self._asked(slot, answer)
            if flight is not None:
                if slot.trusted and isinstance(answer, ExecutionResult) and answer.shadow is flight.event.shadow:
                    self.take(batch, flight, answer)
                else:
                    self.take(batch, flight, accepted(flight.event, answer, slot.key, self._output_limit))
                return
        except Exception:
            log.exception("an answer of executor %s could not be read", slot.key)
        slot.dropped += 1

    def take(self, batch: Batch, flight: InFlight, result: ExecutionResult, *, telling: bool = True) -> None:
        """Ends the attempt with this result. It counts for the executor's breaker if ``telling``."""
        event, slot, status = flight.event, flight.slot, result.status
        del self.table[(event.task_id, event.attempt, event.shadow)]
        if flight.timer is not None:
            flight.timer.cancel()
        slot.in_flight -= 1
        if slot.exclusive_use is not None:
            slot.vacated()
        breaker = slot.breaker
        if (status is not STATUS_COMPLETED or breaker.has_failures) and not self.stopping:
            breaker.record(at_fault(result, isolates=slot.isolates) if telling else None, flight.probe, result.error)
        slot.by_status[status] = slot.by_status.get(status, 0) + 1
        refused = status is STATUS_RETURNED and flight.withdrawn is None
        (batch.refused if refused else batch.answered).add(slot)
        batch.results.append(result)

    def forget(self, slot: ExecutorSlot) -> None:
        """Removes the attempts of this executor: others wait for their results."""
        for key, flight in tuple(self.table.items()):
            if flight.slot is slot:
                del self.table[key]
                slot.in_flight -= 1
                if flight.timer is not None:
                    flight.timer.cancel()

    def _asked(self, slot: ExecutorSlot, answer: object) -> InFlight | None:
        """Returns the attempt of this executor that the answer is for; None if there is none."""
        if not isinstance(answer, ExecutionResult):
            log.warning("executor %s reported %s instead of an ExecutionResult", slot.key, type(answer).__name__)
            return None
        flight = self.table.get((answer.task_id, answer.attempt, answer.shadow))
        if flight is None or flight.slot is not slot:
            # A result made by hand may lack the shadow's mark. Only that way round: a shadow never decides.
            flight = self.table.get((answer.task_id, answer.attempt, True))
        return flight if flight is not None and flight.slot is slot else None


class SlotReport(BatchReport):
    """Hands the results of one executor in."""

    __slots__ = ("_slot", "_table")

    def __init__(self, table: InFlightTable, slot: ExecutorSlot) -> None:
        self._table = table
        self._slot = slot

    def all(self, results: Sequence[ExecutionResult]) -> None:
        self._table.post(self._slot, results)
