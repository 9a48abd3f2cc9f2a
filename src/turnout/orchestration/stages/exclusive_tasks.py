"""Starts tasks that were lost twice, and so may have killed their processes, with exclusive use of something.

Such a task gets a process of its own, if its body can run in one: nothing else is lost with it, and nothing waits for
it. Otherwise it has exclusive use of its executor, and ``dispatcher.exclusive`` decides for how long others make way.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable

from turnout.contracts.dispatcher import Dispatcher
from turnout.errors import NotImportable
from turnout.model.breaker import BreakerState
from turnout.model.events import DispatchDecision, ExecutionResult, ExecutionStatus, TaskReadyEvent
from turnout.model.reasons import BREAKER_OPEN, WAITING_TO_RUN_ALONE
from turnout.model.rows import TaskRow
from turnout.model.run_machine import RunMachine
from turnout.model.spec import TaskSpec
from turnout.model.transition import Transition
from turnout.model.verdict import must_run_exclusively
from turnout.orchestration.active_runs import ActiveRun, PendingResult
from turnout.orchestration.session import OrchestratorSession
from turnout.orchestration.stages.capacity import CapacityQueue

log = logging.getLogger("turnout.exclusive")

CLOSED = BreakerState.CLOSED.value
ISOLATED = "lost twice: in a process of its own"
"""The reason of a decision for another executor than the routing rules name."""


class ExclusiveTasks:
    """Decides where tasks run that were lost twice, and starts those that need an executor exclusively."""

    def __init__(self, dispatcher: Dispatcher, session: OrchestratorSession, capacity_queue: CapacityQueue) -> None:
        self._dispatcher = dispatcher
        self._session = session
        self._capacity_queue = capacity_queue
        self._not_importable: set[str] = set()
        """Bodies that another process could not import."""

    def decide(self, machine: RunMachine, row: TaskRow) -> DispatchDecision:
        """Returns a decision for an executor that isolates the task, or the stored one if there is none."""
        dispatcher = self._dispatcher
        task = _task(machine, row)
        importable = task.body.ref not in self._not_importable
        decision = None
        if row.executor is not None and (row.decision != ISOLATED or importable):
            decision = DispatchDecision(row.executor, row.decision or "", row.labels, row.resources)
        if decision is None or (row.decision == ISOLATED and row.executor not in dispatcher.executors):
            decision = dispatcher.decide(task, machine.graph.spec, machine.new.run_id, machine.new.input)
        isolated = dispatcher.isolation(decision.executor_key, task) if importable else None
        if isolated is None or isolated == decision.executor_key:
            return decision
        return DispatchDecision(isolated, ISOLATED, resources=decision.resources)

    def start_ready(
        self, owned: ActiveRun, transition: Transition, events: list[tuple[str, TaskReadyEvent]], ready: Iterable[int]
    ) -> list[int]:
        """Starts tasks that need their executor exclusively, or lets them wait. Returns the other tasks."""
        dispatcher = self._dispatcher
        others: list[int] = []
        for pos in list(ready):
            row = transition.task(pos)
            if not must_run_exclusively(row):
                others.append(pos)
                continue
            decision = self.decide(owned.machine, row)
            key = decision.executor_key
            if key in dispatcher.assigners or dispatcher.isolation(key, _task(owned.machine, row)) == key:
                # It needs a worker exclusively, and waits for one in a queue of its own; or it has its own process.
                others.append(pos)
            elif dispatcher.reserve(key, exclusive=True):
                events.append((key, transition.start(pos, decision, self._session.id)))
            else:
                transition.set_wait_reason(
                    pos, BREAKER_OPEN if dispatcher.breaker(key) != CLOSED else WAITING_TO_RUN_ALONE
                )
                self._capacity_queue.add_exclusive(owned, key)
        return others

    def accepted(self, owned: ActiveRun, pending: PendingResult) -> ExecutionResult:
        """Returns the result as it counts. A body that a process cannot import goes back to its routed executor."""
        result, row = pending.result, owned.machine.tasks[pending.pos]
        error = result.error
        if row.decision != ISOLATED or result.status is not ExecutionStatus.FAILED or error is None:
            return result
        if error.type != NotImportable.__name__:
            return result
        ref = _task(owned.machine, row).body.ref
        self._not_importable.add(ref)
        log.warning("%s was lost twice and cannot have a process of its own: %s", ref, error.message)
        return ExecutionResult.returned(owned.machine.event(pending.pos, row), NotImportable.code)


def _task(machine: RunMachine, row: TaskRow) -> TaskSpec:
    return machine.graph.tasks[row.task_pos]
