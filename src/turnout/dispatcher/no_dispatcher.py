"""The dispatcher of an orchestrator that executes nothing itself: every task is offered to pollers."""

from __future__ import annotations

from asyncio import Future
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from turnout.contracts.dispatcher import Results
from turnout.contracts.executor import TaskExecutor
from turnout.contracts.workers import Assigner
from turnout.errors import InvalidRouting
from turnout.model.breaker import BreakerState
from turnout.model.events import DispatchDecision, ExecutionResult, TaskReadyEvent
from turnout.model.spec import TaskSpec, WorkflowSpec

POLLING = DispatchDecision("polling", "polling mode: there is no dispatcher")


class NoDispatcher:
    """Has no executor, so it never has room, and nothing is ever handed to it."""

    executors: Mapping[str, TaskExecutor] = {}
    assigners: Mapping[str, Assigner] = {}
    used: Collection[str] = ()
    has_shadows = False
    acknowledges = False

    def register_executor(self, key: str, executor: TaskExecutor) -> None:
        raise InvalidRouting(f'executor "{key}" cannot be registered: there is no dispatcher', code="no_dispatcher")

    def decide(self, task: TaskSpec, workflow: WorkflowSpec, run_id: str, input: str = "") -> DispatchDecision:
        return POLLING

    def shadow(self, task: TaskSpec, workflow: WorkflowSpec, run_id: str) -> DispatchDecision | None:
        return None

    def resolve_executor_key(self, task_namespace: str) -> str:
        return POLLING.executor_key

    def reserve(self, key: str, *, body: str | None = None, exclusive: bool = False) -> bool:
        return False

    def release(self, key: str, holder: str = "") -> None: ...

    def dispatch(self, key: str, events: Sequence[TaskReadyEvent]) -> None:
        assert not events, "nothing was reserved"

    def acknowledge(self, results: Sequence[ExecutionResult]) -> None: ...

    def reassign(self, results: Sequence[ExecutionResult]) -> None: ...

    def disown(self) -> None: ...

    def holders_died(self, holders: Collection[str]) -> None: ...

    def reattach(self, key: str, event: TaskReadyEvent) -> bool:
        return False

    def cancel(self, event: TaskReadyEvent) -> None: ...

    def withdraw(self, events: Sequence[TaskReadyEvent], reason: str) -> Collection[Future[Any]]:
        return ()

    def idle(self, key: str) -> bool:
        return True

    def isolation(self, key: str, task: TaskSpec) -> str | None:
        return None

    def free_slots(self, key: str) -> int:
        return 0

    def capacity(self, key: str) -> int | None:
        return None

    def has_capacity(self, key: str | None = None) -> bool:
        return False

    def breaker(self, key: str) -> str:
        return BreakerState.CLOSED.value

    def in_flight(self) -> Mapping[tuple[str, int], TaskReadyEvent]:
        return {}

    async def open(self) -> None: ...

    def start(self, results: Results, capacity_freed: Callable[[str], None]) -> None: ...

    async def stop(self, timeout: float) -> None: ...
