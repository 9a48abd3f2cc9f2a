"""Holds the circuit breaker of each worker, the outcomes of its attempts, and its figures.

A worker has a breaker as executors have (``dispatcher/executor_breaker.py``), judged by ``worker_at_fault``. One that
dies and comes back under its name, on its host, keeps its breaker.
"""

from __future__ import annotations

import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import TypeAlias

from turnout.dispatcher.executor_breaker import ExecutorBreaker
from turnout.executors.workers.in_flight import InFlight, WorkerRecord
from turnout.model.breaker import BreakerSettings, BreakerState, worker_at_fault
from turnout.model.events import STATUS_COMPLETED, UNAVAILABLE_TYPE, ErrorInfo, ExecutionResult, ExecutionStatus
from turnout.model.workers import HubStatus, WorkerFigures, listed
from turnout.wire.documents import StepResult
from turnout.wire.frames import JSON
from turnout.wire.hub_sessions import HubProtocol
from turnout.wire.wire_log import shown
from turnout.wire.worker_entries import WorkerEntry

wire_log = logging.getLogger("turnout.wire")

Identity: TypeAlias = tuple[str, str]
"""Name and host."""

MAX_REMEMBERED = 500
"""Workers that have left and whose breaker is kept."""


class WorkerBreakers:
    """The records of connected workers, and of workers that have left. On the engine's event loop only."""

    def __init__(self, breaker: BreakerSettings | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._breaker = breaker
        self._clock = clock
        self._there: dict[str, WorkerRecord] = {}
        self._left: OrderedDict[Identity, WorkerRecord] = OrderedDict()
        self._probes: dict[str, tuple[InFlight, float]] = {}
        """By token, with the end of their timeout."""
        self.blocking = False
        """True if the breaker of any connected worker is not closed."""

    # -- joining and leaving ------------------------------------------------------------------------------------
    def joined(self, worker: WorkerEntry) -> None:
        if worker.id in self._there:
            return
        identity = _identity(worker)
        known = self._left.pop(identity, None)
        if known is None:
            breaker = ExecutorBreaker(identity[0], self._breaker, self._clock, of=f"worker {identity[0]}")
            breaker.on_change = lambda before: self._update_blocking()
            known = WorkerRecord(breaker, {})
        self._there[worker.id] = known
        self._update_blocking()

    def left(self, worker: WorkerEntry) -> None:
        known = self._there.pop(worker.id, None)
        if known is None:
            return
        # Its reserved probe will not be sent.
        known.breaker.release_probes(0)
        known.reserved = 0
        self._left[_identity(worker)] = known
        while len(self._left) > MAX_REMEMBERED:
            self._left.popitem(last=False)
        self._update_blocking()

    def _update_blocking(self) -> None:
        self.blocking = any(known.breaker.blocking for known in self._there.values())

    # -- admission ----------------------------------------------------------------------------------------------
    def has_room(self, worker_id: str) -> bool:
        """True if its breaker lets one more through."""
        known = self._there.get(worker_id)
        return known is None or not known.breaker.blocking or known.breaker.free_probes() > 0

    def is_blocked(self, worker_id: str) -> bool:
        """True if its breaker is not closed."""
        known = self._there.get(worker_id)
        return known is not None and known.breaker.blocking

    def reserved(self, worker_id: str) -> None:
        if (known := self._there.get(worker_id)) is not None:
            known.reserved += 1
            if known.breaker.blocking:
                known.breaker.reserve_probe()

    def released(self, worker_id: str) -> None:
        if (known := self._there.get(worker_id)) is not None:
            known.reserved = max(0, known.reserved - 1)
            if known.breaker.blocking:
                known.breaker.release_probes(known.reserved)

    def handed_over(self, flight: InFlight) -> bool:
        """True if it may go to its worker; False if its slot was reserved before the breaker opened."""
        known = flight.watched = self._there.get(flight.event.holder)
        if known is None:
            return True
        known.reserved = max(0, known.reserved - 1)
        # A worker that may have the attempt already gets no other one by it, and no other worker may have it.
        if not known.breaker.blocking or flight.event.again:
            return True
        if not known.breaker.take_probes(1):
            return False
        flight.probe = known.breaker.round
        self._probes[flight.token] = (flight, self._clock() + known.breaker.probe_timeout)
        return True

    # -- outcomes -----------------------------------------------------------------------------------------------
    def ended(self, flight: InFlight, result: ExecutionResult, at_fault: bool | None) -> None:
        """Counts the attempt, and records its outcome for the worker's breaker."""
        known = flight.watched
        if known is None:
            return
        status = result.status
        outcome = ExecutionStatus.FAILED if status is ExecutionStatus.RETRY else status
        known.ended[outcome] = known.ended.get(outcome, 0) + 1
        if status is STATUS_COMPLETED and not known.breaker.has_failures:
            return
        if flight.probe:
            self._probes.pop(flight.token, None)
        if at_fault:
            known.cause = _describe(result.error)
        known.breaker.record(at_fault, flight.probe, result.error)

    def tick(self) -> bool:
        """True if a worker may get a probe now. A probe still running after its timeout counts as success."""
        room = False
        if self._probes:
            now = self._clock()
            for token, (flight, until) in list(self._probes.items()):
                if now >= until:
                    del self._probes[token]
                    if flight.watched is not None:
                        flight.watched.breaker.record(False, flight.probe)
                        room = True
        for known in self._there.values() if self.blocking else ():
            breaker = known.breaker
            if breaker.state is BreakerState.OPEN and known.announced != breaker.round and not breaker.wait():
                known.announced = breaker.round
                room = True
        return room

    # -- for people ---------------------------------------------------------------------------------------------

    def seen(self, protocol: HubProtocol) -> HubStatus:
        """Returns the status of all admitted workers."""
        workers = [worker for worker in protocol.workers.values() if worker.session]
        listing, others = listed([self.figures_of(worker) for worker in workers])
        return HubStatus(
            id=protocol.facts.hub_id,
            workers=len(workers),
            listed=listing,
            others=others,
            malformed=protocol.malformed,
        )

    def figures_of(self, worker: WorkerEntry) -> WorkerFigures:
        known = self._there.get(worker.id)
        state = BreakerState.CLOSED if known is None else known.breaker.state
        running = min(len(worker.out), worker.capacity)
        return WorkerFigures(
            id=worker.id,
            name=name_of(worker),
            credits=worker.credits,
            capacity=worker.capacity,
            in_flight=len(worker.out),
            running=running,
            waiting=len(worker.out) - running,
            ended={} if known is None else dict(known.ended),
            breaker=state.value,
            cause="" if known is None or state is BreakerState.CLOSED else known.cause,
            draining=worker.draining,
            silent_seconds=max(0.0, round(self._clock() - worker.last_seen, 3)),
        )


def name_of(worker: WorkerEntry) -> str:
    """Returns the display name of a worker."""
    return worker.hello.name or worker.id


def blame(sent: StepResult, ended: ExecutionResult, others: Callable[[], bool]) -> bool | None:
    """True if the worker is at fault for the result; ``others``: another worker could have run it."""
    if sent.metadata.outcome == "returned" and sent.error is not None and sent.error.type == UNAVAILABLE_TYPE:
        return True
    if ended.status is ExecutionStatus.CRASHED:
        # Where no other worker could have run it, the body may kill whatever it runs in.
        return True if others() else None
    return worker_at_fault(ended)


def trace(way: str, route: bytes, frames: Sequence[bytes], worker: WorkerEntry | None) -> None:
    """Logs one message, masked, with the worker's name if it is known, else its connection."""
    peer, codec = (route.hex(), JSON) if worker is None else (name_of(worker), worker.codec)
    wire_log.info("%s %s %s", peer, way, shown(frames, codec))


def _identity(worker: WorkerEntry) -> Identity:
    return name_of(worker), worker.hello.host


def _describe(error: ErrorInfo | None) -> str:
    return "" if error is None else f"{error.type}: {error.message}"[:300]
