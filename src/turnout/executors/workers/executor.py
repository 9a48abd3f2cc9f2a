"""Sends attempts to workers and brings their results back: the executor that is a hub.

Everything here runs on the engine's event loop. A worker is chosen before the start of an attempt is committed, so the
database knows the holder from the first moment.
"""

from __future__ import annotations

import logging
import socket
import time
import uuid
from collections import deque
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from functools import partial
from math import inf
from typing import Any

import msgspec

from turnout.contracts.executor import Loader, RemoteExecutor, Report, Work
from turnout.contracts.workers import Holders, NumberedLines
from turnout.executors.workers.attempt_workers import AttemptWorkers
from turnout.executors.workers.curve_auth import CurveAuthenticator
from turnout.executors.workers.hub_services import BackgroundTasks, MakeRouter, OrchestratorPorts, Pump, Router
from turnout.executors.workers.in_flight import InFlight, InFlightTable, token_of
from turnout.executors.workers.membership import Membership
from turnout.executors.workers.outcomes import Outcomes
from turnout.executors.workers.router_socket import TURN_SECONDS, RouterSocket
from turnout.executors.workers.settings import HubSettings, reached_at
from turnout.executors.workers.step_lines import StepLines
from turnout.executors.workers.step_sender import StepSender, Withdrawal
from turnout.executors.workers.worker_breakers import WorkerBreakers, name_of, trace
from turnout.executors.workers.worker_pool import WorkerPool
from turnout.model.breaker import BreakerSettings
from turnout.model.durations import seconds
from turnout.model.events import ExecutionResult, ExecutionStatus, ExecutorMetrics, TaskReadyEvent
from turnout.model.reasons import BREAKER_OPEN, HUB_UNAVAILABLE
from turnout.model.resources import Resources
from turnout.model.spec import TaskSpec
from turnout.model.values import MAX_BYTES
from turnout.model.workers import HubStatus
from turnout.wire.documents import Step
from turnout.wire.handshake import HelloCheck, HubFacts
from turnout.wire.hub_events import (
    CapacityChanged,
    Event,
    ForeignResultsReceived,
    HelloReceived,
    LinesReceived,
    ProgressReceived,
    ResultsReceived,
    StartRequested,
    StepNotEncodable,
    StepsLost,
    StepsOverdue,
    StepsReturned,
    StepsWaiting,
    StepsWithdrawn,
    WorkerLeft,
)
from turnout.wire.hub_sessions import HubProtocol
from turnout.wire.step_codec import handler_of, step_of
from turnout.wire.worker_entries import WorkerEntry

log = logging.getLogger("turnout.hub")

TICK = 0.25
"""Seconds between two looks at the times of steps and workers."""
IDLE_TICK = 0.5
"""Seconds between two of them while no step is out: what is left then are leases and breakers, which last longer."""
BETTER_ELSEWHERE = "another worker could begin it"


