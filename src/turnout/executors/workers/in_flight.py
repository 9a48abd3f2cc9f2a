"""Holds the attempts that workers have, and what is known of each."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Sequence

import msgspec

from turnout.contracts.executor import Report, Work
from turnout.dispatcher.executor_breaker import ExecutorBreaker
from turnout.model.events import ExecutionResult, TaskReadyEvent

_TOKEN = re.compile(r"([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\.[0-9]{1,9}):([0-9]{1,9})")
"""The tokens that may reach the database; a worker may send any text. The token of a shadow is none of them, or its
result would count for the attempt that it copies."""


class WorkerRecord(msgspec.Struct, eq=False):
    """The breaker and the counts of one worker, over its sessions."""

    breaker: ExecutorBreaker
    ended: dict[str, int]
    """Attempts by outcome."""
    reserved: int = 0
    """Slots that are reserved and not used yet."""
    cause: str = ""
    """The last failure that was the worker's fault."""
    announced: int = 0
    """The round of its breaker whose end was announced."""


class InFlight(msgspec.Struct, eq=False, gc=False):
    """One attempt that was given to this hub, until its result is durable."""

    event: TaskReadyEvent
    report: Report
    token: str
    work: Work | None = None
    confirms: bool = False
    """It may begin only once, and its worker asks first."""
    begun: bool = False
    """Its worker has the grant to begin, perhaps from another hub."""
    given: bool = False
    """It has been sent."""
    ended: bool = False
    """Its result was handed in and is not durable yet."""
    watched: WorkerRecord | None = None
    """What is known of its worker."""
    withdrawal: asyncio.Future[None] | None = None
    """Done when it has begun, or never will; None: no withdrawal was requested."""
    withdrawn_for: str = ""
    """The reason of the withdrawal."""
    probe: int = 0
    """The round of the worker's breaker in which it was admitted as a probe; 0 if it is none."""

    def withdrawn(self) -> None:
        if self.withdrawal is not None and not self.withdrawal.done():
            self.withdrawal.set_result(None)


class InFlightTable:
    """The attempts in flight, by token."""

    def __init__(self) -> None:
        self._by_token: dict[str, InFlight] = {}
        self.active = 0
        """Number of attempts without a result."""

    def __len__(self) -> int:
        return len(self._by_token)

    def add(self, flight: InFlight) -> None:
        self._by_token[flight.token] = flight
        self.active += 1

    def end(self, flight: InFlight) -> None:
        """Called when its result is known."""
        if not flight.ended:
            flight.ended = True
            self.active -= 1
        if flight.withdrawal is not None:
            flight.withdrawn()

    def get(self, token: str) -> InFlight | None:
        return self._by_token.get(token)

    def of(self, event: TaskReadyEvent) -> InFlight | None:
        return self._by_token.get(token_of(event.task_id, event.attempt, event.shadow))

    def settle(self, results: Iterable[ExecutionResult]) -> list[InFlight]:
        """Removes and returns those of these that have a result here: it is durable now."""
        by_token, settled = self._by_token, list[InFlight]()
        for each in results:
            token = token_of(each.task_id, each.attempt, each.shadow)
            flight = by_token.get(token)
            if flight is not None and flight.ended:
                del by_token[token]
                settled.append(flight)
        return settled

    def remove(self, tokens: Iterable[str]) -> list[InFlight]:
        """Removes and returns these; the caller ends those without a result."""
        return [flight for token in tokens if (flight := self._by_token.pop(token, None)) is not None]

    def withdrawn(self, tokens: Iterable[str]) -> None:
        """Called when these have begun, or never will."""
        for token in tokens:
            if (flight := self._by_token.get(token)) is not None:
                flight.withdrawn()

    def without_result(self) -> Sequence[InFlight]:
        return [flight for flight in self._by_token.values() if not flight.ended]


def token_of(task_id: str, attempt: int, shadow: bool = False) -> str:
    """Returns the name of an attempt on the wire, which is unique."""
    return f"{task_id}:{attempt}:shadow" if shadow else f"{task_id}:{attempt}"


def event_of(task_id: str, attempt: int) -> TaskReadyEvent:
    """Returns the event of an attempt that another hub gave."""
    run_id = task_id.rpartition(".")[0]
    return TaskReadyEvent(run_id=run_id, task_id=task_id, task_name="", attempt=attempt, max_attempts=attempt)


def attempt_of(token: str) -> tuple[str, int] | None:
    """Returns the task id and attempt that a token names; None if it is no token of an attempt, or a shadow's."""
    match = _TOKEN.fullmatch(token)
    return None if match is None else (match[1], int(match[2]))
