"""Handles attempts while an executor's breaker is not closed: probes go through, all others go back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from turnout.dispatcher.in_flight import InFlight, InFlightTable
from turnout.dispatcher.slot import ExecutorSlot
from turnout.model.breaker import BreakerState
from turnout.model.events import TaskReadyEvent
from turnout.model.reasons import BREAKER_OPEN


class BreakerProbes:
    """Timers around the breakers, on the engine's event loop."""

    def __init__(
        self,
        flights: InFlightTable,
        *,
        tell: Callable[[ExecutorSlot], None],
        announce: Callable[[ExecutorSlot], None],
        give_back: Callable[[Sequence[TaskReadyEvent], str], None],
    ) -> None:
        self._flights = flights
        self._tell = tell
        self._announce = announce
        self._give_back = give_back

    def on_change(self, slot: ExecutorSlot, before: BreakerState) -> None:
        """Called when a breaker changes. Once it is open, capacity is announced when a probe may go."""
        if slot.guard.breaker.state is not BreakerState.OPEN:
            return
        loop = asyncio.get_running_loop()
        slot.answered()
        loop.call_later(slot.guard.wait(), self._announce_when_due, slot)
        if before is BreakerState.CLOSED:
            # There is no capacity, but the runs that wait for it have another reason from now on.
            loop.call_soon(self._tell, slot)

    def _announce_when_due(self, slot: ExecutorSlot) -> None:
        if slot.guard.breaker.state is not BreakerState.OPEN:
            return
        wait = slot.guard.wait()
        if wait > 0:
            asyncio.get_running_loop().call_later(wait, self._announce_when_due, slot)
        else:
            self._announce(slot)

    def admit(self, slot: ExecutorSlot, events: Sequence[TaskReadyEvent]) -> Sequence[TaskReadyEvent]:
        """Returns those that may go through; the others, reserved before it opened, go back."""
        through = slot.guard.take_probes(len(events))
        if through < len(events):
            for event in events[through:]:
                slot.not_taken(event.holder)
            self._give_back(events[through:], BREAKER_OPEN)
        return events[:through]

    def track(self, slot: ExecutorSlot, probe: InFlight | None) -> None:
        """A probe is handed over; None: it turned out to be in flight already."""
        if probe is None:
            slot.guard.record(None, slot.guard.round)
            return
        probe.probe = slot.guard.round
        asyncio.get_running_loop().call_later(slot.guard.probe_timeout, self._timed_out, probe)

    def _timed_out(self, probe: InFlight) -> None:
        """It took the probe and has not failed since: a body that takes its time must not keep the others waiting."""
        if self._flights.of(probe.event) is probe:
            probe.slot.guard.record(False, probe.probe)
            self._announce(probe.slot)
