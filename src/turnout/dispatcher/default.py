"""Hands ready tasks to executors: decides where each goes, and delivers it."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import msgspec

from turnout.contracts.dispatcher import Results
from turnout.contracts.executor import Loader, TaskExecutor
from turnout.contracts.workers import Assigner, HolderPorts, NumbersRuns, ResultHolder, RunNumbers
from turnout.dispatcher.delivery import AttemptDelivery, Timeouts
from turnout.dispatcher.executor_adapter import roles_of
from turnout.dispatcher.executor_breaker import ExecutorBreaker
from turnout.dispatcher.explain import Explanation, explain
from turnout.dispatcher.placement import HANDLER, SHELL, WORKERS, PlacementSettings, decide, depends_on_input
from turnout.dispatcher.routing import Router, RoutingConfig
from turnout.dispatcher.slot import DispatcherMetrics, ExecutorSlot
from turnout.dispatcher.validation import validate_routing
from turnout.errors import InvalidRouting
from turnout.model.breaker import BreakerSettings, BreakerState
from turnout.model.events import DispatchDecision, ExecutionResult, TaskReadyEvent
from turnout.model.names import is_identifier
from turnout.model.resources import merged
from turnout.model.spec import TaskSpec, WorkflowSpec
from turnout.model.values import MAX_BYTES

log = logging.getLogger("turnout.dispatcher")

MAX_REMEMBERED_DECISIONS = 50_000
PYTHON, MAIN = "python", "__main__"
EXECUTOR_BREAKER = BreakerSettings()
"""The breaker of every executor, unless another is given; None: none has a breaker."""


class DefaultDispatcher:
    """The dispatcher that a runner uses unless it is given another.

    >>> dispatcher = DefaultDispatcher(RoutingConfig("default"))
    >>> dispatcher.resolve_executor_key("public::embedded::etl::extract")
    'default'
    """

    def __init__(
        self,
        routing: RoutingConfig | None = None,
        settings: PlacementSettings | None = None,
        *,
        timeout_grace: float = 5.0,
        output_limit: int = MAX_BYTES,
        breaker: BreakerSettings | None = EXECUTOR_BREAKER,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if breaker is not None:
            breaker.check("breaker")
        self._breaker = breaker
        self._clock = clock
        self._router = Router(routing or RoutingConfig())
        self._settings = settings or PlacementSettings()
        self._output_limit = output_limit
        self._executors: dict[str, TaskExecutor] = {}
        self._slots: dict[str, ExecutorSlot] = {}
        self._workflows: dict[str, WorkflowSpec] = {}
        self._warned: set[str] = set()
        self._used: set[str] = set()
        """Keys that known tasks can be sent to, and perhaps a few more."""
        self._decided: dict[str, tuple[TaskSpec, WorkflowSpec, DispatchDecision]] = {}
        """Decisions by task. Cleared when rules or settings change, and without those that depend on the run: by a rule
        for a share of runs, or by labels that take values of its input."""
        self._delivery = AttemptDelivery(grace=timeout_grace, output_limit=output_limit)
        self.starts = True
        """True if executors are started; a runner that drives no runs does not start them."""
        self._opening: set[asyncio.Task[None]] = set()
        self._assigners: dict[str, Assigner] = {}
        self._result_holders: list[ResultHolder] = []
        self._numbering: list[NumbersRuns] = []
        self.with_holders: list[HolderPorts] = []
        """Executors whose holders have sessions in the database."""

    # Executors

    def register_executor(self, key: str, executor: TaskExecutor) -> None:
        """Registers an executor before the start; a key is registered once."""
        if self._delivery.started:
            raise InvalidRouting(f'executor "{key}" comes too late: register before start', code="registered_late")
        if not is_identifier(key):
            raise InvalidRouting(
                f'"{key}" cannot be an executor\'s key: use letters, digits, "_", "-"', code="bad_identifier"
            )
        if key in self._slots:
            raise InvalidRouting(f'an executor "{key}" is registered already', code="duplicate_executor", executor=key)
        roles = roles_of(key, executor, self._output_limit)
        breaker = ExecutorBreaker(key, self._breaker, self._clock)
        slot = self._slots[key] = ExecutorSlot(key, roles.executor, breaker, roles.assigner)
        self._executors[key] = executor
        breaker.on_change = partial(self._delivery.probes.on_change, slot)
        slot.report = self._delivery.in_flight.reporter(slot)
        slot.executor.on_capacity(self._delivery.in_flight.room(slot))
        slot.ready = not roles.starts
        if roles.assigner is not None:
            self._assigners[key] = roles.assigner
        if roles.result_holder is not None:
            self._result_holders.append(roles.result_holder)
        if roles.numbers is not None:
            self._numbering.append(roles.numbers)
        if roles.holder_ports is not None:
            self.with_holders.append(roles.holder_ports)
        local = tuple(name for name, each in self._slots.items() if each.executor.local)
        kinds = {name: frozenset(each.executor.kinds) for name, each in self._slots.items()}
        self._settings = msgspec.structs.replace(self._settings, local_keys=local, kinds=kinds)
        self._note_use(())
        self._decided.clear()

    def bind(self, loader: Loader) -> None:
        """Gives every executor the loader that it gets its work from."""
        for slot in self._slots.values():
            slot.executor.bind(loader)

    def bind_numbers(self, numbers: RunNumbers) -> None:
        """Gives the numbers of runs to every executor that needs them."""
        for executor in self._numbering:
            executor.bind_numbers(numbers)

    @property
    def executors(self) -> Mapping[str, TaskExecutor]:
        return self._executors

    @property
    def timeouts(self) -> Timeouts | None:
        """Returns an attempt's timeout, for executors that do not enforce it themselves; set by the engine."""
        return self._delivery.timeouts

    @timeouts.setter
    def timeouts(self, timeouts: Timeouts | None) -> None:
        self._delivery.timeouts = timeouts

    @property
    def used(self) -> Collection[str]:
        """Keys of the executors that tasks are sent to: the capacity of others does not count."""
        return [key for key in self._slots if key in self._used]

    # Decisions

    @property
    def routing(self) -> RoutingConfig:
        return self._router.config

    @property
    def settings(self) -> PlacementSettings:
        return self._settings

    def set_settings(self, **changes: object) -> None:
        """Changes what decisions depend on, for example ``hub_up=False``."""
        self._settings = msgspec.structs.replace(self._settings, **changes)
        self._decided.clear()

    def set_routing(self, config: RoutingConfig) -> list[str]:
        """Replaces all rules at once, if they can work; attempts that run keep their decision. May be called from any
        thread."""
        warnings = self._checked(config, self._workflows)
        self._router = Router(config)
        self._note_use(())
        # In this order, and a new dict: a decision that is made meanwhile by the old rules stays in the old one.
        self._decided = {}
        return warnings

    def check(self, config: RoutingConfig) -> list[str]:
        """Checks rules against the executors and all workflows named so far, and changes nothing. Returns warnings."""
        executors = {key: slot.executor for key, slot in self._slots.items()}
        return validate_routing(config, executors, self._settings, list(self._workflows.values()))

    def validate(self, workflows: Iterable[WorkflowSpec] = ()) -> list[str]:
        """Checks the rules against the executors and all workflows named so far; returns (and logs) warnings."""
        known = {**self._workflows, **{workflow.full_name: workflow for workflow in workflows}}
        warnings = self._checked(self._router.config, known)
        self._note_use(workflow for name, workflow in known.items() if self._workflows.get(name) is not workflow)
        self._workflows = known
        return warnings

    @property
    def decides_per_run(self) -> bool:
        """True if two runs of one workflow may be routed differently by the rules."""
        return self._router.per_run

    @property
    def hub_up(self) -> bool:
        """False if a hub is configured to which no worker can connect here."""
        assigner = self._assigners.get(WORKERS)
        return self._settings.hub_up and (assigner is None or assigner.listening)

    def decide(self, task: TaskSpec, workflow: WorkflowSpec, run_id: str, input: str = "") -> DispatchDecision:
        """Returns where this task of this run goes; ``input`` is the JSON text of the run's input."""
        decided, router = self._decided, self._router
        if router.per_run:
            return decide(task, workflow, self._settings, router, run_id, _values(task, workflow, input))
        known = decided.get(task.full_name)
        if known is not None and known[0] is task and known[1] is workflow:
            return known[2]
        if depends_on_input(task, workflow):
            return decide(task, workflow, self._settings, router, run_id, _values(task, workflow, input))
        decision = decide(task, workflow, self._settings, router, run_id)
        if len(decided) >= MAX_REMEMBERED_DECISIONS:
            decided.clear()
        decided[task.full_name] = (task, workflow, decision)
        return decision

    def explain(
        self,
        task: TaskSpec,
        workflow: WorkflowSpec,
        run_id: str | None = None,
        input: Mapping[str, Any] | None = None,
    ) -> Explanation:
        """Returns the same decision with its trace."""
        return explain(task, workflow, self._settings, self._router, run_id, input)

    def misfit(self, decision: DispatchDecision) -> str | None:
        """Returns why the decided executor can never give the resources of the decision; None if it may, and if it is
        not registered here."""
        slot = self._slots.get(decision.executor_key)
        return None if slot is None or decision.resources is None else slot.executor.fits(decision.resources)

    @property
    def has_shadows(self) -> bool:
        return self._router.has_shadows

    def shadow(self, task: TaskSpec, workflow: WorkflowSpec, run_id: str) -> DispatchDecision | None:
        """Returns where a shadow copy of this attempt goes, by the first rule that can make one."""
        if not self._router.has_shadows or task.at_most_once:
            return None
        decided = self.decide(task, workflow, run_id)
        pinned = (task.worker_selector or workflow.worker_selector) == "local"
        for route in self._router.shadows(task.full_name, run_id):
            key, labels = route.rule.executor, route.rule.labels
            slot = self._slots.get(key)
            if slot is None or (key == WORKERS and not self._settings.hub_configured):
                continue
            # Within one executor only other labels make a copy that is worth comparing.
            if key == decided.executor_key and (not labels or labels == decided.labels):
                continue
            refused = workflow.remote_only if slot.executor.local else pinned
            if task.body.kind in slot.executor.kinds and not refused:
                return DispatchDecision(key, route.reason, labels, merged(task.resources, route.resources))
        return None

    def resolve_executor_key(self, task_namespace: str) -> str:
        """Returns the executor that a task of this full name goes to by the rules alone."""
        return self._router.resolve(task_namespace)

    # Slots

    def reserve(self, key: str, *, body: str | None = None, exclusive: bool = False) -> bool:
        """Reserves one slot. A key that is not registered here has none."""
        slot = self._slots.get(key)
        if slot is None or self._delivery.stopping:
            return False
        if slot.reserve_exclusively(body) if exclusive else slot.reserve(body):
            return True
        slot.refused = True
        self._used.add(key)
        return False

    @property
    def assigners(self) -> Mapping[str, Assigner]:
        return self._assigners

    def release(self, key: str, holder: str = "") -> None:
        """Releases a slot that was reserved and will not be used."""
        slot = self._slots.get(key)
        if slot is not None and slot.reserved:
            slot.release(holder)
            self._delivery.announce_soon(slot)

    def has_capacity(self, key: str | None = None) -> bool:
        """True if that executor, or any that tasks are sent to, has a free slot."""
        if key is None:
            return any(slot.has_slot() for key, slot in self._slots.items() if key in self._used)
        slot = self._slots.get(key)
        return slot is not None and slot.has_slot()

    def idle(self, key: str) -> bool:
        """True if nothing runs in that executor, and nothing is reserved there."""
        slot = self._slots.get(key)
        return slot is not None and not slot.reserved and not slot.in_flight

    def isolation(self, key: str, task: TaskSpec) -> str | None:
        """Returns the executor that gives every attempt a process of its own and can run this task in place of that
        one."""
        slot = self._slots.get(key)
        if slot is None or slot.isolates:
            return key if slot is not None else None
        # The program's main module would be run again from its first line.
        if not slot.executor.local or task.body.kind != PYTHON or task.body.ref.startswith(f"{MAIN}:"):
            return None
        able = (other for other in self._slots.values() if other.isolates and other.executor.local and other.ready)
        return next((other.key for other in able if other.can_run(task)), None)

    def free_slots(self, key: str) -> int:
        """Returns how many attempts that executor would take now."""
        slot = self._slots.get(key)
        return max(0, slot.free_slots()) if slot is not None else 0

    def capacity(self, key: str) -> int | None:
        """Returns how many attempts that executor takes at once; None if it names no number."""
        slot = self._slots.get(key)
        try:
            return None if slot is None else slot.executor.capacity
        except Exception:  # an author's property
            return None

    def breaker(self, key: str) -> str:
        """Returns the state of that executor's breaker: ``closed`` (it gets attempts), ``open`` (none) or ``half_open``
        (a few)."""
        slot = self._slots.get(key)
        return slot.breaker.state.value if slot is not None else BreakerState.CLOSED.value

    # Deliveries

    def dispatch(self, key: str, events: Sequence[TaskReadyEvent]) -> None:
        """Hands over attempts with reservations; every event brings exactly one result."""
        slot = self._slots.get(key)
        if slot is None:
            self._delivery.give_back(events, f'no executor "{key}" is registered here')
        elif self._delivery.stopping:
            slot.reserved = max(0, slot.reserved - len(events))
            for event in events:
                slot.not_taken(event.holder)
            self._delivery.give_back(events, "the dispatcher is stopping")
        else:
            self._delivery.hand_over(slot, events)

    def reattach(self, key: str, event: TaskReadyEvent) -> bool:
        """Hands an attempt that an orchestrator which has ended began to its executor, if that can reattach."""
        slot = self._slots.get(key)
        if slot is None or not slot.executor.reattaches:
            return False
        self._delivery.reattach(slot, msgspec.structs.replace(event, again=True))
        return True

    def cancel(self, event: TaskReadyEvent) -> None:
        """Asks the executor that has it to stop this attempt; its result, if any, still comes."""
        self._delivery.cancel(event)

    def withdraw(self, events: Sequence[TaskReadyEvent], reason: str) -> Collection[asyncio.Future[Any]]:
        """Takes back those of these attempts that have not begun; none begins once what this returns is done."""
        return self._delivery.withdraw(events, reason)

    @property
    def acknowledges(self) -> bool:
        return bool(self._result_holders)

    def acknowledge(self, results: Sequence[ExecutionResult]) -> None:
        """Acknowledges results that are durable, or that no run waits for."""
        for result_holder in self._result_holders:
            result_holder.acknowledge(results)

    def reassign(self, results: Sequence[ExecutionResult]) -> None:
        """Leaves results of runs that this orchestrator does not drive to their owners."""
        for result_holder in self._result_holders:
            result_holder.reassign(results)

    def disown(self) -> None:
        """Called when other orchestrators drive the runs of what is in flight."""
        for result_holder in self._result_holders:
            result_holder.disown()
        for slot in self._slots.values():
            if slot.executor.reattaches:
                self._delivery.leave(slot)

    def holders_died(self, holders: Collection[str]) -> None:
        """Called when the sessions of these holders have ended."""
        for result_holder in self._result_holders:
            result_holder.holders_died(holders)

    def in_flight(self) -> Mapping[tuple[str, int], TaskReadyEvent]:
        """Returns everything handed over and not yet answered by (task_id, attempt), without shadow copies."""
        table = self._delivery.in_flight.table
        return {(key[0], key[1]): flight.event for key, flight in table.items() if not key[2]}

    def metrics(self) -> dict[str, DispatcherMetrics]:
        """Returns the counts of each executor."""
        return {key: slot.metrics() for key, slot in self._slots.items()}

    # Start and stop

    async def open(self) -> None:
        """Starts executors that have a ``start``; the first failure is raised after the others are stopped."""
        waiting = [slot for slot in self._slots.values() if self.starts and not slot.ready]
        outcomes = await asyncio.gather(*(slot.start() for slot in waiting), return_exceptions=True)
        failed = [outcome for outcome in outcomes if isinstance(outcome, BaseException)]
        if failed:
            await asyncio.gather(*(slot.executor.stop(0) for slot in waiting if slot.ready), return_exceptions=True)
            raise failed[0]

    def start(self, results: Results, capacity_freed: Callable[[str], None]) -> None:
        """Checks the rules and lets attempts through. An executor that was not opened is started in the background,
        and has no capacity until then."""
        self.validate()
        self._delivery.start(results, capacity_freed)
        for slot in self._slots.values():
            if self.starts and not slot.ready:
                opening = asyncio.ensure_future(self._start_one(slot))
                self._opening.add(opening)
                opening.add_done_callback(self._opening.discard)

    async def stop(self, timeout: float) -> None:
        """Lets what runs end within the timeout, then stops the executors; every attempt has its result afterwards."""
        for opening in tuple(self._opening):
            opening.cancel()
        await self._delivery.stop(self._slots.values(), timeout)

    async def _start_one(self, slot: ExecutorSlot) -> None:
        try:
            await slot.start()
        except Exception:
            log.exception("executor %s did not start: it gets no attempts", slot.key)
        else:
            self._delivery.announce(slot)

    def _note_use(self, workflows: Iterable[WorkflowSpec]) -> None:
        config, local = self._router.config, self._settings.local_keys
        self._used.update((config.default_executor, WORKERS, *local[:1]), (rule.executor for rule in config.rules))
        for workflow in workflows:
            for task in workflow.tasks:
                if task.executor is not None:
                    self._used.add(task.executor)
                if task.body.kind == SHELL:
                    self._used.add(SHELL)
                elif task.body.kind == HANDLER:
                    self._used.update(key for key, runs in self._settings.kinds.items() if HANDLER in runs)

    def _checked(self, config: RoutingConfig, workflows: Mapping[str, WorkflowSpec]) -> list[str]:
        executors = {key: slot.executor for key, slot in self._slots.items()}
        warnings = validate_routing(config, executors, self._settings, workflows.values())
        for warning in warnings:
            if warning not in self._warned:
                self._warned.add(warning)
                log.warning("routing: %s", warning)
        return warnings


def _values(task: TaskSpec, workflow: WorkflowSpec, input: str) -> Mapping[str, Any] | None:
    """Returns the run's input if labels take values of it."""
    return msgspec.json.decode(input) if input and depends_on_input(task, workflow) else None
