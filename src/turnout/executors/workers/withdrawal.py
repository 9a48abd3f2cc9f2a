"""Steps that no worker has begun are taken back from their workers."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from typing import Any

from turnout.executors.workers.in_flight import InFlight, InFlightTable
from turnout.executors.workers.outcomes import Outcomes
from turnout.executors.workers.pump import Pump
from turnout.model.events import ExecutionResult, TaskReadyEvent
from turnout.model.reasons import CANCELLED
from turnout.wire.hub_sessions import HubProtocol


class Withdrawal:
    """Takes steps back."""

    def __init__(self, protocol: HubProtocol, flights: InFlightTable, outcomes: Outcomes, pump: Pump) -> None:
        self._protocol = protocol
        self._flights = flights
        self._outcomes = outcomes
        self._pump = pump

    def withdraw(self, events: Sequence[TaskReadyEvent], reason: str) -> Awaitable[Any] | None:
        """Answers ``returned`` for what was not sent, or has no leave to begin. Asks the workers to forget the rest
        unless it has begun: the awaitable is done when each of them has heard of it, or is gone.

        A cancelled run does not wait for that: its workers are told to stop as soon as the cancellation is stored.
        """
        asked: dict[str, list[InFlight]] = {}
        for event in events:
            flight = self._flights.of(event)
            if flight is None or flight.ended:
                continue
            worker = self._protocol.workers.get(event.holder)
            if not flight.given and not event.again:
                self._outcomes.end(flight, ExecutionResult.returned(event, reason))
            elif worker is None:
                continue  # what it had is lost, and that is being said
            elif flight.given and flight.confirms and not flight.begun:
                self._protocol.answer_start(worker, (), [flight.token])
                self._outcomes.end(flight, ExecutionResult.returned(event, reason))
            elif reason != CANCELLED and (flight.token in worker.out or not flight.given):
                if flight.withdrawal is None or flight.withdrawal.done():
                    flight.withdrawal, flight.withdrawn_for = asyncio.get_running_loop().create_future(), reason
                asked.setdefault(worker.id, []).append(flight)
        for worker_id, flights in asked.items():
            # What its worker may have from another hub is sent first.
            sent = [flight.token for flight in flights if flight.given]
            self._protocol.withdraw(self._protocol.workers[worker_id], sent, reason)
        self._pump.schedule()
        waits = [flight.withdrawal for flights in asked.values() for flight in flights if flight.withdrawal is not None]
        return asyncio.gather(*waits) if waits else None
