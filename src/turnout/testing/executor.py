"""How does a Runner behave when its executor does this or that? An executor that answers by a script."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from turnout.contracts.executor import Loader
from turnout.errors import ExecutionFailed
from turnout.model.events import ExecutionResult, ExecutorMetrics, TaskReadyEvent

Step: TypeAlias = Callable[[TaskReadyEvent], ExecutionResult]
"""How one attempt ends: made with ``completes``, ``fails`` and the like, or a function of your own."""


def completes(value: Any = None) -> Step:
    """The attempt returns the value."""
    return lambda event: ExecutionResult.success(event, value)


def fails(error: BaseException | str = "failed", *, retryable: bool = True) -> Step:
    """The attempt fails with this exception or text."""
    return lambda event: ExecutionResult.failed(event, error, retryable)


def times_out(seconds: float = 1.0) -> Step:
    """The attempt exceeds its timeout."""
    return lambda event: ExecutionResult.timed_out(event, seconds)


def crashes(reason: str = "its process died") -> Step:
    """The attempt's own process dies under it."""
    return lambda event: ExecutionResult.crashed(event, reason)


def vanishes(reason: str = "its worker vanished") -> Step:
    """Whoever held the attempt is gone."""
    return lambda event: ExecutionResult.lost(event, reason)


def refuses(reason: str = "no_capacity", *, unavailable: bool = False) -> Step:
    """The attempt is handed back unstarted, which costs it nothing. ``unavailable``: not for lack of room, so that the
    executor's circuit breaker opens if it goes on."""
    return lambda event: ExecutionResult.returned(event, reason, unavailable=unavailable)


class FakeExecutor:
    """An executor for a real Runner. Tasks in the script do what it says, attempt by attempt; others run their body.

    ``FakeExecutor({"charge": [fails("no answer"), completes({"id": 1})], "ship": crashes()})``. Tasks are given by
    their name, or by their full name. When a list is used up, its last step stays.
    """

    local: bool = True
    kinds: frozenset[str] = frozenset({"python"})
    capacity: int = 64

    def __init__(self, script: Mapping[str, Step | Sequence[Step]] | None = None, *, name: str = "fake") -> None:
        self._name = name
        self._script = {task: [some] if callable(some) else list(some) for task, some in (script or {}).items()}
        self._loader: Loader | None = None
        self.events: list[TaskReadyEvent] = []
        """Every attempt that came, in order."""

    @property
    def name(self) -> str:
        return self._name

    def bind(self, loader: Loader) -> None:
        self._loader = loader

    def has_capacity(self) -> bool:
        return True

    def metrics(self) -> ExecutorMetrics:
        return ExecutorMetrics(total_executed=len(self.events))

    def attempts_of(self, task: str) -> list[TaskReadyEvent]:
        """The attempts of one task, by its name or full name."""
        return [event for event in self.events if task in (event.task_name, event.task_name.rpartition("::")[2])]

    async def execute(self, event: TaskReadyEvent) -> ExecutionResult:
        self.events.append(event)
        steps = self._script.get(event.task_name) or self._script.get(event.task_name.rpartition("::")[2])
        if steps:
            return (steps.pop(0) if len(steps) > 1 else steps[0])(event)
        if self._loader is None:
            raise ExecutionFailed(f"executor {self._name!r} is not bound to a loader")
        return await (await self._loader.load(event)).run()
