"""When do steps go out to the workers that were chosen for them? At once, if they still have room."""

from __future__ import annotations

from turnout.executors.workers.in_flight import InFlightTable
from turnout.executors.workers.outcomes import Outcomes
from turnout.executors.workers.worker_pool import WorkerPool
from turnout.wire.documents import Step
from turnout.wire.hub_sessions import HubProtocol

PATIENCE = 1.0
"""Seconds for which steps wait for a worker that has lowered its credits since it was chosen."""


class StepSender:
    """Steps that go out at the end of this turn of the loop, those for one worker together."""

    def __init__(
        self, protocol: HubProtocol, flights: InFlightTable, roll: WorkerPool, outcomes: Outcomes, batch: int
    ) -> None:
        self._protocol = protocol
        self._flights = flights
        self._roll = roll
        self._outcomes = outcomes
        self._batch = batch
        self._chosen: dict[str, list[Step]] = {}
        """By worker."""
        self._crowded: dict[str, float] = {}
        """Since when a worker has had no room for all that was chosen for it."""

    def add(self, worker_id: str, step: Step) -> None:
        self._chosen.setdefault(worker_id, []).append(step)

    def flush(self, now: float) -> None:
        chosen, self._chosen = self._chosen, {}
        for worker_id, steps in chosen.items():
            worker = self._protocol.workers.get(worker_id)
            room = 0 if worker is None else worker.free
            # What was cancelled meanwhile is not sent.
            wanted = [step for step in steps if self._flights.get(step.token) is not None]
            self._keep_or_return(worker_id, wanted[room:], now)
            for start in range(0, min(room, len(wanted)), self._batch):
                some = wanted[start : min(start + self._batch, room)]
                flights = [flight for step in some if (flight := self._flights.get(step.token)) is not None]
                for flight in flights:
                    self._roll.sent(flight)
                assert worker is not None
                again = {flight.token for flight in flights if flight.event.again}
                self._protocol.give(worker, some, now, again)
                for flight in flights:
                    if flight.withdrawal is not None:
                        self._protocol.withdraw(worker, [flight.token], flight.withdrawn_for)

    def _keep_or_return(self, worker_id: str, steps: list[Step], now: float) -> None:
        """Since it was chosen a worker may have gone, been told to leave, or lowered its credits. If it only takes
        fewer, these go out as soon as something ends there; but not for long: others may have room. What it may have
        already nobody else can be given, so that waits for it."""
        if not steps:
            self._crowded.pop(worker_id, None)
            return
        worker = self._protocol.workers.get(worker_id)
        takes_some = worker is not None and worker.session and worker.leaves is None and worker.credits > 0
        if takes_some and now - self._crowded.setdefault(worker_id, now) < PATIENCE:
            self._chosen[worker_id] = steps
            return
        self._crowded.pop(worker_id, None)
        reason = "its worker has gone" if worker is None else "its worker takes no more"
        for step in steps:
            flight = self._flights.get(step.token)
            if flight is not None and flight.event.again and worker is not None and worker.leaves is None:
                self._chosen.setdefault(worker_id, []).append(step)
            elif flight is not None:
                self._outcomes.not_sent(flight, reason)
