"""Hands in the results of attempts that workers have, and keeps each until it is durable."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from turnout.dispatcher.result_validation import accepted
from turnout.errors import RunNotFound, StoreError
from turnout.executors.workers.hub_services import BackgroundTasks, OrchestratorPorts, Pump
from turnout.executors.workers.in_flight import InFlight, InFlightTable, attempt_of, token_of
from turnout.executors.workers.worker_breakers import WorkerBreakers, blame
from turnout.executors.workers.worker_pool import WorkerPool
from turnout.model.events import STATUS_COMPLETED, ErrorInfo, ExecutionResult, TaskReadyEvent
from turnout.model.texts import printable
from turnout.model.values import MAX_BYTES
from turnout.runtime.capture import relay
from turnout.wire.documents import StepResult
from turnout.wire.hub_events import (
    ForeignResultsReceived,
    LinesReceived,
    ProgressReceived,
    StartRequested,
    StepNotEncodable,
    StepsLost,
    StepsOverdue,
)
from turnout.wire.hub_sessions import HubProtocol
from turnout.wire.result_codec import result_of
from turnout.wire.worker_entries import WorkerEntry

log = logging.getLogger("turnout.hub")


class Outcomes:
    """What workers say of their attempts, and what the orchestrator says of their results."""

    def __init__(
        self,
        protocol: HubProtocol,
        flights: InFlightTable,
        pool: WorkerPool,
        breakers: WorkerBreakers,
        ports: OrchestratorPorts,
        *,
        background: BackgroundTasks,
        pump: Pump,
        name: str,
        max_output_bytes: int,
    ) -> None:
        self._protocol = protocol
        self._flights = flights
        self._pool = pool
        self._breakers = breakers
        self._ports = ports
        self._background = background
        self._pump = pump
        self._name = name
        self._max_output_bytes = max_output_bytes
        self.counts: Counter[str] = Counter()
        """Attempts that ended, by status."""
        self.to_acknowledge: dict[str, list[str]] = {}
        """Tokens of results that are durable, by worker: one commit settles many."""
        self._passing: set[tuple[str, str]] = set()
        """Worker and token of results that are being left for others: they are said again meanwhile."""

    # -- what workers say ---------------------------------------------------------------------------------------
    def ended(self, worker: WorkerEntry, result: StepResult) -> None:
        flight = self._flights.get(result.token)
        if flight is None or flight.event.holder != worker.id:
            self._protocol.acknowledge(worker, [result.token])
            return
        context = flight.work.context if flight.work is not None else None
        ended = _taken(flight.event, result, context, self._max_output_bytes)
        at_fault = blame(result, ended, lambda: self._pool.others(worker, flight.work))
        self.end(flight, ended, keep=True, at_fault=at_fault)

    def end(
        self, flight: InFlight, result: ExecutionResult, *, keep: bool = False, at_fault: bool | None = None
    ) -> None:
        """Hand the result in. One that a worker sent is kept until it is durable. Everything but an output, which was
        made by ``dump_output``, may hold what a worker said: it is made sound here, and not looked at again."""
        if result.status is not STATUS_COMPLETED or result.chosen is not None:
            result = accepted(flight.event, result, self._name, self._max_output_bytes)
        self._breakers.ended(flight, result, at_fault)
        self._flights.end(flight)
        self._pool.release_reservation(flight)
        if not keep:
            self._flights.remove([flight.token])
        self.counts[result.status] += 1
        flight.report(result)

    def returned(self, tokens: Sequence[str], reason: str) -> None:
        for flight in self._flights.remove(tokens):
            if not flight.ended:
                self.end(flight, ExecutionResult.returned(flight.event, reason))

    def not_sent(self, flight: InFlight, reason: str) -> None:
        """This hub did not send it. It never began, unless a hub that is gone had sent it."""
        make = ExecutionResult.lost if flight.event.again else ExecutionResult.returned
        self.end(flight, make(flight.event, reason))

    def not_loaded(self, flight: InFlight, error: Exception) -> None:
        """What it needs cannot be had: for want of a database, which costs it nothing, or at all."""
        if isinstance(error, StoreError):
            self.not_sent(flight, error.code)
        else:
            self.end(flight, ExecutionResult.failed(flight.event, error))

    def unsendable(self, event: StepNotEncodable) -> None:
        """The next attempt would be the same."""
        said = ErrorInfo(event.kind, f"its arguments do not go into a message to a worker: {event.reason}")
        for flight in self._flights.remove([event.step.token]):
            self.end(flight, ExecutionResult.failed(flight.event, said, retryable=False))

    def overdue(self, event: StepsOverdue) -> None:
        """Its worker should have ended it long ago. What still comes of it is acknowledged and dropped."""
        for flight in self._flights.remove([step.token for step in event.steps]):
            if not flight.ended and flight.work is not None and flight.work.timeout is not None:
                result = ExecutionResult.timed_out(flight.event, flight.work.timeout)
                self.end(flight, result, at_fault=True)

    def lost(self, event: StepsLost) -> None:
        # However many it had, it was lost once.
        at_fault: bool | None = True
        for flight in self._flights.remove([step.token for step in event.steps]):
            if flight.ended:
                continue
            # What needs leave to begin and had none has not begun.
            unbegun = flight.confirms and not flight.begun
            make = ExecutionResult.returned if unbegun else ExecutionResult.lost
            self.end(flight, make(flight.event, event.reason), at_fault=at_fault)
            at_fault = None

    def start(self, event: StartRequested) -> None:
        granted: list[str] = []
        denied: list[str] = []
        for token in event.tokens:
            flight, attempt = self._flights.get(token), attempt_of(token)
            if attempt is None or (flight is None and token not in event.worker.foreign):
                denied.append(token)
            elif self._ports.holders.may_begin(event.worker.id, *attempt):
                granted.append(token)
                if flight is not None:
                    flight.begun = True
        if granted or denied:
            self._protocol.answer_start(event.worker, granted, denied)

    def say(self, event: LinesReceived) -> None:
        flight = self._flights.get(event.step.token)
        if flight is not None and flight.work is not None and flight.work.output is not None:
            for line in event.lines:
                text = f"{line.text}\n"
                relay(flight.work.output, flight.event, line.stream, text, shown=printable(text))

    def progress(self, event: ProgressReceived) -> None:
        flight = self._flights.get(event.step.token)
        if flight is not None and flight.work is not None and flight.work.output is not None:
            said = event.progress
            text = msgspec.json.encode({"done": said.done, "total": said.total, "message": said.message}).decode()
            flight.work.output(flight.event, "progress", text)

    def acknowledge(self, results: Sequence[ExecutionResult]) -> None:
        """Acknowledges results that are durable or unwanted: their workers may forget them."""
        settle, to_acknowledge = self._flights.settle, self.to_acknowledge
        for each in results:
            flight = settle(token_of(each.task_id, each.attempt, each.shadow))
            if flight is not None:
                to_acknowledge.setdefault(flight.event.holder, []).append(flight.token)
        self._pump.schedule()

    def reassign(self, results: Sequence[ExecutionResult]) -> None:
        """Posts results of runs that are not driven here to the inbox, for their owners."""
        by_worker: dict[str, list[ExecutionResult]] = {}
        for result in results:
            flight = self._flights.get(token_of(result.task_id, result.attempt, result.shadow))
            if flight is not None and flight.ended:
                by_worker.setdefault(flight.event.holder, []).append(result)
        for worker_id, some in by_worker.items():
            self._background.spawn(self._leave(worker_id, some))

    async def _leave(self, worker_id: str, results: Sequence[ExecutionResult]) -> None:
        while True:
            try:
                await self._ports.holders.post(worker_id, results)
            except StoreError as error:
                log.warning("%d results of worker %s have to wait: %s", len(results), worker_id, error)
                await asyncio.sleep(1.0)
            else:
                return self.acknowledge(results)

    async def pass_on(self, event: ForeignResultsReceived) -> None:
        """Results of steps that another hub gave, or this one before it was started again. What cannot be left now is
        said again."""
        worker = event.worker
        fresh = [result for result in event.results if (worker.id, result.token) not in self._passing]
        if not fresh:
            return
        passing = {(worker.id, result.token) for result in fresh}
        self._passing |= passing
        try:
            known = [(attempt, result) for result in fresh if (attempt := attempt_of(result.token)) is not None]
            # Nothing is loaded for what the worker only says that it holds.
            wanted = await self._ports.holders.extend_attempts(worker.id, sorted({attempt for attempt, _ in known}))
            results = [
                await self._taken_elsewhere(_event_of(*attempt), result)
                for attempt, result in known
                if attempt in wanted
            ]
            await self._ports.holders.post(worker.id, results)
        except StoreError as error:
            log.warning("%d results of worker %s have to wait: %s", len(fresh), worker.id, error)
        else:
            self._protocol.acknowledge(worker, [result.token for result in fresh])
            self._pump.run()
        finally:
            self._passing -= passing

    async def _taken_elsewhere(self, event: TaskReadyEvent, result: StepResult) -> ExecutionResult:
        """In Context style, what a handler returns is set in what it was given."""
        if result.status != "completed":
            return _taken(event, result)
        try:
            work = await self._ports.loader.load(event)
        except RunNotFound:
            return _taken(event, result)
        named = msgspec.structs.replace(event, task_name=f"{work.workflow}::{work.task.name}")
        return _taken(named, result, work.context)


def _taken(
    event: TaskReadyEvent, result: StepResult, context: Mapping[str, Any] | None = None, limit: int = MAX_BYTES
) -> ExecutionResult:
    """What a worker said; what cannot be understood fails its attempt, or it would be said again for ever."""
    try:
        return result_of(event, result.decoded(limit), now=time.time(), context=context, limit=limit)
    except Exception as error:
        log.exception("the result of %s cannot be understood", result.token)
        return ExecutionResult.failed(event, error, retryable=False)


def _event_of(task_id: str, attempt: int) -> TaskReadyEvent:
    run_id = task_id.rpartition(".")[0]
    return TaskReadyEvent(run_id=run_id, task_id=task_id, task_name="", attempt=attempt, max_attempts=attempt)
