"""Holds fakes for tests: task bodies, a scripted executor and a manual clock."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from datetime import datetime
from typing import Any, NoReturn, TypeAlias

from turnout.authoring.annotations import annotations_of
from turnout.authoring.injection import Context
from turnout.authoring.invocation import fill, open_signature, slots_of
from turnout.authoring.registry import Registry
from turnout.authoring.task import Task
from turnout.authoring.workflow import Workflow
from turnout.contracts.executor import Loader
from turnout.errors import DefinitionError, ExecutionFailed
from turnout.model.durations import Duration, seconds
from turnout.model.events import ExecutionResult, ExecutorMetrics, TaskReadyEvent
from turnout.model.info import current_task
from turnout.model.names import suggest
from turnout.model.rows import NewRun
from turnout.model.spec import TaskSpec

Fakes = Mapping[Any, Any]
"""By task, function or name: a function to call instead, an exception to raise, or a value to return."""


class FakedRegistry(Registry):
    """Finds the fakes instead of the bodies that they replace."""

    def __init__(self, workflow: Workflow[..., Any], fakes: Fakes) -> None:
        super().__init__()
        self.add(workflow)
        self._stand_ins: dict[tuple[str, str], Task[..., Any]] = {
            # There is no executor: a command runs as it does when its task is called outside of a workflow, and a
            # handler without a fake raises an error.
            (full_name, name): task
            for full_name, each in self.workflows.items()
            for name, task in each.tasks.items()
            if task.body.kind in ("shell", "handler")
        }
        for target, fake in fakes.items():
            named = [
                (full_name, name, each.tasks[name])
                for full_name, each in self.workflows.items()
                for name in _named(each.tasks, target)
            ]
            if not named:
                _refuse(target, {name for each in self.workflows.values() for name in each.tasks})
            for full_name, name, task in named:
                faked = self._stand_ins[full_name, name] = copy(task)
                faked.function = stand_in(task.function, fake)

    def find(self, run: NewRun, task: TaskSpec) -> Task[..., Any] | None:
        return self._stand_ins.get((run.workflow, task.name)) or super().find(run, task)


def _named(tasks: Mapping[str, Task[..., Any]], target: Any) -> list[str]:
    """Returns the nodes of a target: of a name, that node or all calls of that task; otherwise, all of its calls."""
    if isinstance(target, str):
        return [target] if target in tasks else [name for name, task in tasks.items() if task.name == target]
    function = target.function if isinstance(target, Task) else target
    return [name for name, task in tasks.items() if task.function is function]


def _refuse(target: Any, known: Iterable[str]) -> NoReturn:
    name = target if isinstance(target, str) else getattr(target, "__name__", repr(target))
    raise DefinitionError(
        f"fakes names {name!r}, which is no task of this workflow or of its children{suggest(name, known)}",
        code="unknown_task",
        task=name,
    )


def stand_in(body: Callable[..., Any], fake: Any) -> Callable[..., Any]:
    """Returns a function with the body's signature and annotations that calls the fake.

    A fake gets a ``TaskInfo`` only if it has a parameter for one, and a ``Context`` if it takes an argument.
    """
    if isinstance(fake, BaseException) or (isinstance(fake, type) and issubclass(fake, BaseException)):
        given = fake

        def answer(*args: Any, **kwargs: Any) -> Any:
            raise given

    elif callable(fake):
        answer = _calling(fake)
    else:

        def answer(*args: Any, **kwargs: Any) -> Any:
            return fake

    def stand_in(*args: Any, **kwargs: Any) -> Any:
        return answer(*args, **kwargs)

    _look_like(stand_in, body, takes_context=not callable(fake) or bool(_positional(fake)))
    return stand_in


def _calling(fake: Any) -> Callable[..., Any]:
    function = fake.function if isinstance(fake, Task) else fake
    slots = tuple(slot for slot in slots_of(function) if slot.kind == "info")

    def answer(*args: Any, **kwargs: Any) -> Any:
        info = current_task()
        if slots and info is not None:
            args, kwargs = fill(slots, args, kwargs, info, None)
        return function(*args, **kwargs)

    return answer


def _look_like(function: Any, body: Callable[..., Any], *, takes_context: bool) -> None:
    known = annotations_of(body)
    parameters = list(open_signature(body).parameters.values())
    if takes_context and any(slot.kind == "context" for slot in slots_of(body)):
        context = inspect.Parameter("context", inspect.Parameter.POSITIONAL_ONLY, annotation=Context)
        parameters = [context]
    function.__signature__ = inspect.Signature(
        [each.replace(annotation=known.get(each.name, each.annotation)) for each in parameters]
    )
    function.__annotations__ = {
        each.name: each.annotation
        for each in function.__signature__.parameters.values()
        if each.annotation is not inspect.Parameter.empty
    }
    function.__name__ = getattr(body, "__name__", "fake")


def _positional(function: Any) -> list[str]:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return []
    kinds = (
        inspect.Parameter.POSITIONAL_ONLY,
        inspect.Parameter.POSITIONAL_OR_KEYWORD,
        inspect.Parameter.VAR_POSITIONAL,
    )
    return [each.name for each in parameters if each.kind in kinds]


Step: TypeAlias = Callable[[TaskReadyEvent], ExecutionResult]
"""Returns the result of one attempt: made with ``completes``, ``fails`` and the like, or a function of your own."""


def completes(value: Any = None) -> Step:
    """Scripts an attempt that returns the value."""
    return lambda event: ExecutionResult.success(event, value)


def fails(error: BaseException | str = "failed", *, retryable: bool = True) -> Step:
    """Scripts an attempt that fails with this exception or text."""
    return lambda event: ExecutionResult.failed(event, error, retryable)


def times_out(seconds: float = 1.0) -> Step:
    """Scripts an attempt that exceeds its timeout."""
    return lambda event: ExecutionResult.timed_out(event, seconds)


def crashes(reason: str = "its process died") -> Step:
    """Scripts an attempt whose own process dies."""
    return lambda event: ExecutionResult.crashed(event, reason)


def vanishes(reason: str = "its worker vanished") -> Step:
    """Scripts an attempt that is lost with the process that runs it."""
    return lambda event: ExecutionResult.lost(event, reason)


def refuses(reason: str = "no_capacity", *, unavailable: bool = False) -> Step:
    """Scripts an attempt that is handed back before it began, which counts as no attempt. ``unavailable``: the reason
    is not a lack of slots, so that the executor's circuit breaker opens if it happens repeatedly."""
    return lambda event: ExecutionResult.returned(event, reason, unavailable=unavailable)


