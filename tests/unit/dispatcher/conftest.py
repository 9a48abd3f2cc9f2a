"""What the dispatcher's tests share: tasks, events, executors with a given behaviour, and an engine that listens."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from turnout.dispatcher import (
    DefaultDispatcher,
    ExecutionResult,
    ExecutorMetrics,
    Loader,
    PlacementSettings,
    RoutingConfig,
    TaskReadyEvent,
)
from turnout.model.spec import Body, TaskSpec, WorkflowSpec


def make_task(full_name: str = "public::embedded::flow::step", kind: Any = "python", **more: Any) -> TaskSpec:
    return TaskSpec(full_name.rsplit("::", maxsplit=1)[-1], Body(kind, "module:function"), full_name=full_name, **more)


def make_workflow(*tasks: TaskSpec, **more: Any) -> WorkflowSpec:
    return WorkflowSpec(more.pop("name", "flow"), tasks or (make_task(),), **more)


def make_event(number: int = 1, attempt: int = 1, shadow: bool = False) -> TaskReadyEvent:
    return TaskReadyEvent(
        run_id="run",
        task_id=f"run.{number}",
        task_name="public::embedded::flow::step",
        attempt=attempt,
        max_attempts=3,
        shadow=shadow,
    )


class Custom:
    """An executor as a user would write it; what it does with an event is given from outside."""

    kinds: frozenset[str] = frozenset({"python"})

    def __init__(
        self, behave: Callable[[TaskReadyEvent], Any] | None = None, *, local: bool = True, **more: Any
    ) -> None:
        self.behave = behave or (lambda event: ExecutionResult.success(event, event.attempt))
        self.local = local
        self.seen: list[TaskReadyEvent] = []
        for name, value in more.items():
            setattr(self, name, value)

    @property
    def name(self) -> str:
        return "custom"

    def bind(self, loader: Loader) -> None: ...

    async def execute(self, event: TaskReadyEvent) -> Any:
        self.seen.append(event)
        answer = self.behave(event)
        return await answer if asyncio.iscoroutine(answer) else answer

    def has_capacity(self) -> bool:
        return True

    def metrics(self) -> ExecutorMetrics:
        return ExecutorMetrics()


class Engine:
    """Stands where the orchestrator stands: reserves, dispatches, and gathers what comes back."""

    def __init__(self, executors: dict[str, Any], routing: RoutingConfig | None = None, **more: Any) -> None:
        settings: PlacementSettings | None = more.pop("settings", None)
        self.dispatcher = DefaultDispatcher(routing, settings, **more)
        for key, executor in executors.items():
            self.dispatcher.register_executor(key, executor)
        self.results: list[ExecutionResult] = []
        self.batches: list[int] = []
        self.freed: list[str] = []
        self.rooms: list[int] = []
        """How many places there were each time that capacity was announced."""
        self._changed = asyncio.Condition()
        self._notices: set[asyncio.Task[None]] = set()

    def start(self) -> Engine:
        self.dispatcher.start(self._take, self._capacity_freed)
        return self

    def send(self, *events: TaskReadyEvent, key: str = "default") -> None:
        for _ in events:
            assert self.dispatcher.reserve(key)
        self.dispatcher.dispatch(key, events)

    async def until(self, condition: Callable[[], bool]) -> None:
        async with self._changed:
            await asyncio.wait_for(self._changed.wait_for(condition), 10)

    async def results_of(self, count: int) -> list[ExecutionResult]:
        await self.until(lambda: len(self.results) >= count)
        return self.results

    def _take(self, results: Sequence[ExecutionResult]) -> None:
        self.results.extend(results)
        self.batches.append(len(results))
        self._notify()

    def _capacity_freed(self, key: str) -> None:
        self.freed.append(key)
        self.rooms.append(self.dispatcher.free_slots(key))
        self._notify()

    def _notify(self) -> None:
        async def notify() -> None:
            async with self._changed:
                self._changed.notify_all()

        notice = asyncio.ensure_future(notify())
        self._notices.add(notice)
        notice.add_done_callback(self._notices.discard)


@pytest.fixture
def task_of() -> Callable[..., TaskSpec]:
    return make_task


@pytest.fixture
def workflow_of() -> Callable[..., WorkflowSpec]:
    return make_workflow


@pytest.fixture
def event_of() -> Callable[..., TaskReadyEvent]:
    return make_event


@pytest.fixture
def executor() -> type[Custom]:
    return Custom


@pytest.fixture
def engine() -> type[Engine]:
    return Engine
