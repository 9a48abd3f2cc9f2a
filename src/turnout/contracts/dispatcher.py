"""Declares the dispatcher by role: it decides where a task goes, hands attempts over and brings results back.

Each part of the program names the role that it uses. All methods are called on the engine's event loop.
"""

from __future__ import annotations

from asyncio import Future
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Protocol

from turnout.contracts.executor import TaskExecutor
from turnout.contracts.workers import Assigner
from turnout.model.events import DispatchDecision, ExecutionResult, TaskReadyEvent
from turnout.model.spec import TaskSpec, WorkflowSpec

Results = Callable[[Sequence[ExecutionResult]], None]
"""Takes results in batches, on the engine's event loop."""


class Placement(Protocol):
    """Decides which executor a task goes to. Nothing is reserved by it."""

    @property
    def executors(self) -> Mapping[str, TaskExecutor]:
        """The registered executors, by key."""
        ...

    @property
    def used(self) -> Collection[str]:
        """The keys that tasks are sent to, as far as they are registered here."""
        ...

    def decide(self, task: TaskSpec, workflow: WorkflowSpec, run_id: str, input: str = "") -> DispatchDecision:
        """Returns where this task of this run goes. ``input`` is the JSON text of the run's input, whose values labels
        may take."""
        ...

    @property
    def has_shadows(self) -> bool:
        """True if any rule asks for shadow copies; otherwise ``shadow`` need not be called for each attempt."""
        ...

    def shadow(self, task: TaskSpec, workflow: WorkflowSpec, run_id: str) -> DispatchDecision | None:
        """Returns where a shadow copy of this attempt goes; None: there is none."""
        ...

    def resolve_executor_key(self, task_namespace: str) -> str:
        """Returns the executor that a task of this full name goes to by the rules alone."""
        ...

    def isolation(self, key: str, task: TaskSpec) -> str | None:
        """Returns the executor that gives every attempt a process of its own and can run this task in place of that
        one: that one itself if it isolates its attempts; None if there is none."""
        ...


class Delivery(Protocol):
    """Reserves capacity, hands attempts over, and brings back exactly one result for each."""

    def reserve(self, key: str, *, body: str | None = None, exclusive: bool = False) -> bool:
        """Reserves capacity for an attempt with this body that is about to be committed; False if there is none.
        ``exclusive``: nothing else runs in that executor until the attempt has ended."""
        ...

    def release(self, key: str, holder: str = "") -> None:
        """Releases a reservation, and that of its holder, that will not be used (the commit did not apply)."""
        ...

    def dispatch(self, key: str, events: Sequence[TaskReadyEvent]) -> None:
        """Hands over attempts with reservations. Returns once they are accepted; every event brings exactly one
        result, whatever the executor does."""
        ...

    def reattach(self, key: str, event: TaskReadyEvent) -> bool:
        """Hands an attempt that an orchestrator which has ended began to its executor, without a reservation; False if
        that executor cannot reattach. It brings one result, as any attempt that is handed over."""
        ...

    def cancel(self, event: TaskReadyEvent) -> None:
        """Asks the executor that has it to stop this attempt; its result, if any, still comes."""
        ...

    def withdraw(self, events: Sequence[TaskReadyEvent], reason: str) -> Collection[Future[Any]]:
        """Takes back those of these attempts that have not begun, and their shadow copies: each is ``returned``. None
        of them begins once the returned futures are done."""
        ...

    def free_slots(self, key: str) -> int:
        """Returns how many attempts that executor would take now."""
        ...

    def capacity(self, key: str) -> int | None:
        """Returns how many attempts that executor takes at once; None if it names no number."""
        ...

    def has_capacity(self, key: str | None = None) -> bool:
        """True if that executor, or any of those in ``Placement.used``, takes another attempt now."""
        ...

    def idle(self, key: str) -> bool:
        """True if nothing runs in that executor, and nothing is reserved there."""
        ...

    def breaker(self, key: str) -> str:
        """Returns the state of that executor's circuit breaker: ``closed``, ``open`` or ``half_open``. Unless it is
        closed, ``reserve`` grants a few probes at intervals. Capacity is announced when it opens as well, so that
        the reason for which tasks wait can be updated."""
        ...

    def in_flight(self) -> Mapping[tuple[str, int], TaskReadyEvent]:
        """Returns everything handed over and not yet answered, by (task_id, attempt)."""
        ...

    @property
    def assigners(self) -> Mapping[str, Assigner]:
        """Executors that choose among several holders, by key: each names one before capacity is reserved there."""
        ...

    @property
    def acknowledges(self) -> bool:
        """True if an executor keeps results until they are acknowledged."""
        ...

    def acknowledge(self, results: Sequence[ExecutionResult]) -> None:
        """Acknowledges results that are durable, or that no run waits for."""
        ...

    def reassign(self, results: Sequence[ExecutionResult]) -> None:
        """Leaves results of runs that this orchestrator does not drive, or no longer drives, to their owners."""
        ...

    def disown(self) -> None:
        """Called when this orchestrator was declared dead and others drive its runs: what can go on without it does."""
        ...

    def holders_died(self, holders: Collection[str]) -> None:
        """Called when the sessions of these holders have ended."""
        ...


class Dispatcher(Placement, Delivery, Protocol):
    """Both roles, and the start and stop of the executors."""

    def register_executor(self, key: str, executor: TaskExecutor) -> None:
        """Registers an executor before the start; a key is registered once."""
        ...

    async def open(self) -> None:
        """Starts the executors; raises if one cannot start."""
        ...

    def start(self, results: Results, capacity_freed: Callable[[str], None]) -> None: ...

    async def stop(self, timeout: float) -> None: ...
