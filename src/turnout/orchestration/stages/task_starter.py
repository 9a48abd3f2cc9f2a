"""Which ready tasks of a run start now. A slot is reserved first, the start is committed, and only then dispatched."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable

from turnout.contracts.dispatcher import Dispatcher
from turnout.model.breaker import BreakerState
from turnout.model.children import is_child
from turnout.model.events import DispatchDecision, TaskReadyEvent
from turnout.model.graph import Graph
from turnout.model.reasons import LIMIT, NO_CAPACITY, WAITING_TO_RUN_ALONE
from turnout.model.rows import TaskRow
from turnout.model.run_machine import RunMachine
from turnout.model.states import TaskState
from turnout.model.transition import Transition
from turnout.model.verdict import must_run_exclusively
from turnout.orchestration.active_run import ActiveRun
from turnout.orchestration.active_runs import ActiveRuns
from turnout.orchestration.capacity_queue import CapacityQueue, rest_of
from turnout.orchestration.children.child_runs import ChildRuns
from turnout.orchestration.session import OrchestratorSession
from turnout.orchestration.stages.exclusive_tasks import ExclusiveTasks
from turnout.orchestration.stages.reservations import Reservations

TRY, UNPARK = 16, 256
"""The fewest and the most waiting runs looked at each time an executor reports room: more than there are places,
since one or the other may not need its place any more."""


class TaskStarter:
    """Starts ready tasks where executors have room. Runs whose tasks find none wait, and come back when there is."""

    def __init__(
        self,
        dispatcher: Dispatcher,
        session: OrchestratorSession,
        runs: ActiveRuns,
        *,
        reservations: Reservations,
        capacity_queue: CapacityQueue,
        suspects: ExclusiveTasks,
        children: ChildRuns,
        polled: Collection[str] | None,
    ) -> None:
        self._dispatcher = dispatcher
        self._session = session
        self._runs = runs
        self._reservations = reservations
        self._capacity_queue = capacity_queue
        self._suspects = suspects
        self._children = children
        self._polled = polled
        """Executor keys that pollers serve: their tasks are never dispatched from here. None: pollers serve all."""

    def start_ready(self, owned: ActiveRun, transition: Transition, events: list[tuple[str, TaskReadyEvent]]) -> None:
        """Give ready tasks to executors that have room: reserve first, commit, and only then dispatch."""
        dispatcher, queue, reservations = self._dispatcher, self._capacity_queue, self._reservations
        if owned.machine.graph.children:
            self._children.place(owned, transition)
        if self._polled is None or self._polled:
            self._offer(owned.machine, transition)
        if self._polled is None or not self._session.may_start:
            return
        now = time.monotonic()
        assigners, full = dispatcher.assigners, set[str]()
        ready = _in_order(owned.machine.graph, transition)
        if owned.has_lost_attempts:
            ready = self._suspects.place(owned, transition, events, ready)
        tasks = owned.machine.graph.tasks
        for pos in ready:
            row = transition.task(pos)
            decision = self._decide(owned.machine, row)
            key = line = decision.executor_key
            if assigners and key in assigners:
                line = reservations.line(owned.machine, row, decision)
            if line in full:
                continue
            body = tasks[row.task_pos].body.ref
            holder = None if queue.must_queue(owned, line, now) else reservations.reserve(key, line, body)
            if holder is None:
                full.add(line)
                queue.add(owned, line, now)
                if not dispatcher.has_capacity():
                    # Not every ready task was looked at, so any executor's room may be of use to this run.
                    for other in dispatcher.used:
                        queue.add(owned, other, now)
                    break
                continue
            worker = None if key is line else assigners[key].name_of(holder)
            events.append((key, transition.start(pos, decision, holder, worker)))
            if owned.waiting_since:
                owned.waiting_since.pop(line, None)
        if full:
            self._explain(owned, transition, full)

    def _explain(self, owned: ActiveRun, transition: Transition, full: Iterable[str]) -> None:
        """Say of the tasks that found no place why they wait."""
        reasons = {line: self._reservations.wait_reason(line) for line in full}
        changed = any(owned.wait_reasons.get(line, NO_CAPACITY) != reason for line, reason in reasons.items())
        fresh = transition.made_ready()
        if not changed and all(reason == NO_CAPACITY for reason in reasons.values()):
            for pos in fresh:
                if _waits_for_room(transition.task(pos)):
                    transition.set_wait_reason(pos, NO_CAPACITY)
            return
        owned.wait_reasons = {**owned.wait_reasons, **reasons}
        machine = owned.machine
        for pos in {**machine.ready, **dict.fromkeys(fresh)} if changed else fresh:
            row = transition.task(pos)
            if row.state is TaskState.READY and _waits_for_room(row) and not is_child(machine.graph, row):
                line = self._reservations.line(machine, row, self._decide(machine, row))
                reason = reasons.get(line, NO_CAPACITY)
                if pos in transition.rows or (row.reason or NO_CAPACITY) != reason:
                    transition.update_wait_reason(pos, reason)

    def _offer(self, machine: RunMachine, transition: Transition) -> None:
        """Leave to pollers what is theirs."""
        for pos in transition.offerable():
            row = transition.task(pos)
            if row.state is not TaskState.READY or is_child(machine.graph, row):
                continue
            decision = self._routed(machine, row) if self._polled is None else self._decide(machine, row)
            if self._polled is None or decision.executor_key in self._polled:
                transition.offer(pos, decision)

    def _decide(self, machine: RunMachine, row: TaskRow) -> DispatchDecision:
        """Later attempts reuse the stored decision, but for suspects."""
        if row.losses and must_run_exclusively(row):
            return self._suspects.decide(machine, row)
        if row.executor is not None:
            return DispatchDecision(row.executor, row.decision or "", row.labels)
        return self._routed(machine, row)

    def _routed(self, machine: RunMachine, row: TaskRow) -> DispatchDecision:
        task = machine.graph.tasks[row.task_pos]
        return self._dispatcher.decide(task, machine.graph.spec, machine.new.run_id)

    # -- room ---------------------------------------------------------------------------------------------------
    def on_capacity(self, key: str) -> None:
        """Brings runs that wait for this executor back, as many as it has room for."""
        dispatcher, queue, runs = self._dispatcher, self._capacity_queue, self._runs
        room = dispatcher.free_slots(key)
        if room:
            limit = min(max(room, TRY), UNPARK)
        else:
            # Its breaker has just opened: all who wait shall say so. They park again at their old rank.
            limit = len(queue) if dispatcher.breaker(key) == BreakerState.OPEN else 0
        for line in queue.lines_of(key) if key in dispatcher.assigners else (key,):
            for owned in queue.next(line, limit):
                runs.enqueue(owned)
        if dispatcher.idle(key):
            for owned in queue.take_exclusive(key):
                runs.enqueue(owned)

    async def sweep(self) -> None:
        """Brings runs back whose executors have room and did not say so, or whose tasks wait for another reason now."""
        for key in self._capacity_queue.wanted():
            if self._dispatcher.has_capacity(key):
                self.on_capacity(key)
        for owned in self._capacity_queue.take_exclusive():
            self._runs.enqueue(owned)
        for key, assigner in self._dispatcher.assigners.items():
            for line, waiting in self._capacity_queue.waited_for(key).items():
                reason = assigner.wait_reason(rest_of(line))
                if any(owned.wait_reasons.get(line, NO_CAPACITY) != reason for owned in waiting):
                    for owned in self._capacity_queue.next(line, len(waiting)):
                        self._runs.enqueue(owned)
        # Tasks that became ready while nothing might start here wait for no executor.
        for owned in list(self._runs.values()):
            if owned.machine.ready and not owned.queued_for:
                self._runs.enqueue(owned)


def _waits_for_room(row: TaskRow) -> bool:
    return row.retry_in is None and row.poll_key is None and row.reason not in (WAITING_TO_RUN_ALONE, LIMIT)


def _in_order(graph: Graph, transition: Transition) -> list[int]:
    """The tasks that executors may get, in the order in which they should. Child runs need none."""
    ready = transition.ready()
    if graph.children:
        ready = [pos for pos in ready if not is_child(graph, transition.task(pos))]
    return sorted(ready, key=lambda pos: -transition.task(pos).priority) if graph.prioritised else ready
