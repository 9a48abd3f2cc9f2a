"""A dispatcher in memory: its capacity is what a test says, and it records what it is asked to do."""

from __future__ import annotations

from asyncio import Future
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from turnout.dispatcher.no_dispatcher import NoDispatcher
from turnout.model.breaker import BreakerState
from turnout.model.events import DispatchDecision, ExecutionResult, TaskReadyEvent
from turnout.model.labels import WORKER_LABEL
from turnout.model.resources import Resources
from turnout.model.spec import TaskSpec, WorkflowSpec


class FakeAssigner:
    """An executor with several holders; its lines are named by the labels that a task asks for."""

    def __init__(self, **free: int) -> None:
        self.free = dict(free)
        self.reason = "no_worker"
        self.again: list[TaskReadyEvent] = []
        self.kept = 0
        self.leaving: set[str] = set()

    listening = True

    def selector(
        self,
        task: TaskSpec,
        labels: Mapping[str, str] | None,
        exclusive: bool = False,
        others: Sequence[TaskSpec] = (),
        resources: Resources | None = None,
    ) -> str:
        return (labels or {}).get(WORKER_LABEL) or ("alone" if exclusive else "any")

    def assign(self, selector: str) -> str | None:
        able = (name for name in self.free if name not in self.leaving and selector in ("alone", "any", name))
        holder = next((name for name in able if self.free[name]), None)
        if holder is not None:
            self.free[holder] -= 1
        return holder

    def has_holder(self, holder: str) -> bool:
        return holder in self.free

    def is_leaving(self, holder: str) -> bool:
        return holder in self.leaving

    def assign_again(self, event: TaskReadyEvent) -> bool:
        if not self.free[event.holder]:
            return False
        self.free[event.holder] -= 1
        self.again.append(event)
        return True

    def unassign(self, holder: str) -> None:
        self.free[holder] += 1

    def wait_reason(self, selector: str) -> str:
        return self.reason

    def name_of(self, holder: str) -> str:
        return f"worker {holder}"

    async def keep_holders(self) -> None:
        self.kept += 1


class FakeDispatcher(NoDispatcher):
    """Reserves while there is capacity, and keeps what is dispatched in flight until a test answers it."""

    acknowledges = True

    def __init__(self, journal: list[str] | None = None, **capacity: int) -> None:
        self.journal: list[str] = [] if journal is None else journal
        self.free = capacity or {"default": 8}
        self.executors = dict.fromkeys(self.free)  # type: ignore[assignment]
        self.used = list(self.free)
        self.assigners: dict[str, FakeAssigner] = {}  # type: ignore[assignment]
        self.routes: dict[str, DispatchDecision] = {}
        """Decisions by the name of the task; else the first executor gets it."""
        self.shadows: dict[str, DispatchDecision] = {}
        self.breakers: dict[str, BreakerState] = {}
        self.isolating: dict[str, str] = {}
        """Executors that can run a task of another in a process of its own."""
        self.faults: dict[str, Exception] = {}
        """What ``decide`` raises, by the name of the task, and ``withdraw``, by its own."""
        self.decided: list[str] = []
        self.reserved_alone: list[str] = []
        self.released: list[tuple[str, str]] = []
        self.dispatched: list[tuple[str, TaskReadyEvent]] = []
        self.flying: dict[tuple[str, int], TaskReadyEvent] = {}
        self.cancelled: list[TaskReadyEvent] = []
        self.withdrawn: list[tuple[list[str], str]] = []
        self.withdrawals: list[Future[Any]] = []
        """What the next withdrawal waits for."""
        self.told_settled: list[ExecutionResult] = []
        self.told_unclaimed: list[ExecutionResult] = []
        self.dead: list[str] = []

    @property
    def has_shadows(self) -> bool:  # type: ignore[override]
        return bool(self.shadows)

    def decide(self, task: TaskSpec, workflow: WorkflowSpec, run_id: str, input: str = "") -> DispatchDecision:
        if task.name in self.faults:
            raise self.faults[task.name]
        self.decided.append(task.name)
        return self.routes.get(task.name) or DispatchDecision(next(iter(self.free)), "the default executor")

    def shadow(self, task: TaskSpec, workflow: WorkflowSpec, run_id: str) -> DispatchDecision | None:
        return self.shadows.get(task.name)

    def reserve(self, key: str, *, body: str | None = None, exclusive: bool = False) -> bool:
        open_ = self.free.get(key, 0) > 0 and self.breaker(key) == BreakerState.CLOSED
        if not open_ or (exclusive and not self.idle(key)):
            return False
        self.journal.append("reserve")
        self.free[key] -= 1
        if exclusive:
            self.reserved_alone.append(key)
        return True

    def release(self, key: str, holder: str = "") -> None:
        self.free[key] += 1
        self.released.append((key, holder))

    def dispatch(self, key: str, events: Sequence[TaskReadyEvent]) -> None:
        self.journal.append("dispatch")
        for event in events:
            self.dispatched.append((key, event))
            if not event.shadow:
                self.flying[event.task_id, event.attempt] = event

    def answered(self, event: TaskReadyEvent, key: str = "default") -> None:
        """The attempt has ended."""
        self.flying.pop((event.task_id, event.attempt))
        self.free[key] += 1

    def names(self) -> list[str]:
        """The tasks that were dispatched, in order."""
        return [event.task_name.rpartition("::")[2] for _, event in self.dispatched]

    def acknowledge(self, results: Sequence[ExecutionResult]) -> None:
        self.told_settled += results

    def reassign(self, results: Sequence[ExecutionResult]) -> None:
        self.told_unclaimed += results

    def holders_died(self, holders: Collection[str]) -> None:
        self.dead += holders

    def cancel(self, event: TaskReadyEvent) -> None:
        self.cancelled.append(event)

    def withdraw(self, events: Sequence[TaskReadyEvent], reason: str) -> Collection[Future[Any]]:
        if "withdraw" in self.faults:
            raise self.faults["withdraw"]
        self.withdrawn.append(([event.task_id for event in events], reason))
        return self.withdrawals

    def idle(self, key: str) -> bool:
        return not any(where == key for where, event in self.dispatched if self._flies(event))

    def _flies(self, event: TaskReadyEvent) -> bool:
        return (event.task_id, event.attempt) in self.flying

    def isolation(self, key: str, task: TaskSpec) -> str | None:
        return self.isolating.get(key)

    def free_slots(self, key: str) -> int:
        return self.free.get(key, 0)

    def has_capacity(self, key: str | None = None) -> bool:
        return any(self.free.values()) if key is None else self.free.get(key, 0) > 0

    def breaker(self, key: str) -> str:
        return self.breakers.get(key, BreakerState.CLOSED).value

    def in_flight(self) -> Mapping[tuple[str, int], TaskReadyEvent]:
        return self.flying
