"""Reserves slots of executors, and queues the runs whose ready tasks found none."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from itertools import count
from typing import TypeAlias

import msgspec

from turnout.contracts.dispatcher import Delivery
from turnout.dispatcher.placement import WORKERS
from turnout.model.breaker import BreakerState
from turnout.model.events import DispatchDecision, TaskReadyEvent
from turnout.model.reasons import BREAKER_OPEN, HUB_UNAVAILABLE, NO_CAPACITY
from turnout.model.rows import TaskRow
from turnout.model.run_machine import RunMachine
from turnout.model.spec import TaskSpec
from turnout.model.states import RunState
from turnout.model.verdict import must_run_exclusively
from turnout.orchestration.active_runs import ActiveRun
from turnout.orchestration.session import OrchestratorSession

OVERTAKE_TIMEOUT = 0.5
"""Seconds. A run may go straight on to its next task while others wait for the same executor, but only until the first
of them has waited this long: then it queues behind them. So no run starves, and hops stay at one commit."""

MAX_REMEMBERED_QUEUES = 4096
"""Tasks whose first queue is remembered; all are forgotten at once when there are more."""

CLOSED = BreakerState.CLOSED.value


class SelectorQueue(msgspec.Struct, frozen=True):
    """The key of one of several queues of an executor that chooses among holders."""

    executor: str
    selector: str
    """What the executor itself calls the queue."""


QueueKey: TypeAlias = str | SelectorQueue
"""The key of a queue: an executor's own key if it has one queue only."""


def executor_of(queue_key: QueueKey) -> str:
    """Returns the key of the executor that a queue is for."""
    return queue_key if isinstance(queue_key, str) else queue_key.executor


class CapacityQueue:
    """Queues runs that wait for capacity by priority and waiting time: one queue per executor, or several where it
    chooses among holders."""

    def __init__(self) -> None:
        self._queues: dict[QueueKey, list[tuple[int, float, int, ActiveRun]]] = {}
        self._order = count()
        self._exclusive: dict[str, dict[ActiveRun, None]] = {}
        """Runs with a task that waits for exclusive use of the executor. They are outside of the queue, or all others
        would queue behind them."""

    def add(self, owned: ActiveRun, queue_key: QueueKey, now: float) -> None:
        if queue_key in owned.queued_for:
            return
        owned.queued_for.add(queue_key)
        since = owned.waiting_since.setdefault(queue_key, now)
        heapq.heappush(
            self._queues.setdefault(queue_key, []), (-owned.machine.new.priority, since, next(self._order), owned)
        )

    def has(self, queue_key: QueueKey) -> bool:
        """True if runs wait in this queue."""
        return queue_key in self._queues

    def must_queue(self, owned: ActiveRun, queue_key: QueueKey, now: float) -> bool:
        """True if a run of at least this priority has waited too long already."""
        queue = self._queues.get(queue_key)
        if not queue:
            return False
        priority, since, _, first = queue[0]
        if first is owned or -priority < owned.machine.new.priority:
            return False
        mine = owned.waiting_since.get(queue_key, now)
        return -priority > owned.machine.new.priority or (now - since > OVERTAKE_TIMEOUT and since < mine)

    def next(self, queue_key: QueueKey, limit: int) -> list[ActiveRun]:
        """Takes up to ``limit`` runs out of this queue. Those that get no slot are added again, at their old rank."""
        queue = self._queues.get(queue_key, [])
        chosen: list[ActiveRun] = []
        while queue and len(chosen) < limit:
            owned = heapq.heappop(queue)[3]
            owned.queued_for.discard(queue_key)
            if not owned.dropped and owned.machine.row.state is RunState.RUNNING:
                chosen.append(owned)
        if not queue:
            self._queues.pop(queue_key, None)
        return chosen

    def waiting(self, queue_key: QueueKey) -> list[ActiveRun]:
        """Returns the runs in this queue, by rank."""
        return [owned for *_, owned in sorted(self._queues.get(queue_key, ())) if _waits(owned, queue_key)]

    def add_exclusive(self, owned: ActiveRun, key: str) -> None:
        self._exclusive.setdefault(key, {})[owned] = None

    def take_exclusive(self, key: str | None = None) -> list[ActiveRun]:
        """Takes out the runs that wait for exclusive use of this executor, or of any."""
        if not self._exclusive:
            return []
        if key is not None:
            return list(self._exclusive.pop(key, ()))
        waiting, self._exclusive = self._exclusive, {}
        return [owned for runs in waiting.values() for owned in runs]

    def awaited_executors(self) -> list[str]:
        """Returns the executors that runs wait for."""
        return list(dict.fromkeys(executor_of(queue_key) for queue_key, queue in self._queues.items() if queue))

    def selector_queues(self, key: str) -> dict[SelectorQueue, list[ActiveRun]]:
        """Returns the selector queues of this executor in which runs wait, with those runs."""
        waiting = {
            queue_key: [owned for *_, owned in queue if _waits(owned, queue_key)]
            for queue_key, queue in self._queues.items()
            if isinstance(queue_key, SelectorQueue) and queue_key.executor == key
        }
        return {queue_key: runs for queue_key, runs in waiting.items() if runs}

    def queues_of(self, key: str) -> list[QueueKey]:
        """Returns the keys of all queues of this executor."""
        return [queue_key for queue_key in self._queues if executor_of(queue_key) == key]

    def __len__(self) -> int:
        return sum(len(queue) for queue in self._queues.values())


