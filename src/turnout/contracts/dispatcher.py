"""What hands ready tasks to executors."""

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


class Dispatcher(Protocol):
    """Routes ready tasks to executors and brings their results back. All methods are called on the engine's loop."""

    def register_executor(self, key: str, executor: TaskExecutor) -> None:
        """Until start; a key is registered once."""
        ...

    @property
    def executors(self) -> Mapping[str, TaskExecutor]:
        """What is registered, by key."""
        ...

    def decide(self, task: TaskSpec, workflow: WorkflowSpec, run_id: str) -> DispatchDecision:
        """Where this task of this run goes."""
        ...

    @property
    def has_shadows(self) -> bool:
        """Whether any rule asks for shadow copies: if not, nobody need ask for each attempt."""
        ...

    def shadow(self, task: TaskSpec, workflow: WorkflowSpec, run_id: str) -> DispatchDecision | None:
        """Where a shadow copy of this attempt goes; None: there is none."""
        ...

    def resolve_executor_key(self, task_namespace: str) -> str:
        """The rules alone: which executor a task of this full name goes to."""
        ...

    @property
    def used(self) -> Collection[str]:
        """The keys that tasks are sent to, as far as they are registered here."""
        ...

    def reserve(self, key: str, *, body: str | None = None, alone: bool = False) -> bool:
        """Set one place aside for an attempt with this body that is about to be committed; ``alone``: nothing else runs
        in that executor until it has ended."""
        ...

    def release(self, key: str, holder: str = "") -> None:
        """Give back a place that was reserved, with whoever was to hold it, and will not be used (the commit did not
        apply)."""
        ...

    def dispatch(self, key: str, events: Sequence[TaskReadyEvent]) -> None:
        """Hand over attempts whose places were reserved. Returns once they are accepted; every event brings exactly
        one result, whatever the executor does."""
        ...

    @property
    def assigners(self) -> Mapping[str, Assigner]:
        """Executors that choose among several holders, by key: each names one before a place is reserved there."""
        ...

    @property
    def settles(self) -> bool:
        """Whether anybody here wants to be told what became of results."""
        ...

    def settled(self, results: Sequence[ExecutionResult]) -> None:
        """These results are durable, or nobody waits for them."""
        ...

    def unclaimed(self, results: Sequence[ExecutionResult]) -> None:
        """These came for runs that this orchestrator does not drive, or not any more: somebody else may."""
        ...

    def disown(self) -> None:
        """This orchestrator was taken for dead, and others drive its runs: what can go on without it does."""
        ...

    def holders_died(self, holders: Collection[str]) -> None:
        """The sessions of these holders have ended."""
        ...

    def cancel(self, event: TaskReadyEvent) -> None:
        """Ask the executor that has it to stop this attempt; its result, if any, still comes."""
        ...

    def withdraw(self, events: Sequence[TaskReadyEvent], reason: str) -> Collection[Future[Any]]:
        """Take back those of these attempts that have not begun, and their shadow copies: each is ``returned``. None of
        them begins once what this returns is done."""
        ...

    def idle(self, key: str) -> bool:
        """Whether nothing runs in that executor, or is about to."""
        ...

    def isolation(self, key: str, task: TaskSpec) -> str | None:
        """The executor that gives every attempt a process of its own, and can run this task in place of that one: that
        one itself if it does; None if there is none."""
        ...

    def free_places(self, key: str) -> int:
        """How many attempts that executor would take now."""
        ...

    def has_capacity(self, key: str | None = None) -> bool:
        """Whether that executor, or any of those in ``used``, has a place now."""
        ...

    def breaker(self, key: str) -> str:
        """The state of that executor's circuit breaker: ``closed``, ``open`` or ``half_open``. Unless it is closed,
        ``reserve`` lets a few through now and then, to try it. Capacity is announced when it opens as well, so that
        those who wait can say why."""
        ...

    def in_flight(self) -> Mapping[tuple[str, int], TaskReadyEvent]:
        """(task_id, attempt) of everything handed over and not yet answered."""
        ...

    async def open(self) -> None:
        """Start the executors; raises if one cannot."""
        ...

    def start(self, results: Results, capacity_freed: Callable[[str], None]) -> None: ...

    async def stop(self, timeout: float) -> None: ...
