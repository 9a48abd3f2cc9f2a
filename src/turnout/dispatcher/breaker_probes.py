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
    """Admits and times probes, on the engine's event loop."""

    def __init__(
        self,
        in_flight: InFlightTable,
        *,
        tell: Callable[[ExecutorSlot], None],
        announce: Callable[[ExecutorSlot], None],
        give_back: Callable[[Sequence[TaskReadyEvent], str], None],
    ) -> None:
        self._in_flight = in_flight
        self._tell = tell
        self._announce = announce
        self._give_back = give_back

    def on_change(self, slot: ExecutorSlot, before: BreakerState) -> None:
        """Called when a breaker changes. Once it is open, capacity is announced when a probe may go."""
        if slot.breaker.state is not BreakerState.OPEN:
            return
        loop = asyncio.get_running_loop()
        slot.answered()
        loop.call_later(slot.breaker.wait(), self._announce_when_due, slot)
        if before is BreakerState.CLOSED:
            # There is no capacity, but the runs that wait for it have another reason to wait.
            loop.call_soon(self._tell, slot)

    def _announce_when_due(self, slot: ExecutorSlot) -> None:
        if slot.breaker.state is not BreakerState.OPEN:
            return
        wait = slot.breaker.wait()
        if wait > 0:
            asyncio.get_running_loop().call_later(wait, self._announce_when_due, slot)
        else:
            self._announce(slot)

    def admit(self, slot: ExecutorSlot, events: Sequence[TaskReadyEvent]) -> Sequence[TaskReadyEvent]:
        """Returns those that may go through; the others, reserved before it opened, go back."""
        through = slot.breaker.take_probes(len(events))
        if through < len(events):
            for event in events[through:]:
                slot.not_taken(event.holder)
            self._give_back(events[through:], BREAKER_OPEN)
        return events[:through]

    def track(self, slot: ExecutorSlot, probe: InFlight | None) -> None:
        """Called when a probe is handed over; None: it is in flight already."""
        if probe is None:
            slot.breaker.record(None, slot.breaker.round)
            return
        probe.probe = slot.breaker.round
        asyncio.get_running_loop().call_later(slot.breaker.probe_timeout, self._timed_out, probe)

    def _timed_out(self, probe: InFlight) -> None:
        """Counts a probe that has not failed within its timeout as success, so that a slow body does not keep others
        waiting."""
        if self._in_flight.of(probe.event) is probe:
            probe.slot.breaker.record(False, probe.probe)
            self._announce(probe.slot)
