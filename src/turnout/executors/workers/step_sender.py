"""Sends steps to the workers that were chosen for them, and takes back those that have not begun."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from typing import Any

from turnout.executors.workers.hub_services import Pump
from turnout.executors.workers.in_flight import InFlight, InFlightTable
from turnout.executors.workers.outcomes import Outcomes
from turnout.executors.workers.worker_pool import WorkerPool
from turnout.model.events import ExecutionResult, TaskReadyEvent
from turnout.model.reasons import CANCELLED
from turnout.wire.documents import Step
from turnout.wire.hub_sessions import HubProtocol

CREDIT_TIMEOUT = 1.0
"""Seconds for which steps wait for a worker that has lowered its credits since it was chosen."""


class StepSender:
    """Sends steps at the end of a turn of the loop, those for one worker together."""

    def __init__(
        self, protocol: HubProtocol, in_flight: InFlightTable, pool: WorkerPool, outcomes: Outcomes, batch: int
    ) -> None:
        self._protocol = protocol
        self._in_flight = in_flight
        self._pool = pool
        self._outcomes = outcomes
        self._batch = batch
        self._queued: dict[str, list[Step]] = {}
        """By worker."""
        self._full_since: dict[str, float] = {}
        """The time since which a worker has had too few slots for the steps chosen for it."""

    def add(self, worker_id: str, step: Step) -> None:
        self._queued.setdefault(worker_id, []).append(step)

    def flush(self, now: float) -> None:
        chosen, self._queued = self._queued, {}
        for worker_id, steps in chosen.items():
            worker = self._protocol.workers.get(worker_id)
            room = 0 if worker is None else worker.free
            # What was cancelled meanwhile is not sent.
            get = self._in_flight.get
            wanted = [(step, flight) for step in steps if (flight := get(step.metadata.token)) is not None]
            self._keep_or_return(worker_id, [step for step, _ in wanted[room:]], now)
            for start in range(0, min(room, len(wanted)), self._batch):
                part = wanted[start : min(start + self._batch, room)]
                batch, sent = [step for step, _ in part], [flight for _, flight in part]
                self._pool.sent(worker_id, sent)
                assert worker is not None
                again = {flight.token for flight in sent if flight.event.again}
                self._protocol.give(worker, batch, now, again)
                for flight in sent:
                    if flight.withdrawal is not None:
                        self._protocol.withdraw(worker, [flight.token], flight.withdrawn_for)

    def _keep_or_return(self, worker_id: str, steps: list[Step], now: float) -> None:
        """Handles steps for which their worker has no slot: since it was chosen it may have left, be draining, or have
        lowered its credits. With fewer credits they wait for ``CREDIT_TIMEOUT``, then they are returned, since another
        worker may have slots. A step that its worker may have already waits on: no other worker may get it."""
        if not steps:
            self._full_since.pop(worker_id, None)
            return
        worker = self._protocol.workers.get(worker_id)
        takes_some = worker is not None and worker.session and worker.drain_reason is None and worker.credits > 0
        if takes_some and now - self._full_since.setdefault(worker_id, now) < CREDIT_TIMEOUT:
            self._queued[worker_id] = steps
            return
        self._full_since.pop(worker_id, None)
        reason = "its worker has gone" if worker is None else "its worker takes no more"
        for step in steps:
            flight = self._in_flight.get(step.token)
            if flight is not None and flight.event.again and worker is not None and worker.drain_reason is None:
                self._queued.setdefault(worker_id, []).append(step)
            elif flight is not None:
                self._outcomes.not_sent(flight, reason)


class Withdrawal:
    """Takes back steps that have not begun."""

    def __init__(self, protocol: HubProtocol, in_flight: InFlightTable, outcomes: Outcomes, pump: Pump) -> None:
        self._protocol = protocol
        self._in_flight = in_flight
        self._outcomes = outcomes
        self._pump = pump

    def withdraw(self, events: Sequence[TaskReadyEvent], reason: str) -> Awaitable[Any] | None:
        """Reports ``returned`` for what was not sent, or has no grant to begin. Asks the workers to drop the rest
        unless it has begun: the awaitable is done when each of them has answered, or has left.

        A cancelled run does not wait for that: its workers get the cancellation as soon as it is stored.
        """
        asked: dict[str, list[InFlight]] = {}
        for event in events:
            flight = self._in_flight.of(event)
            if flight is None or flight.ended:
                continue
            worker = self._protocol.workers.get(event.holder)
            if not flight.given and not event.again:
                self._outcomes.end(flight, ExecutionResult.returned(event, reason))
            elif worker is None:
                continue  # what it had is lost, and is reported so
            elif flight.given and flight.confirms and not flight.begun:
                self._protocol.answer_start(worker, (), [flight.token])
                self._outcomes.end(flight, ExecutionResult.returned(event, reason))
            elif reason != CANCELLED and (flight.token in worker.out or not flight.given):
                if flight.withdrawal is None or flight.withdrawal.done():
                    flight.withdrawal, flight.withdrawn_for = asyncio.get_running_loop().create_future(), reason
                asked.setdefault(worker.id, []).append(flight)
        for worker_id, withdrawn in asked.items():
            # What its worker may have from another hub is sent first.
            sent = [flight.token for flight in withdrawn if flight.given]
            self._protocol.withdraw(self._protocol.workers[worker_id], sent, reason)
        self._pump.schedule()
        waits = [flight.withdrawal for each in asked.values() for flight in each if flight.withdrawal is not None]
        return asyncio.gather(*waits) if waits else None
