"""Slots of executors, set aside for attempts before their start is committed."""

from __future__ import annotations

from collections.abc import Iterable

from turnout.contracts.dispatcher import Delivery
from turnout.model.breaker import BreakerState
from turnout.model.events import DispatchDecision, TaskReadyEvent
from turnout.model.reasons import BREAKER_OPEN, NO_CAPACITY
from turnout.model.rows import TaskRow
from turnout.model.run_machine import RunMachine
from turnout.model.verdict import must_run_exclusively
from turnout.orchestration.capacity_queue import key_of, line_of, rest_of
from turnout.orchestration.session import OrchestratorSession

CLOSED = BreakerState.CLOSED.value


class Reservations:
    """Reserves slots, and says in which line a task waits that got none, and why."""

    def __init__(self, delivery: Delivery, session: OrchestratorSession) -> None:
        self._delivery = delivery
        self._session = session

    def reserve(self, key: str, line: str, body: str) -> str | None:
        """Sets a slot aside for this body. Returns the future holder of the attempt, None if there is no room."""
        delivery = self._delivery
        if key is line:
            return self._session.id if delivery.reserve(key, body=body) else None
        assigner = delivery.assigners[key]
        holder = assigner.assign(rest_of(line))
        if holder is not None and not delivery.reserve(key, body=body):
            assigner.unassign(holder)
            return None
        return holder

    def release(self, events: Iterable[tuple[str, TaskReadyEvent]]) -> None:
        """Gives back the slots of attempts whose start was not committed."""
        for key, event in events:
            self._delivery.release(key, event.holder)

    def line(self, machine: RunMachine, row: TaskRow, decision: DispatchDecision) -> str:
        """The line in which this task waits: its executor's, or one of several where that chooses among holders."""
        key = decision.executor_key
        assigner = self._delivery.assigners.get(key)
        if assigner is None:
            return key
        task = machine.graph.tasks[row.task_pos]
        return line_of(key, assigner.selector(task, decision.labels, must_run_exclusively(row)))

    def wait_reason(self, line: str) -> str:
        """Why the tasks in this line wait."""
        key = key_of(line)
        if self._delivery.breaker(key) != CLOSED:
            return BREAKER_OPEN
        return NO_CAPACITY if key is line else self._delivery.assigners[key].wait_reason(rest_of(line))
