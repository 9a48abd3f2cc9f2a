"""Decides which ready tasks of a run start now: a slot is reserved, the start committed, and only then dispatched."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable

from turnout.contracts.dispatcher import Dispatcher
from turnout.model.breaker import BreakerState
from turnout.model.children import is_child
from turnout.model.events import DispatchDecision, TaskReadyEvent
from turnout.model.first_transition import FirstTransition
from turnout.model.graph import Graph
from turnout.model.groups import startable
from turnout.model.reasons import LIMIT, MAX_ACTIVE_STEPS, NO_CAPACITY, WAITING_TO_RUN_ALONE
from turnout.model.rows import TaskRow
from turnout.model.run_machine import RunMachine
from turnout.model.states import TaskState
from turnout.model.transition import Transition
from turnout.model.verdict import must_run_exclusively
from turnout.orchestration.active_runs import ActiveRun, ActiveRuns
from turnout.orchestration.children.child_runs import ChildRuns
from turnout.orchestration.session import OrchestratorSession
from turnout.orchestration.stages.affinity import RunAffinity
from turnout.orchestration.stages.capacity import CapacityQueue, QueueKey, Reservations
from turnout.orchestration.stages.exclusive_tasks import ExclusiveTasks
from turnout.orchestration.stages.limit_queue import LimitQueue

MIN_RESUMED, MAX_RESUMED = 16, 256
"""Bounds of how many waiting runs are resumed when an executor reports capacity: more than it has slots, since some of
them may not need theirs any more."""


class TaskStarter:
    """Starts ready tasks where executors have capacity. Runs whose tasks find none are queued and resumed later."""

    def __init__(
        self,
        dispatcher: Dispatcher,
        session: OrchestratorSession,
        runs: ActiveRuns,
        *,
        reservations: Reservations,
        capacity_queue: CapacityQueue,
        exclusive_tasks: ExclusiveTasks,
        affinity: RunAffinity,
        children: ChildRuns,
        limits: LimitQueue,
        polled: Collection[str] | None,
    ) -> None:
        self._dispatcher = dispatcher
        self._session = session
        self._runs = runs
        self._reservations = reservations
        self._capacity_queue = capacity_queue
        self._exclusive_tasks = exclusive_tasks
        self._affinity = affinity
        self._children = children
        self._limits = limits
        self._polled = polled
        """Executor keys that pollers serve: their tasks are never dispatched from here. None: pollers serve all."""

    def start_ready(self, owned: ActiveRun, transition: Transition, events: list[tuple[str, TaskReadyEvent]]) -> None:
        """Starts ready tasks in the transition, and appends their attempts to ``events``."""
        machine = owned.machine
        if owned.awaits_slots:
            return _wait_for_slots(transition)
        if machine.graph.children:
            self._children.start_ready(owned, transition)
        if self._polled is None or self._polled:
            self._offer(owned, transition)
        if self._polled is None or not self._session.may_start:
            return
        if transition.due and self._may_start_due(owned):
            self._start_due(machine, transition, events)
        if not machine.graph.plain or transition.due or transition.has_ready or machine.ready:
            self._start_waiting(owned, transition, events)

    def repeat(self, owned: ActiveRun, first: FirstTransition, events: list[tuple[str, TaskReadyEvent]]) -> bool:
        """Reserves the slots of a run that begins as another one did, and appends its attempts to ``events``. False if
        it is to begin by itself: something of it differs, or a slot is not free."""
        dispatcher, machine = self._dispatcher, owned.machine
        if self._polled is None or self._polled or not self._session.may_start:
            return False
        if owned.awaits_slots or owned.waiting_since or owned.has_lost_attempts:
            return False
        graph, new, assigners = machine.graph, machine.new, dispatcher.assigners
        # An executor that chooses among holders may choose another one for this run, whose rows then differ.
        if assigners and any(start.row.executor in assigners for start in first.starts):
            return False
        for start in first.starts:
            decision = dispatcher.decide(graph.tasks[start.row.pos], graph.spec, new.run_id, new.input)
            key, body = decision.executor_key, start.event.body
            if not start.is_by(decision) or self._capacity_queue.has(key) or not dispatcher.reserve(key, body=body):
                self._reservations.release(events)
                events.clear()
                return False
            events.append((key, first.event(start, machine)))
        return True

    def _start_due(self, machine: RunMachine, transition: Transition, events: list[tuple[str, TaskReadyEvent]]) -> None:
        """Starts tasks that become ready in this transition, until one finds no slot or others wait for one."""
        dispatcher, tasks, new = self._dispatcher, machine.graph.tasks, machine.new
        queue, reservations, assigners = self._capacity_queue, self._reservations, dispatcher.assigners
        me, started = self._session.id, 0
        for pos in transition.due:
            task = tasks[pos]
            decision = dispatcher.decide(task, machine.graph.spec, new.run_id, new.input)
            key, body = decision.executor_key, task.body.ref
            if key in assigners:
                queue_key = reservations.first_queue_key(task, decision)
                holder = None if queue.has(queue_key) else reservations.reserve(queue_key, body)
                if holder is None:
                    break
                event = transition.start(pos, decision, holder, assigners[key].name_of(holder))
            elif queue.has(key) or not dispatcher.reserve(key, body=body):
                break
            else:
                event = transition.start(pos, decision, me)
            events.append((key, event))
            started += 1
        del transition.due[:started]

    def _may_start_due(self, owned: ActiveRun) -> bool:
        """True if tasks that become ready may start before those that are ready are looked at."""
        if owned.waiting_since or owned.has_lost_attempts:
            return False
        if not self._dispatcher.assigners:
            return True
        # Tasks that wait for another holder come first, and the steps of a run may have to go to one holder.
        return not owned.machine.ready and owned.machine.graph.spec.affinity != "run"

    def _start_waiting(
        self, owned: ActiveRun, transition: Transition, events: list[tuple[str, TaskReadyEvent]]
    ) -> None:
        """Starts tasks that are ready, whatever they need; those that find no slot are queued, and say why."""
        dispatcher, queue, reservations = self._dispatcher, self._capacity_queue, self._reservations
        machine, assigners, now = owned.machine, dispatcher.assigners, time.monotonic()
        full: set[QueueKey] = set()
        ready = self._startable(owned, transition, events)
        tasks = machine.graph.tasks
        pinned = self._affinity.of(owned, transition) if assigners and ready else None
        for pos in ready:
            row = transition.task(pos)
            decision = self._decide(owned.machine, row)
            if pinned is not None:
                decision = pinned.place(row, decision)
            key = decision.executor_key
            queue_key: QueueKey = key
            if assigners and key in assigners:
                others = pinned.companions(row, decision) if pinned is not None else ()
                queue_key = reservations.queue_key(owned.machine, row, decision, others)
            if queue_key in full:
                continue
            body = tasks[row.task_pos].body.ref
            holder = None if queue.must_queue(owned, queue_key, now) else reservations.reserve(queue_key, body)
            if holder is None:
                full.add(queue_key)
                queue.add(owned, queue_key, now)
                if not dispatcher.has_capacity():
                    # Not every ready task was looked at, so the capacity of any executor may be of use to this run.
                    for other in dispatcher.used:
                        queue.add(owned, other, now)
                    break
                continue
            worker = None if queue_key is key else assigners[key].name_of(holder)
            if pinned is not None:
                decision = pinned.assigned(row, decision, holder)
            events.append((key, transition.start(pos, decision, holder, worker)))
            if owned.waiting_since:
                owned.waiting_since.pop(queue_key, None)
        if full:
            self._set_wait_reasons(owned, transition, full)

    def _startable(
        self, owned: ActiveRun, transition: Transition, events: list[tuple[str, TaskReadyEvent]]
    ) -> list[int]:
        """Returns the ready tasks that only need a slot of an executor. Those that need one exclusively start here."""
        ready = _by_priority(owned.machine.graph, transition)
        if owned.machine.graph.max_active_steps is not None:
            for pos in {*transition.made_ready()}.difference(ready):
                if startable(transition.task(pos)):
                    transition.set_wait_reason(pos, MAX_ACTIVE_STEPS)
        if owned.machine.graph.step_limited:
            ready = self._limits.start_steps(owned, transition, ready)
        if owned.has_lost_attempts:
            ready = self._exclusive_tasks.start_ready(owned, transition, events, ready)
        return ready

    def _set_wait_reasons(self, owned: ActiveRun, transition: Transition, full: Iterable[QueueKey]) -> None:
        """Records why the tasks that got no slot wait."""
        reasons = {queue_key: self._reservations.wait_reason(queue_key) for queue_key in full}
        changed = any(owned.wait_reasons.get(key, NO_CAPACITY) != reason for key, reason in reasons.items())
        made_ready = transition.made_ready()
        if not changed and all(reason == NO_CAPACITY for reason in reasons.values()):
            for pos in made_ready:
                if _waits_for_capacity(transition.task(pos)):
                    transition.set_wait_reason(pos, NO_CAPACITY)
            return
        owned.wait_reasons = {**owned.wait_reasons, **reasons}
        machine = owned.machine
        pinned = self._affinity.of(owned, transition)
        for pos in {**machine.ready, **dict.fromkeys(made_ready)} if changed else made_ready:
            row = transition.task(pos)
            if row.state is TaskState.READY and _waits_for_capacity(row) and not is_child(machine.graph, row):
                decision = self._decide(machine, row)
                if pinned is not None:
                    decision = pinned.place(row, decision)
                others = pinned.companions(row, decision) if pinned is not None else ()
                queue_key = self._reservations.queue_key(machine, row, decision, others)
                reason = reasons.get(queue_key, NO_CAPACITY)
                if pos in transition.rows or (row.reason or NO_CAPACITY) != reason:
                    transition.update_wait_reason(pos, reason)

    def _offer(self, owned: ActiveRun, transition: Transition) -> None:
        """Offers tasks to pollers that serve their executor key."""
        machine, offerable = owned.machine, transition.offerable()
        if machine.graph.step_limited:
            due = [pos for pos in offerable if not transition.task(pos).retry_in]
            offerable = self._limits.start_steps(owned, transition, due)
        for pos in offerable:
            row = transition.task(pos)
            if row.state is not TaskState.READY or is_child(machine.graph, row):
                continue
            decision = self._routed(machine, row) if self._polled is None else self._decide(machine, row)
            if self._polled is None or decision.executor_key in self._polled:
                transition.offer(pos, decision)

    def _decide(self, machine: RunMachine, row: TaskRow) -> DispatchDecision:
        """Returns the stored decision for later attempts, except for tasks that must run exclusively."""
        if row.losses and must_run_exclusively(row):
            return self._exclusive_tasks.decide(machine, row)
        if row.executor is not None:
            return DispatchDecision(row.executor, row.decision or "", row.labels, row.resources)
        return self._routed(machine, row)

    def _routed(self, machine: RunMachine, row: TaskRow) -> DispatchDecision:
        task = machine.graph.tasks[row.task_pos]
        return self._dispatcher.decide(task, machine.graph.spec, machine.new.run_id, machine.new.input)

    # -- capacity -----------------------------------------------------------------------------------------------
    def on_capacity(self, key: str) -> None:
        """Resumes runs that wait for this executor, as many as it has slots for."""
        dispatcher, queue, runs = self._dispatcher, self._capacity_queue, self._runs
        slots = dispatcher.free_slots(key)
        if slots:
            limit = min(max(slots, MIN_RESUMED), MAX_RESUMED)
        else:
            # If its breaker has just opened, the reason of all that wait changes. They queue again at their old rank.
            limit = len(queue) if dispatcher.breaker(key) == BreakerState.OPEN else 0
        for queue_key in queue.queues_of(key) if key in dispatcher.assigners else (key,):
            for owned in queue.next(queue_key, limit):
                runs.enqueue(owned)
        if dispatcher.idle(key):
            for owned in queue.take_exclusive(key):
                runs.enqueue(owned)

    async def sweep(self) -> None:
        """Resumes runs whose executors have capacity that was not reported, or whose wait reason has changed."""
        await self._affinity.sweep()
        for key in self._capacity_queue.awaited_executors():
            if self._dispatcher.has_capacity(key):
                self.on_capacity(key)
        for owned in self._capacity_queue.take_exclusive():
            self._runs.enqueue(owned)
        for key, assigner in self._dispatcher.assigners.items():
            for queue_key, waiting in self._capacity_queue.selector_queues(key).items():
                reason = assigner.wait_reason(queue_key.selector)
                if any(owned.wait_reasons.get(queue_key, NO_CAPACITY) != reason for owned in waiting):
                    for owned in self._capacity_queue.next(queue_key, len(waiting)):
                        self._runs.enqueue(owned)
        # Tasks that became ready while nothing might start here wait for no executor.
        for owned in list(self._runs.values()):
            if owned.machine.ready and not owned.queued_for:
                self._runs.enqueue(owned)


def _wait_for_slots(transition: Transition) -> None:
    """Starts nothing of a run that was claimed before it had the slots of its limits."""
    for pos in transition.made_ready():
        transition.set_wait_reason(pos, LIMIT)


def _waits_for_capacity(row: TaskRow) -> bool:
    return (
        row.retry_in is None
        and row.poll_key is None
        and not (row.reason or "").startswith((WAITING_TO_RUN_ALONE, LIMIT))
    )


def _by_priority(graph: Graph, transition: Transition) -> list[int]:
    """Returns the tasks that executors may get, highest priority first. Child runs need no executor."""
    ready = transition.ready()
    if graph.children:
        ready = [pos for pos in ready if not is_child(graph, transition.task(pos))]
    return sorted(ready, key=lambda pos: -transition.task(pos).priority) if graph.prioritised else ready
