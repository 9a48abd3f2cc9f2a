"""How do attempts get to workers, and their results back? The executor that is a hub.

Everything here runs on the engine's event loop. A worker is chosen before the start of an attempt is committed, so the
database knows from the first moment who holds it.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import time
import uuid
from collections import Counter
from collections.abc import Collection, Coroutine, Mapping, Sequence
from typing import Any

import msgspec

from turnout.bodies.capture import relay
from turnout.contracts.executor import Loader, Report, Work
from turnout.contracts.workers import Holders
from turnout.errors import ExecutionFailed, RunNotFound, StoreError
from turnout.executors.workers.door import Door
from turnout.executors.workers.flights import Flight, Flights, attempt_of, token_of
from turnout.executors.workers.gate import Gate
from turnout.executors.workers.roll import Roll
from turnout.executors.workers.settings import HubSettings, is_loopback, reached_at
from turnout.executors.workers.watching import Watch, blame, name_of, trace
from turnout.model.breaker import BreakerSettings
from turnout.model.durations import seconds
from turnout.model.events import ExecutionResult, ExecutionStatus, ExecutorMetrics, TaskReadyEvent
from turnout.model.reasons import BREAKER_OPEN
from turnout.model.spec import TaskSpec
from turnout.model.workers import HubStatus
from turnout.wire.documents import Step, StepResult
from turnout.wire.greeting import Greeting, HubFacts
from turnout.wire.hub import (
    Ended,
    EndedElsewhere,
    Event,
    Greeted,
    HubProtocol,
    Left,
    Lost,
    NeverArrived,
    Progressed,
    Room,
    Said,
    StartAsked,
)
from turnout.wire.roster import WorkerEntry
from turnout.wire.translation import handler_of, result_of, step_of

log = logging.getLogger("turnout.hub")

TICK = 0.25


class WorkersExecutor:
    """Gives attempts to workers that match, and holds on to their results until they are durable."""

    local: bool = False
    kinds: frozenset[str] = frozenset({"python", "shell", "handler"})
    enforces_timeouts: bool = True
    outlives: bool = True

    def __init__(
        self,
        settings: HubSettings | None = None,
        *,
        name: str = "workers",
        listens: bool = True,
        breaker: BreakerSettings | None = None,
    ) -> None:
        self.listens = listens
        """False: tasks can be meant for workers here, but none ever comes."""
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
        self.gate = Gate.of(self.settings) if listens else None
        greeting = None if self.gate is None else Greeting(self.gate.permission)
        self.protocol = HubProtocol(facts, lambda: uuid.uuid4().hex, greeting)
        self.door = Door(self.settings, self._heard, self._carry_on, self.gate)
        self._watch = Watch(breaker)
        self._roll = Roll(self.protocol, self._watch)
        self._flights = Flights()
        self._loader: Loader | None = None
        self.holders: Holders | None = None
        """Set before the start."""
        self.address = ""
        """Where workers reach it, once it is open."""
        self._room = lambda: None
        self._to_give: dict[str, list[Step]] = {}
        """Steps that go out at the end of this turn of the loop, by worker."""
        self._to_acknowledge: dict[str, list[str]] = {}
        """Tokens of results that are durable, by worker: one commit settles many."""
        self._background: set[asyncio.Task[None]] = set()
        self._ticker: asyncio.Task[None] | None = None
        self._stopping = self._carrying_on = False
        self._executed: Counter[str] = Counter()
        self._received = self._sent = 0
        """Messages."""

    # -- the contract of executors ------------------------------------------------------------------------------
    @property
    def name(self) -> str:
        return self._name

    @property
    def capacity(self) -> int:
        return self._roll.places

    def bind(self, loader: Loader) -> None:
        self._loader = loader

    def on_capacity(self, callback: Any) -> None:
        self._room = callback

    def has_capacity(self) -> bool:
        return not self._stopping and self._roll.has_room()

    def metrics(self) -> ExecutorMetrics:
        total = sum(self._executed.values())
        failed = total - self._executed[ExecutionStatus.COMPLETED]
        return ExecutorMetrics(active_tasks=self._flights.active, total_executed=total, total_failed=failed)

    async def start(self) -> None:
        assert self.holders is not None, "an executor of workers is told by its orchestrator who holds what"
        if not self.listens:
            return
        self.door.open()
        self.address = self.settings.advertise or reached_at(self.door.address, socket.gethostname())
        self.holders.listening(self.address)
        self._ticker = asyncio.ensure_future(self._tick())
        if self.gate is not None:
            self._spawn(self._watch_the_list(self.gate))
        log.info("the hub listens on %s", self.door.address)

    async def stop(self, timeout: float) -> None:
        """Workers keep what they have: whoever owns their runs then hears of it."""
        self._stopping = True
        self.protocol.close("the hub is stopping")
        self._carry_on()
        for task in (self._ticker, *self._background):
            if task is not None:
                task.cancel()
        self.door.close()

    async def execute(self, event: TaskReadyEvent) -> ExecutionResult:
        raise ExecutionFailed(f"executor {self._name!r} takes attempts in batches")

    # -- assigning ----------------------------------------------------------------------------------------------
    def line(self, task: TaskSpec, labels: Mapping[str, str] | None) -> str:
        return self._roll.line(handler_of(task.body), labels or {})

    def assign(self, line: str) -> str | None:
        holder = None if self._stopping else self._roll.assign(line)
        if holder is not None:
            self._watch.reserved(holder)
        return holder

    def unassign(self, holder: str) -> None:
        self._roll.unassign(holder)
        self._watch.released(holder)

    def why_not(self, line: str) -> str:
        return self._roll.why_not(line)

    def name_of(self, holder: str) -> str:
        worker = self.protocol.workers.get(holder)
        return holder if worker is None else name_of(worker)

    def seen(self) -> HubStatus:
        status = self._watch.seen(self.protocol)
        return msgspec.structs.replace(status, received=self._received, sent=self._sent, dropped=self.door.dropped)

    # -- giving -------------------------------------------------------------------------------------------------
    def execute_many(self, events: Sequence[TaskReadyEvent], report: Report) -> None:
        """Send these to the workers that were chosen for them."""
        assert self._loader is not None
        for event in events:
            flight = Flight(event, report, token_of(event.task_id, event.attempt, event.shadow))
            self._flights.add(flight)
            if event.shadow:
                self._assign_shadow(flight)
                continue
            if not self._watch.handed_over(flight):
                self._end(flight, ExecutionResult.returned(event, BREAKER_OPEN))
                continue
            try:
                work = self._loader.load_now(event)
            except StoreError as error:
                self._end(flight, ExecutionResult.returned(event, error.code))
                continue
            if work is None:
                self._spawn(self._load(flight))
            else:
                self._give(flight, work)
        self._carry_on()

    def _assign_shadow(self, flight: Flight) -> None:
        """A shadow has no row, so nobody was chosen for it."""
        self._end(flight, ExecutionResult.returned(flight.event, "shadow copies do not go to workers"))

    async def _load(self, flight: Flight) -> None:
        assert self._loader is not None
        event = flight.event
        try:
            work = await self._loader.load(event)
        except StoreError as error:
            self._end(flight, ExecutionResult.returned(event, error.code))
        except Exception as error:
            self._end(flight, ExecutionResult.failed(event, error))
        else:
            self._give(flight, work)
            self._carry_on()

    def _give(self, flight: Flight, work: Work) -> None:
        assert self.holders is not None
        if flight.ended:
            return  # cancelled while it was being loaded
        flight.work, flight.confirms = work, work.task.at_most_once
        worker = self.protocol.workers.get(flight.event.holder)
        if worker is None:
            self._end(flight, ExecutionResult.returned(flight.event, "its worker has gone"))
            return
        try:
            step = step_of(work, token=flight.token, task_context=work.run_input, previous_results=work.previous)
        except Exception as error:
            self._end(flight, ExecutionResult.failed(flight.event, error, retryable=False))
            return
        self._to_give.setdefault(worker.id, []).append(step)

    def _flush(self) -> None:
        now, batch = time.monotonic(), self.settings.batch
        settled, self._to_acknowledge = self._to_acknowledge, {}
        for worker_id, tokens in settled.items():
            if (worker := self.protocol.workers.get(worker_id)) is not None:
                self.protocol.acknowledge(worker, tokens)
        for worker_id, steps in list(self._to_give.items()):
            worker = self.protocol.workers.get(worker_id)
            if worker is None:
                del self._to_give[worker_id]
                self._return([step.token for step in steps], "its worker has gone")
                continue
            while steps and (count := min(worker.free, batch, len(steps))):
                some, steps[:count] = steps[:count], []
                for step in some:
                    if (flight := self._flights.get(step.token)) is not None:
                        self._given(flight)
                self.protocol.give(worker, some, now)
            if not steps:
                del self._to_give[worker_id]

    def _given(self, flight: Flight) -> None:
        """It counts among what its worker has, or will never: the place that was set aside for it is not needed."""
        if not flight.given:
            flight.given = True
            self._roll.unassign(flight.event.holder)

    def cancel(self, event: TaskReadyEvent) -> None:
        flight = self._flights.of(event)
        if flight is None or flight.ended:
            return
        if not flight.given:
            self._withdraw(flight)
            self._end(flight, ExecutionResult.cancelled(event))
        elif (worker := self.protocol.workers.get(event.holder)) is not None:
            self.protocol.cancel(worker, [flight.token], "cancelled")
            self._carry_on_soon()

    def _withdraw(self, flight: Flight) -> None:
        """Do not send it after all."""
        waiting = self._to_give.get(flight.event.holder, [])
        waiting[:] = [step for step in waiting if step.token != flight.token]

    def settled(self, results: Sequence[ExecutionResult]) -> None:
        """These are durable, or nobody wants them: their workers may forget them."""
        tokens = [token_of(each.task_id, each.attempt, each.shadow) for each in results]
        for flight in self._flights.remove([token for token in tokens if self._has_ended(token)]):
            self._to_acknowledge.setdefault(flight.event.holder, []).append(flight.token)
        self._carry_on_soon()

    def unclaimed(self, results: Sequence[ExecutionResult]) -> None:
        """Nobody here drives the runs of these any more: whoever does finds them in the inbox."""
        by_worker: dict[str, list[ExecutionResult]] = {}
        for result in results:
            flight = self._flights.get(token_of(result.task_id, result.attempt, result.shadow))
            if flight is not None and flight.ended:
                by_worker.setdefault(flight.event.holder, []).append(result)
        for worker_id, some in by_worker.items():
            self._spawn(self._leave(worker_id, some))

    async def _leave(self, worker_id: str, results: Sequence[ExecutionResult]) -> None:
        assert self.holders is not None
        while not self._stopping:
            try:
                await self.holders.post(worker_id, results)
            except StoreError as error:
                log.warning("%d results of worker %s have to wait: %s", len(results), worker_id, error)
                await asyncio.sleep(1.0)
            else:
                return self.settled(results)

    def disown(self) -> None:
        """What has not begun and must not begin twice comes back through its worker: here nobody could grant it leave
        any more, and its worker asks nobody else."""
        for flight in self._flights.without_result():
            worker = self.protocol.workers.get(flight.event.holder)
            if worker is not None and flight.given and flight.confirms and not flight.begun:
                self.protocol.cancel(worker, [flight.token], "others drive its run")
            self._end(flight, ExecutionResult.lost(flight.event, "others drive its run"))
        for worker in self.protocol.workers.values():
            self.protocol.disown(worker)
        self._to_give.clear()
        self._carry_on()

    def holders_died(self, holders: Collection[str]) -> None:
        for worker_id in holders:
            if (worker := self.protocol.workers.get(worker_id)) is not None:
                self.protocol.expel(worker, "its process has died")
        self._carry_on()

    def _has_ended(self, token: str) -> bool:
        flight = self._flights.get(token)
        return flight is not None and flight.ended

    # -- hearing ------------------------------------------------------------------------------------------------
    def _heard(self, route: bytes, frames: Sequence[bytes], key: str | None) -> None:
        self._received += 1
        if self.settings.trace_wire:
            self._trace("←", route, frames)
        self.protocol.receive(route, frames, time.monotonic(), key)

    def _carry_on_soon(self) -> None:
        """Once for all that happens in this turn of the loop."""
        if not self._carrying_on:
            self._carrying_on = True
            asyncio.get_running_loop().call_soon(self._carry_on)

    def _carry_on(self) -> None:
        """What follows from what was heard or done: events first, then everything that is to be sent."""
        self._carrying_on = False
        while self.protocol.events:
            events, self.protocol.events = self.protocol.events, []
            for event in events:
                try:
                    self._on(event)
                except Exception:
                    log.exception("the hub stumbled over %s and goes on", type(event).__name__)
        self._flush()
        self._roll.count()
        out, self.protocol.outbox = self.protocol.outbox, []
        self._sent += len(out)
        for route, frames in out:
            if self.settings.trace_wire:
                self._trace("→", route, frames)
            self.door.send(route, frames)

    def _trace(self, way: str, route: bytes, frames: Sequence[bytes]) -> None:
        trace(way, route, frames, self.protocol.worker_at(route))

    def _on(self, event: Event) -> None:
        match event:
            case Ended():
                for result in event.results:
                    self._ended(event.worker, result)
            case Room():
                self._roll.changed()
                self._room()
            case Greeted():
                self._spawn(self._let_in(event))
            case EndedElsewhere():
                self._spawn(self._pass_on(event))
            case StartAsked():
                self._start(event)
            case NeverArrived():
                self._return([step.token for step in event.steps], "it did not reach its worker")
            case Lost():
                self._lose(event)
            case Said():
                self._say(event)
            case Progressed():
                self._progress(event)
            case Left():
                self._left(event)

    def _ended(self, worker: WorkerEntry, result: StepResult) -> None:
        flight = self._flights.get(result.token)
        if flight is None or flight.event.holder != worker.id:
            self.protocol.acknowledge(worker, [result.token])
            return
        context = flight.work.context if flight.work is not None else None
        ended = _taken(flight.event, result, context)
        at_fault = blame(result, ended, lambda: self._roll.others(worker, flight.work))
        self._end(flight, ended, keep=True, at_fault=at_fault)

    def _end(
        self, flight: Flight, result: ExecutionResult, *, keep: bool = False, at_fault: bool | None = None
    ) -> None:
        """Hand the result in. One that a worker sent is kept until it is durable."""
        self._watch.ended(flight, result, at_fault)
        self._flights.end(flight)
        self._given(flight)
        if not keep:
            self._flights.remove([flight.token])
        self._executed[result.status] += 1
        flight.report(result)

    def _return(self, tokens: Sequence[str], reason: str) -> None:
        for flight in self._flights.remove(tokens):
            if not flight.ended:
                self._end(flight, ExecutionResult.returned(flight.event, reason))

    def _lose(self, event: Lost) -> None:
        # However many it had, it was lost once.
        at_fault: bool | None = True
        for flight in self._flights.remove([step.token for step in event.steps]):
            if flight.ended:
                continue
            # What needs leave to begin and had none has not begun.
            unbegun = flight.confirms and not flight.begun
            make = ExecutionResult.returned if unbegun else ExecutionResult.lost
            self._end(flight, make(flight.event, event.reason), at_fault=at_fault)
            at_fault = None

    def _start(self, event: StartAsked) -> None:
        assert self.holders is not None
        granted: list[str] = []
        denied: list[str] = []
        for token in event.tokens:
            flight, attempt = self._flights.get(token), attempt_of(token)
            if attempt is None or (flight is None and token not in event.worker.foreign):
                denied.append(token)
            elif self.holders.may_begin(event.worker.id, *attempt):
                granted.append(token)
                if flight is not None:
                    flight.begun = True
        if granted or denied:
            self.protocol.answer_start(event.worker, granted, denied)

    def _say(self, event: Said) -> None:
        flight = self._flights.get(event.step.token)
        if flight is not None and flight.work is not None and flight.work.output is not None:
            for line in event.lines:
                relay(flight.work.output, flight.event, line.stream, f"{line.text}\n")

    def _progress(self, event: Progressed) -> None:
        flight = self._flights.get(event.step.token)
        if flight is not None and flight.work is not None and flight.work.output is not None:
            said = event.progress
            text = msgspec.json.encode({"done": said.done, "total": said.total, "message": said.message}).decode()
            flight.work.output(flight.event, "progress", text)

    # -- workers that come and go -------------------------------------------------------------------------------
    async def _let_in(self, event: Greeted) -> None:
        """Its session stands in the database before it is given anything."""
        assert self.holders is not None
        worker = event.worker
        held = {held.token: attempt for held in event.unknown if (attempt := attempt_of(held.token)) is not None}
        self._watch.joined(worker)
        try:
            drain = await self.holders.joined(self._roll.session_of(worker), self._roll.about(worker))
            wanted = await self.holders.keep(worker.id, sorted(held.values())) if held else frozenset()
        except StoreError as error:
            log.warning("worker %s has to wait: %s", worker.id, error)
            self.protocol.forget(worker)
            return
        release = [each.token for each in event.unknown if held.get(each.token) not in wanted]
        self._keep(worker, held)
        self.protocol.welcome(worker, release)
        if drain is not None:
            self._drain(worker, drain)
        log.info("worker %s has joined: %s", worker.id, self._roll.introduction(worker))
        self._carry_on()

    async def _pass_on(self, event: EndedElsewhere) -> None:
        """Results of steps that another hub gave, or this one before it was started again."""
        assert self.holders is not None
        results: list[ExecutionResult] = []
        try:
            for result in event.results:
                if (attempt := attempt_of(result.token)) is not None:
                    results.append(await self._taken_elsewhere(_event_of(*attempt), result))
            await self.holders.post(event.worker.id, results)
        except StoreError as error:
            log.warning("%d results of worker %s have to wait: %s", len(results), event.worker.id, error)
            return
        self.protocol.acknowledge(event.worker, [result.token for result in event.results])
        self._carry_on()

    async def _taken_elsewhere(self, event: TaskReadyEvent, result: StepResult) -> ExecutionResult:
        """In Context style, what a handler returns is set in what it was given."""
        assert self._loader is not None
        if result.status != "completed":
            return _taken(event, result)
        try:
            work = await self._loader.load(event)
        except RunNotFound:
            return _taken(event, result)
        named = msgspec.structs.replace(event, task_name=f"{work.workflow}::{work.task.name}")
        return _taken(named, result, work.context)

    def _left(self, event: Left) -> None:
        log.info("worker %s has left: %s", event.worker.id, event.reason)
        self._watch.left(event.worker)
        self._roll.changed()
        assert self.holders is not None
        if event.graceful:
            self._spawn(self._say_goodbye(event.worker.id))

    async def _say_goodbye(self, worker_id: str) -> None:
        assert self.holders is not None
        try:
            await self.holders.left(worker_id)
        except StoreError as error:
            log.warning("the session of worker %s will run out instead: %s", worker_id, error)

    async def _watch_the_list(self, gate: Gate) -> None:
        """Those whose keys are no longer listed, or no longer allow what they claim, have to go."""
        while True:
            await asyncio.sleep(TICK)
            # Away from the loop: the file may be on a disk that does not answer.
            if not await asyncio.to_thread(gate.allowed.look):
                continue
            for worker in list(self.protocol.workers.values()):
                error = gate.permission(worker.key, worker.hello)
                if error is not None:
                    self.protocol.expel(worker, error.message, error)
            self._carry_on()

    # -- time ---------------------------------------------------------------------------------------------------
    async def _tick(self) -> None:
        renewed = time.monotonic()
        while True:
            await asyncio.sleep(TICK)
            self.protocol.tick(time.monotonic())
            self._carry_on()
            if self._watch.tick():
                self._room()
            if time.monotonic() - renewed >= seconds(self.settings.heartbeat) / 2 and self.protocol.workers:
                renewed = time.monotonic()
                await self._renew()

    async def _renew(self) -> None:
        """Keep the sessions of those who are there, and tell them what nobody waits for any more."""
        assert self.holders is not None
        workers = [worker for worker in self.protocol.workers.values() if worker.session]
        try:
            await self._look_for_hubs()
            renewed = await self.holders.renew({worker.id: self._roll.about(worker) for worker in workers})
            for worker in workers:
                if (drain := renewed.draining.get(worker.id)) is not None and not worker.draining:
                    self._drain(worker, drain)
                if worker.id in renewed.dead:
                    self.protocol.expel(worker, "its session was declared dead")
                elif worker.foreign:
                    await self._check_foreign(worker)
        except StoreError as error:
            log.warning("the sessions of %d workers were not renewed: %s", len(workers), error)
        self._carry_on()

    def _drain(self, worker: WorkerEntry, reason: str) -> None:
        log.info("worker %s is to leave: %s", name_of(worker), reason)
        self.protocol.drain(worker, reason)
        self._roll.changed()

    async def _check_foreign(self, worker: WorkerEntry) -> None:
        assert self.holders is not None
        asked = list(worker.foreign)
        held = {token: attempt for token in asked if (attempt := attempt_of(token)) is not None}
        wanted = await self.holders.keep(worker.id, sorted(held.values()))
        gone = [token for token in asked if held.get(token) not in wanted]
        self._keep(worker, held)
        if gone:
            self.protocol.acknowledge(worker, gone)

    def _keep(self, worker: WorkerEntry, held: Mapping[str, tuple[str, int]]) -> None:
        """Take over what belongs to runs that are driven here; what others drive is theirs to take over."""
        assert self.holders is not None
        self.protocol.keep(worker, [token for token, (task_id, _) in held.items() if self.holders.owns(task_id)])

    async def _look_for_hubs(self) -> None:
        """Workers may connect to all hubs; one that only its own machine can reach is named nowhere else."""
        assert self.holders is not None
        here = is_loopback(self.address)
        found = await self.holders.hubs()
        hubs = sorted(
            {self.address, *(each for each, near in found.items() if not is_loopback(each) or (near and here))}
        )
        self.protocol.facts = msgspec.structs.replace(self.protocol.facts, hubs=tuple(hubs))

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)


def _taken(event: TaskReadyEvent, result: StepResult, context: Mapping[str, Any] | None = None) -> ExecutionResult:
    """What a worker said; what cannot be understood fails its attempt, or it would be said again for ever."""
    try:
        return result_of(event, result, now=time.time(), context=context)
    except Exception as error:
        log.exception("the result of %s cannot be understood", result.token)
        return ExecutionResult.failed(event, error, retryable=False)


def _event_of(task_id: str, attempt: int) -> TaskReadyEvent:
    run_id = task_id.rpartition(".")[0]
    return TaskReadyEvent(run_id=run_id, task_id=task_id, task_name="", attempt=attempt, max_attempts=attempt)