class FakeExecutor:
    """An executor for a real Runner. Tasks in the script take one step for each attempt; others run their body.

    ``FakeExecutor({"charge": [fails("no answer"), completes({"id": 1})], "ship": crashes()})``. Tasks are given by
    their name, or by their full name. After the end of a list its last step is repeated.
    """

    local: bool = True
    kinds: frozenset[str] = frozenset({"python"})
    capacity: int = 64

    def __init__(self, script: Mapping[str, Step | Sequence[Step]] | None = None, *, name: str = "fake") -> None:
        self._name = name
        self._script = {task: [steps] if callable(steps) else list(steps) for task, steps in (script or {}).items()}
        self._loader: Loader | None = None
        self.events: list[TaskReadyEvent] = []
        """Every attempt, in order."""

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
        """Returns the attempts of one task, by its name or full name."""
        return [event for event in self.events if task in (event.task_name, event.task_name.rpartition("::")[2])]

    async def execute(self, event: TaskReadyEvent) -> ExecutionResult:
        self.events.append(event)
        steps = self._script.get(event.task_name) or self._script.get(event.task_name.rpartition("::")[2])
        if steps:
            return (steps.pop(0) if len(steps) > 1 else steps[0])(event)
        if self._loader is None:
            raise ExecutionFailed(f"executor {self._name!r} is not bound to a loader")
        return await (await self._loader.load(event)).run()


class ManualClock:
    """A clock that moves only by ``advance``.

    >>> clock = ManualClock()
    >>> clock.advance("5m")
    >>> clock.passed
    300.0
    """

    def __init__(self, start: float | datetime = 1_700_000_000.0) -> None:
        self._start = start.timestamp() if isinstance(start, datetime) else float(start)
        self.passed = 0.0
        """Seconds since the start."""

    def now(self) -> float:
        """Unix time."""
        return self._start + self.passed

    def advance(self, duration: Duration) -> None:
        """Moves the clock: ``advance("5m")``, ``advance(0.5)``, ``advance(timedelta(hours=1))``."""
        self.passed += seconds(duration, "advance")

    def __repr__(self) -> str:
        return f"<ManualClock, {self.passed:g} s passed>"
