"""The circuit breaker of each worker, the outcomes of its attempts, and its figures.

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
"""Workers that have left and are known again if they come back."""


class WorkerBreakers:
    """The workers that are there, and a memory of those that were. On the engine's event loop only."""

    def __init__(self, breaker: BreakerSettings | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._breaker = breaker
        self._clock = clock
        self._there: dict[str, WorkerRecord] = {}
        self._left: OrderedDict[Identity, WorkerRecord] = OrderedDict()
        self._probes: dict[str, tuple[InFlight, float]] = {}
        """By token, and until when they may take their time."""
        self.blocking = False
        """True if the breaker of any connected worker is not closed."""

    # -- coming and going ---------------------------------------------------------------------------------------
    def joined(self, worker: WorkerEntry) -> None:
        if worker.id in self._there:
            return
        identity = _identity(worker)
        known = self._left.pop(identity, None)
        if known is None:
            guard = ExecutorBreaker(identity[0], self._breaker, self._clock, of=f"worker {identity[0]}")
            guard.on_change = lambda before: self._look()
            known = WorkerRecord(guard, {})
        self._there[worker.id] = known
        self._look()

    def left(self, worker: WorkerEntry) -> None:
        known = self._there.pop(worker.id, None)
        if known is None:
            return
        # What was to be its probe will not come.
        known.guard.release_probes(0)
        known.reserved = 0
        self._left[_identity(worker)] = known
        while len(self._left) > MAX_REMEMBERED:
            self._left.popitem(last=False)
        self._look()

    def _look(self) -> None:
        self.blocking = any(known.guard.blocking for known in self._there.values())

    # -- admission ----------------------------------------------------------------------------------------------
    def has_room(self, worker_id: str) -> bool:
        """True if its breaker lets one more through."""
        known = self._there.get(worker_id)
        return known is None or not known.guard.blocking or known.guard.free_probes() > 0

    def is_blocked(self, worker_id: str) -> bool:
        """True if its breaker is not closed."""
        known = self._there.get(worker_id)
        return known is not None and known.guard.blocking

    def reserved(self, worker_id: str) -> None:
        if (known := self._there.get(worker_id)) is not None:
            known.reserved += 1
            if known.guard.blocking:
                known.guard.reserve_probe()

    def released(self, worker_id: str) -> None:
        if (known := self._there.get(worker_id)) is not None:
            known.reserved = max(0, known.reserved - 1)
            if known.guard.blocking:
                known.guard.release_probes(known.reserved)

    def handed_over(self, flight: InFlight) -> bool:
        """Whether it may go to its worker. Not if its place was set aside before the breaker opened."""
        known = flight.watched = self._there.get(flight.event.holder)
        if known is None:
            return True
        known.reserved = max(0, known.reserved - 1)
        # What it may have already is not another one: no other worker could be given that.
        if not known.guard.blocking or flight.event.again:
            return True
        if not known.guard.take_probes(1):
            return False
        flight.probe = known.guard.round
        self._probes[flight.token] = (flight, self._clock() + known.guard.probe_timeout)
        return True

    # -- what comes of it ---------------------------------------------------------------------------------------
    def ended(self, flight: InFlight, result: ExecutionResult, at_fault: bool | None) -> None:
        """Count the attempt, and judge its worker by it."""
        known = flight.watched
        if known is None:
            return
        status = result.status
        outcome = ExecutionStatus.FAILED if status is ExecutionStatus.RETRY else status
        known.ended[outcome] = known.ended.get(outcome, 0) + 1
        if status is STATUS_COMPLETED and not known.guard.has_failures:
            return
        if flight.probe:
            self._probes.pop(flight.token, None)
        if at_fault:
            known.cause = _describe(result.error)
        known.guard.record(at_fault, flight.probe, result.error)

    def tick(self) -> bool:
        """True if a worker may get a probe now. A probe still running after its timeout counts as success."""
        room = False
        if self._probes:
            now = self._clock()
            for token, (flight, until) in list(self._probes.items()):
                if now >= until:
                    del self._probes[token]
                    if flight.watched is not None:
                        flight.watched.guard.record(False, flight.probe)
                        room = True
        for known in self._there.values() if self.blocking else ():
            guard = known.guard
            if guard.breaker.state is BreakerState.OPEN and known.announced != guard.round and not guard.wait():
                known.announced = guard.round
                room = True
        return room

    # -- for people ---------------------------------------------------------------------------------------------

    def seen(self, protocol: HubProtocol) -> HubStatus:
        """Returns the status of all admitted workers."""
        workers = [worker for worker in protocol.workers.values() if worker.session]
        some, others = listed([self.figures_of(worker) for worker in workers])
        return HubStatus(
            id=protocol.facts.hub_id,
            workers=len(workers),
            listed=some,
            others=others,
            malformed=protocol.malformed,
        )

    def figures_of(self, worker: WorkerEntry) -> WorkerFigures:
        known = self._there.get(worker.id)
        state = BreakerState.CLOSED if known is None else known.guard.breaker.state
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
    """What people call it."""
    return worker.hello.name or worker.id


def blame(said: StepResult, ended: ExecutionResult, others: Callable[[], bool]) -> bool | None:
    """True if the worker is at fault for the result; ``others``: another worker could have run it."""
    if said.metadata.outcome == "returned" and said.error is not None and said.error.type == UNAVAILABLE_TYPE:
        return True
    if ended.status is ExecutionStatus.CRASHED:
        # Where no other worker could have run it, the body may kill whatever it runs in.
        return True if others() else None
    return worker_at_fault(ended)


def trace(way: str, route: bytes, frames: Sequence[bytes], worker: WorkerEntry | None) -> None:
    """Log one message, masked; the worker's name if it is known, else its connection."""
    who, codec = (route.hex(), JSON) if worker is None else (name_of(worker), worker.codec)
    wire_log.info("%s %s %s", who, way, shown(frames, codec))


def _identity(worker: WorkerEntry) -> Identity:
    return name_of(worker), worker.hello.host


def _describe(error: ErrorInfo | None) -> str:
    return "" if error is None else f"{error.type}: {error.message}"[:300]
