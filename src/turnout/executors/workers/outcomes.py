"""Hands in the results of attempts that workers have, and keeps each until it is durable."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import groupby
from math import inf
from operator import itemgetter
from typing import Any

import msgspec

from turnout.contracts.executor import BatchReport, Report
from turnout.dispatcher.result_validation import accepted
from turnout.errors import RunNotFound, StoreError
from turnout.executors.workers.hub_services import BackgroundTasks, OrchestratorPorts, Pump
from turnout.executors.workers.in_flight import InFlight, InFlightTable, attempt_of, event_of, token_of
from turnout.executors.workers.step_lines import StepLines
from turnout.executors.workers.worker_breakers import WorkerBreakers, blame
from turnout.executors.workers.worker_pool import WorkerPool
from turnout.model.events import STATUS_COMPLETED, ErrorInfo, ExecutionResult, TaskReadyEvent
from turnout.model.values import MAX_BYTES
from turnout.wire.documents import StepResult
from turnout.wire.hub_events import (
    ForeignResultsReceived,
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
    """Applies what workers report of their attempts, and acknowledges their results."""

    def __init__(
        self,
        protocol: HubProtocol,
        in_flight: InFlightTable,
        pool: WorkerPool,
        breakers: WorkerBreakers,
        ports: OrchestratorPorts,
        lines: StepLines,
        *,
        background: BackgroundTasks,
        pump: Pump,
        name: str,
        max_output_bytes: int,
    ) -> None:
        self._protocol = protocol
        self._in_flight = in_flight
        self._pool = pool
        self._breakers = breakers
        self._ports = ports
        self._lines = lines
        self._background = background
        self._pump = pump
        self._name = name
        self._max_output_bytes = max_output_bytes
        self.counts: Counter[str] = Counter()
        """Attempts that ended, by status."""
        self.to_acknowledge: dict[str, list[str]] = {}
        """Tokens of durable results, by worker: one commit makes many durable."""
        self._passing: set[tuple[str, str]] = set()
        """Worker and token of results that are being posted: the worker sends them again meanwhile."""
        self._together: list[tuple[Report, ExecutionResult]] | None = None
        """Results of one message, which are handed in together; None between messages."""

    # -- what workers report ------------------------------------------------------------------------------------
    def ended(self, worker: WorkerEntry, results: Sequence[StepResult], until: float = inf) -> int:
        """Hands these in, each after the lines that came before it: its worker drops them with the result. Returns how
        many were taken until then, by the monotonic clock; at least one."""
        self._together, lines, taken = [], self._lines, 0
        try:
            for result in results:
                taken += 1
                try:
                    if lines.has_unstored(result.metadata.token):
                        lines.when_stored(result.metadata.token, partial(self._ended, worker, result))
                    else:
                        self._ended(worker, result)
                except Exception:
                    log.exception("the hub could not take the result of %s", result.metadata.token)
                if time.monotonic() >= until:
                    break
        finally:
            together, self._together = self._together, None
            _hand_in(together)
        return taken

    def _ended(self, worker: WorkerEntry, result: StepResult) -> None:
        token = result.metadata.token
        flight = self._in_flight.get(token)
        if flight is None or flight.event.holder != worker.id:
            self._protocol.acknowledge(worker, [token])
            return
        context = flight.work.context if flight.work is not None else None
        ended = _taken(flight.event, result, context, self._max_output_bytes)
        at_fault: bool | None = False
        if ended.status is not STATUS_COMPLETED:
            at_fault = blame(result, ended, lambda: self._pool.others(worker, flight.work))
        self.end(flight, ended, keep=True, at_fault=at_fault)

    def end(
        self, flight: InFlight, result: ExecutionResult, *, keep: bool = False, at_fault: bool | None = None
    ) -> None:
        """Hands the result in. With ``keep``, the attempt stays here until its result is durable. Text of a worker that
        is not an output is validated here, once; an output was made by ``dump_output``."""
        if result.status is not STATUS_COMPLETED or result.chosen is not None:
            result = accepted(flight.event, result, self._name, self._max_output_bytes)
        self._breakers.ended(flight, result, at_fault)
        self._in_flight.end(flight)
        if not flight.given:
            self._pool.release_reservation(flight)
        if not keep:
            self._in_flight.remove([flight.token])
        self.counts[result.status] += 1
        if self._together is None:
            flight.report(result)
        else:
            self._together.append((flight.report, result))

    def returned(self, tokens: Sequence[str], reason: str) -> None:
        for flight in self._in_flight.remove(tokens):
            if not flight.ended:
                self.end(flight, ExecutionResult.returned(flight.event, reason))

    def not_sent(self, flight: InFlight, reason: str) -> None:
        """Ends an attempt that this hub did not send. It never began, unless a hub that has ended had sent it."""
        make = ExecutionResult.lost if flight.event.again else ExecutionResult.returned
        self.end(flight, make(flight.event, reason))

    def not_loaded(self, flight: InFlight, error: Exception) -> None:
        """Ends an attempt whose work could not be loaded. An unreachable database costs it no attempt."""
        if isinstance(error, StoreError):
            self.not_sent(flight, error.code)
        else:
            self.end(flight, ExecutionResult.failed(flight.event, error))

    def unsendable(self, event: StepNotEncodable) -> None:
        """Fails an attempt for good that cannot be encoded: the next would be the same."""
        error = ErrorInfo(event.kind, f"its arguments do not go into a message to a worker: {event.reason}")
        for flight in self._in_flight.remove([event.step.token]):
            self.end(flight, ExecutionResult.failed(flight.event, error, retryable=False))

    def overdue(self, event: StepsOverdue) -> None:
        """Ends attempts that their worker should have ended long ago. Late results are acknowledged and dropped."""
        for flight in self._in_flight.remove([step.token for step in event.steps]):
            if not flight.ended and flight.work is not None and flight.work.timeout is not None:
                result = ExecutionResult.timed_out(flight.event, flight.work.timeout)
                self.end(flight, result, at_fault=True)

    def lost(self, event: StepsLost) -> None:
        # However many attempts it had, the worker failed once.
        at_fault: bool | None = True
        for flight in self._in_flight.remove([step.token for step in event.steps]):
            if flight.ended:
                continue
            # An attempt that needs a grant to begin and had none has not begun.
            unbegun = flight.confirms and not flight.begun
            make = ExecutionResult.returned if unbegun else ExecutionResult.lost
            self.end(flight, make(flight.event, event.reason), at_fault=at_fault)
            at_fault = None

    def start(self, event: StartRequested) -> None:
        granted: list[str] = []
        denied: list[str] = []
        for token in event.tokens:
            flight, attempt = self._in_flight.get(token), attempt_of(token)
            if attempt is None or (flight is None and token not in event.worker.foreign):
                denied.append(token)
            elif self._ports.holders.may_begin(event.worker.id, *attempt):
                granted.append(token)
                if flight is not None:
                    flight.begun = True
        if granted or denied:
            self._protocol.answer_start(event.worker, granted, denied)

    def progress(self, event: ProgressReceived) -> None:
        flight = self._in_flight.get(event.step.token)
        if flight is not None and flight.work is not None and flight.work.output is not None:
            report = event.progress
            text = msgspec.json.encode({"done": report.done, "total": report.total, "message": report.message}).decode()
            flight.work.output(flight.event, "progress", text)

    def acknowledge(self, results: Sequence[ExecutionResult]) -> None:
        """Acknowledges results that are durable or not needed: their workers drop them."""
        to_acknowledge = self.to_acknowledge
        for flight in self._in_flight.settle(results):
            holder = flight.event.holder
            if (tokens := to_acknowledge.get(holder)) is None:
                tokens = to_acknowledge[holder] = []
            tokens.append(flight.token)
        self._pump.schedule()

    def reassign(self, results: Sequence[ExecutionResult]) -> None:
        """Posts results of runs that are not driven here to the inbox, for their owners."""
        by_worker: dict[str, list[ExecutionResult]] = {}
        for result in results:
            flight = self._in_flight.get(token_of(result.task_id, result.attempt, result.shadow))
            if flight is not None and flight.ended:
                by_worker.setdefault(flight.event.holder, []).append(result)
        for worker_id, posted in by_worker.items():
            self._background.spawn(self._leave(worker_id, posted))

    async def _leave(self, worker_id: str, results: Sequence[ExecutionResult]) -> None:
        while True:
            try:
                await self._ports.holders.post(worker_id, results)
            except StoreError as error:
                log.warning("%d results of worker %s are not posted yet: %s", len(results), worker_id, error)
                await asyncio.sleep(1.0)
            else:
                return self.acknowledge(results)

    async def pass_on(self, event: ForeignResultsReceived) -> None:
        """Posts results of steps that another hub gave, or this one before its restart. The worker sends again what
        could not be posted."""
        worker = event.worker
        fresh = [
            result
            for result in event.results
            if (worker.id, result.token) not in self._passing and not self._lines.is_pending(worker.id, result.token)
        ]
        if not fresh:
            return
        passing = {(worker.id, result.token) for result in fresh}
        self._passing |= passing
        try:
            known = [(attempt, result) for result in fresh if (attempt := attempt_of(result.token)) is not None]
            # Nothing is loaded for an attempt that the worker claims and the database does not confirm.
            wanted = await self._ports.holders.extend_attempts(worker.id, sorted({attempt for attempt, _ in known}))
            results = [
                await self._taken_elsewhere(event_of(*attempt), result)
                for attempt, result in known
                if attempt in wanted
            ]
            await self._lines.stored([result.token for result in fresh])
            await self._ports.holders.post(worker.id, results)
        except StoreError as error:
            log.warning("%d results of worker %s are not posted yet: %s", len(fresh), worker.id, error)
        else:
            self._protocol.acknowledge(worker, [result.token for result in fresh])
            self._pump.run()
        finally:
            self._passing -= passing

    async def _taken_elsewhere(self, event: TaskReadyEvent, result: StepResult) -> ExecutionResult:
        """Reads the result. In Context style the output is merged into the context, so that is loaded."""
        if result.status != "completed":
            return _taken(event, result)
        try:
            work = await self._ports.loader.load(event)
        except RunNotFound:
            return _taken(event, result)
        named = msgspec.structs.replace(event, task_name=f"{work.workflow}::{work.task.name}")
        return _taken(named, result, work.context)


def _hand_in(results: Sequence[tuple[Report, ExecutionResult]]) -> None:
    """Hands results in, in their order, those that go to the same report at once."""
    for report, group in groupby(results, key=itemgetter(0)):
        some = [result for _, result in group]
        if isinstance(report, BatchReport):
            report.all(some)
        else:
            for result in some:
                report(result)


def _taken(
    event: TaskReadyEvent, result: StepResult, context: Mapping[str, Any] | None = None, limit: int = MAX_BYTES
) -> ExecutionResult:
    """Returns the result that a worker sent. One that cannot be read fails its attempt, or it would be sent for
    ever."""
    try:
        return result_of(event, result.decoded(limit), now=time.time(), context=context, limit=limit)
    except Exception as error:
        log.exception("the result of %s cannot be read", result.token)
        return ExecutionResult.failed(event, error, retryable=False)