def _waits(owned: ActiveRun, queue_key: QueueKey) -> bool:
    return queue_key in owned.queued_for and not owned.dropped and owned.machine.row.state is RunState.RUNNING


class Reservations:
    """Reserves slots before the start of an attempt is committed. Says in which queue a task waits, and why."""

    def __init__(self, delivery: Delivery, session: OrchestratorSession) -> None:
        self._delivery = delivery
        self._session = session
        self._first: dict[int, tuple[TaskSpec, DispatchDecision, QueueKey]] = {}
        """Queues of first attempts, by the identity of the task; an entry keeps its task alive."""

    def reserve(self, queue_key: QueueKey, body: str) -> str | None:
        """Reserves a slot for this body. Returns the future holder of the attempt, None if there is no capacity."""
        delivery = self._delivery
        if isinstance(queue_key, str):
            return self._session.id if delivery.reserve(queue_key, body=body) else None
        assigner = delivery.assigners[queue_key.executor]
        holder = assigner.assign(queue_key.selector)
        if holder is not None and not delivery.reserve(queue_key.executor, body=body):
            assigner.unassign(holder)
            return None
        return holder

    def release(self, events: Iterable[tuple[str, TaskReadyEvent]]) -> None:
        """Releases the slots of attempts whose start was not committed."""
        for key, event in events:
            self._delivery.release(key, event.holder)

    def queue_key(
        self, machine: RunMachine, row: TaskRow, decision: DispatchDecision, others: Sequence[TaskSpec] = ()
    ) -> QueueKey:
        """Returns the queue in which this task waits, for a holder that can run the others too."""
        key = decision.executor_key
        assigner = self._delivery.assigners.get(key)
        if assigner is None:
            return key
        task = machine.graph.tasks[row.task_pos]
        alone = must_run_exclusively(row)
        return SelectorQueue(key, assigner.selector(task, decision.labels, alone, others, decision.resources))

    def first_queue_key(self, task: TaskSpec, decision: DispatchDecision) -> QueueKey:
        """Returns the queue in which the first attempt of this task waits, for any holder that can run it:
        ``queue_key`` without the row."""
        known = self._first.get(id(task))
        if known is not None and known[1] is decision:
            return known[2]
        key = decision.executor_key
        assigner = self._delivery.assigners.get(key)
        if assigner is None:
            return key
        queue_key = SelectorQueue(key, assigner.selector(task, decision.labels, resources=decision.resources))
        if len(self._first) >= MAX_REMEMBERED_QUEUES:
            self._first.clear()
        self._first[id(task)] = (task, decision, queue_key)
        return queue_key

    def wait_reason(self, queue_key: QueueKey) -> str:
        """Returns why the tasks in this queue wait."""
        key = executor_of(queue_key)
        if self._delivery.breaker(key) != CLOSED:
            return BREAKER_OPEN
        if isinstance(queue_key, str):
            return HUB_UNAVAILABLE if key == WORKERS else NO_CAPACITY
        return self._delivery.assigners[key].wait_reason(queue_key.selector)