class WorkersExecutor(RemoteExecutor):
    """Gives attempts to workers that match, and keeps their results until they are durable."""

    local: bool = False
    kinds: frozenset[str] = frozenset({"python", "shell", "handler"})
    enforces_timeouts: bool = True
    isolates: bool = False
    outlives: bool = True
    trusted: bool = True

    def __init__(
        self,
        settings: HubSettings | None = None,
        *,
        name: str = "workers",
        listens: bool = True,
        breaker: BreakerSettings | None = None,
        max_output_bytes: int = MAX_BYTES,
        router: MakeRouter | None = None,
    ) -> None:
        self.listens = listens
        """False: tasks can be routed to workers here, but no worker connects."""
        self.settings = settings or HubSettings()
        self.settings.check()
        self._name = name
        self.hub_id = uuid.uuid4().hex
        facts = HubFacts(
            hub_id=self.hub_id,
            heartbeat_ms=int(seconds(self.settings.heartbeat) * 1000),
            lease_ms=int(seconds(self.settings.lease) * 1000),
            resend_ms=int(seconds(self.settings.resend) * 1000),
            max_message_bytes=self.settings.max_message_bytes,
        )
        self.attempt_workers = AttemptWorkers()
        """Workers that other executors have made for one attempt each."""
        self.authenticator = CurveAuthenticator.of(self.settings, self.attempt_workers) if listens else None
        hello_check = None if self.authenticator is None else HelloCheck(self.authenticator.permission)
        self.protocol = HubProtocol(facts, lambda: uuid.uuid4().hex, hello_check)
        self._pump = Pump(self._process_events)
        self.pump = self._pump.run
        """Handles pending events, and sends the messages that follow from them."""
        make_router = router or partial(RouterSocket, self.settings, authenticator=self.authenticator)
        self.router: Router = make_router(self._heard, self.pump)
        self.breakers = WorkerBreakers(breaker)
        self.pool = WorkerPool(self.protocol, self.breakers, self.attempt_workers)
        self.in_flight = InFlightTable()
        self.ports = OrchestratorPorts()
        self.background = BackgroundTasks(log)
        self.lines = StepLines(self.protocol, self.in_flight, self.ports, background=self.background, pump=self._pump)
        self.outcomes = Outcomes(
            self.protocol,
            self.in_flight,
            self.pool,
            self.breakers,
            self.ports,
            self.lines,
            background=self.background,
            pump=self._pump,
            name=name,
            max_output_bytes=max_output_bytes,
        )
        self._sender = StepSender(self.protocol, self.in_flight, self.pool, self.outcomes, self.settings.batch)
        self._withdrawal = Withdrawal(self.protocol, self.in_flight, self.outcomes, self._pump)
        self.membership = Membership(
            self.protocol,
            self.pool,
            self.breakers,
            self.ports,
            self.authenticator,
            self.settings,
            background=self.background,
            pump=self._pump,
        )
        self.address = ""
        """The address at which workers reach it, once it is open."""
        self._events: deque[Event] = deque()
        """Events that are not handled yet: one turn of the loop may not have time for all."""
        self.room: Callable[[], object] = lambda: None
        self._on_attempt_worker: list[Callable[[str], object]] = []
        self.stopping = False
        self._received = self._sent = 0
        """Numbers of messages."""

    # -- the contract of executors ------------------------------------------------------------------------------
    @property
    def name(self) -> str:
        return self._name

    @property
    def capacity(self) -> int:
        return self.pool.capacity

    def capacity_of(self, body: str) -> int:
        return self.pool.capacity

    def bind(self, loader: Loader) -> None:
        self.ports.loader = loader

    @property
    def holder_lease(self) -> float:
        """Seconds for which the session of a worker lasts without a renewal."""
        return seconds(self.settings.lease)

    def bind_holders(self, holders: Holders) -> None:
        """Takes the store's side of workers, before the start."""
        self.ports.holders = holders

    def bind_lines(self, store: NumberedLines) -> None:
        """Takes the store of the workers' lines, before the start."""
        self.lines.bind(store)

    def on_capacity(self, callback: Callable[[], None]) -> None:
        self.room = callback

    def on_attempt_worker(self, callback: Callable[[str], object]) -> None:
        """Takes a function that gets the id of a worker made for one attempt, whenever it is ready for that."""
        self._on_attempt_worker.append(callback)

    def refuses(self, task: TaskSpec) -> str | None:
        return None

    def fits(self, resources: Resources) -> str | None:
        """Returns None: a worker is chosen by its labels, and resources are not sent to it."""
        return None

    def has_capacity(self) -> bool:
        return not self.stopping and self.pool.has_room()

    def metrics(self) -> ExecutorMetrics:
        total = sum(self.outcomes.counts.values())
        failed = total - self.outcomes.counts[ExecutionStatus.COMPLETED]
        there = [worker for worker in self.pool.shared() if worker.session]
        apart = [each for each in self.in_flight.without_result() if each.event.holder in self.attempt_workers]
        return ExecutorMetrics(
            active_tasks=self.in_flight.active - len(apart),
            total_executed=total,
            total_failed=failed,
            capacity=sum(worker.capacity for worker in there),
            running=sum(min(len(worker.out), worker.capacity) for worker in there),
        )

    async def start(self) -> None:
        if not self.listens:
            return
        self.router.open()
        self.address = self.settings.advertise or reached_at(self.router.address, socket.gethostname())
        self.background.repeat(self.pause, self._tick, "the clock of the hub")
        self.membership.open(self.address)
        log.info("the hub listens on %s", self.router.address)

    async def stop(self, timeout: float) -> None:
        """Closes the hub. Workers keep what they have: the results go to the owners of their runs."""
        self.stopping = True
        self.protocol.close("the hub is stopping")
        self.pump()
        self.background.cancel()
        self.router.close()

    # -- assigning ----------------------------------------------------------------------------------------------
    def selector(
        self,
        task: TaskSpec,
        labels: Mapping[str, str] | None,
        exclusive: bool = False,
        others: Sequence[TaskSpec] = (),
        resources: Resources | None = None,
    ) -> str:
        also = sorted({handler_of(other.body) for other in others}) if others else ()
        return self.pool.selector(handler_of(task.body), labels or {}, exclusive, tuple(also))

    @property
    def listening(self) -> bool:
        return self.router.is_open and not self.stopping

    def assign(self, selector: str) -> str | None:
        holder = None if self.stopping else self.pool.assign(selector)
        if holder is not None:
            self.breakers.reserved(holder)
        return holder

    def has_holder(self, holder: str) -> bool:
        return holder in self.protocol.workers and holder not in self.attempt_workers

    def is_leaving(self, holder: str) -> bool:
        worker = self.protocol.workers.get(holder)
        return worker is not None and worker.draining

    def assign_again(self, event: TaskReadyEvent) -> bool:
        worker, token = self.protocol.workers[event.holder], token_of(event.task_id, event.attempt)
        if self.stopping or worker.knows(token) or not self.pool.assign_to(event.holder):
            return False
        self.breakers.reserved(event.holder)
        return True

    def unassign(self, holder: str) -> None:
        self.pool.unassign(holder)
        self.breakers.released(holder)

    def wait_reason(self, selector: str) -> str:
        return self.pool.wait_reason(selector) if self.listening else HUB_UNAVAILABLE

    def name_of(self, holder: str) -> str:
        worker = self.protocol.workers.get(holder)
        return holder if worker is None else name_of(worker)

    def seen(self) -> HubStatus:
        status = self.breakers.seen(self.protocol)
        return msgspec.structs.replace(
            status, address=self.address, received=self._received, sent=self._sent, dropped=self.router.dropped
        )

    async def keep_holders(self) -> None:
        await self.membership.keep_if_late()

    # -- sending ------------------------------------------------------------------------------------------------
    def execute_many(self, events: Sequence[TaskReadyEvent], report: Report) -> None:
        """Sends these to the workers that were chosen for them."""
        for event in events:
            flight = InFlight(event, report, token_of(event.task_id, event.attempt, event.shadow))
            self.in_flight.add(flight)
            if not self.breakers.handed_over(flight):
                self.outcomes.end(flight, ExecutionResult.returned(event, BREAKER_OPEN))
                continue
            try:
                work = self.ports.loader.load_now(event)
            except Exception as error:
                self.outcomes.not_loaded(flight, error)
                continue
            if work is None:
                self.background.spawn(self._load(flight))
            else:
                self._give(flight, work)
        self.pump()

    async def _load(self, flight: InFlight) -> None:
        try:
            work = await self.ports.loader.load(flight.event)
        except Exception as error:
            self.outcomes.not_loaded(flight, error)
        else:
            self._give(flight, work)
            self.pump()

    def _give(self, flight: InFlight, work: Work) -> None:
        if flight.ended:
            return  # cancelled while it was being loaded
        flight.work, flight.confirms, flight.begun = work, work.task.at_most_once, flight.event.again
        worker = self.protocol.workers.get(flight.event.holder)
        if worker is None:
            self.outcomes.not_sent(flight, "its worker has gone")
            return
        try:
            step = self._step_of(work, flight.token)
        except Exception as error:
            self.outcomes.end(flight, ExecutionResult.failed(flight.event, error, retryable=False))
            return
        self._sender.add(worker.id, step)

    def _step_of(self, work: Work, token: str) -> Step:
        """Returns the attempt as its worker gets it."""
        return step_of(work, token=token)

    def _flush(self) -> None:
        settled, self.outcomes.to_acknowledge = self.outcomes.to_acknowledge, {}
        for worker_id, tokens in settled.items():
            if (worker := self.protocol.workers.get(worker_id)) is not None:
                self.protocol.acknowledge(worker, tokens)
        self._sender.flush(time.monotonic())

    def cancel(self, event: TaskReadyEvent) -> None:
        flight = self.in_flight.of(event)
        if flight is None or flight.ended:
            return
        if not flight.given:
            self.outcomes.end(flight, ExecutionResult.cancelled(event))
        elif (worker := self.protocol.workers.get(event.holder)) is not None:
            self.protocol.cancel(worker, [flight.token], "cancelled")
            self._pump.schedule()

    def withdraw(self, events: Sequence[TaskReadyEvent], reason: str) -> Awaitable[Any] | None:
        return self._withdrawal.withdraw(events, reason)

    def acknowledge(self, results: Sequence[ExecutionResult]) -> None:
        self.outcomes.acknowledge(results)

    def reassign(self, results: Sequence[ExecutionResult]) -> None:
        self.outcomes.reassign(results)

    def disown(self) -> None:
        """Ends everything in flight here as lost. An attempt that needs a grant to begin and has none is cancelled at
        its worker: this hub can no longer grant it, and its worker asks no other."""
        self._act()
        self.lines.release_all()
        for flight in self.in_flight.without_result():
            worker = self.protocol.workers.get(flight.event.holder)
            if worker is not None and flight.given and flight.confirms and not flight.begun:
                self.protocol.cancel(worker, [flight.token], "others drive its run")
            self.outcomes.end(flight, ExecutionResult.lost(flight.event, "others drive its run"))
        for worker in self.protocol.workers.values():
            self.protocol.disown(worker)
        self.pump()

    def end_attempt(self, event: TaskReadyEvent, result: ExecutionResult) -> None:
        """Ends an attempt whose worker is known to have ended, with this result, and the worker's session. An attempt
        that needs a grant to begin and had none is returned."""
        flight = self.in_flight.of(event)
        if flight is not None and not flight.ended:
            self.in_flight.remove([flight.token])
            unbegun = flight.confirms and not flight.begun and not flight.event.again
            returned = ExecutionResult.returned(event, result.error_message or "its worker is gone")
            self.outcomes.end(flight, returned if unbegun else result)
        if (worker := self.protocol.workers.get(event.holder)) is not None:
            self.protocol.expel(worker, result.error_message or "its worker is gone")
        self.pump()

    def dismiss(self, worker_id: str) -> None:
        """Forgets a worker that was made for one attempt, and ends its session."""
        if (worker := self.protocol.workers.get(worker_id)) is not None:
            self.protocol.expel(worker, "its attempt is over")
            self._act()
            self._pump.schedule()
        self.attempt_workers.forget(worker_id)

    def holders_died(self, holders: Collection[str]) -> None:
        for worker_id in holders:
            if (worker := self.protocol.workers.get(worker_id)) is not None:
                self.protocol.expel(worker, "its process has died")
        self.pump()

    # -- receiving ----------------------------------------------------------------------------------------------
    def _heard(self, route: bytes, frames: Sequence[bytes], key: str | None) -> None:
        self._received += 1
        if self.settings.trace_wire:
            self._trace("←", route, frames)
        self.protocol.receive(route, frames, time.monotonic(), key)

    def _process_events(self) -> None:
        """Handles pending events, then sends everything that is to be sent."""
        self._act(until=time.monotonic() + TURN_SECONDS)
        if self._events:
            self._pump.schedule()
        self._flush()
        if self.protocol.events:
            self._pump.schedule()
        self.pool.count()
        out, self.protocol.outbox = self.protocol.outbox, []
        self._sent += len(out)
        for route, frames in out:
            if self.settings.trace_wire:
                self._trace("→", route, frames)
            self.router.send(route, frames)

    def _act(self, until: float = inf) -> None:
        """Handles events in their order, until that time."""
        while True:
            self._events.extend(self.protocol.events)
            self.protocol.events = []
            if not self._events or time.monotonic() >= until:
                return
            event = self._events.popleft()
            try:
                self._on(event)
            except Exception:
                log.exception("the hub could not handle %s", type(event).__name__)

    def _trace(self, way: str, route: bytes, frames: Sequence[bytes]) -> None:
        trace(way, route, frames, self.protocol.worker_at(route))

    def _on(self, event: Event) -> None:
        match event:
            case ResultsReceived():
                self._ended(event)
            case CapacityChanged():
                self._changed(event.worker)
            case HelloReceived():
                self.background.spawn(self.membership.admit(event))
            case ForeignResultsReceived():
                self.background.spawn(self.outcomes.pass_on(event))
            case StartRequested():
                self.outcomes.start(event)
            case StepsWaiting():
                self.protocol.take_back(event.worker, self.pool.misplaced(event.worker), BETTER_ELSEWHERE)
            case StepsWithdrawn():
                self.in_flight.withdrawn(event.tokens)
            case StepsReturned():
                self.outcomes.returned([step.token for step in event.steps], event.reason)
            case StepNotEncodable():
                self.outcomes.unsendable(event)
            case StepsOverdue():
                self.outcomes.overdue(event)
            case StepsLost():
                self.outcomes.lost(event)
            case LinesReceived():
                self.lines.receive(event)
            case ProgressReceived():
                self.outcomes.progress(event)
            case WorkerLeft():
                self.membership.on_left(event)

    def _changed(self, worker: WorkerEntry) -> None:
        self.pool.changed()
        if worker.id not in self.attempt_workers:
            self.room()
            return
        for callback in self._on_attempt_worker:
            callback(worker.id)

    def _ended(self, event: ResultsReceived) -> None:
        """Hands in the results; those that a turn of the loop has no time for come first in the next."""
        taken = self.outcomes.ended(event.worker, event.results, time.monotonic() + TURN_SECONDS)
        if taken < len(event.results):
            self._events.appendleft(ResultsReceived(event.worker, event.results[taken:]))

    # -- time ---------------------------------------------------------------------------------------------------
    def pause(self) -> float:
        """Returns the seconds until the next look."""
        return TICK if self.in_flight.active else IDLE_TICK

    async def _tick(self) -> None:
        self.protocol.tick(time.monotonic())
        self.pump()
        if self.breakers.tick():
            self.room()
