"""Holds the tasks and handlers of the modules that a worker imports."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import ModuleType
from typing import Any, TypeVar

import msgspec

from turnout.authoring.annotations import annotations_of
from turnout.authoring.invocation import open_signature
from turnout.authoring.options import RetryPredicate, checked, predicates
from turnout.authoring.task import Task
from turnout.authoring.workflow import Workflow
from turnout.errors import DefinitionError
from turnout.wire.documents import Step
from turnout.wire.handshake import MAX_TEXT_LENGTH
from turnout.wire.step_codec import SHELL_HANDLER, STEP_HANDLER

F = TypeVar("F", bound=Callable[..., Any])

_MARK = "__turnout_handles__"


class Handler(msgspec.Struct, frozen=True):
    """A Python function under the name that steps ask for it by."""

    name: str
    function: Callable[..., Any]
    retry_if: RetryPredicate | None = None
    version: str = ""
    step: str | None = None
    """The parameter that takes the step, if there is one."""
    step_position: int | None = None
    """Its index among the arguments, unless it is keyword-only."""
    conditions: Mapping[str, Callable[..., Any]] = {}
    """The predicates that it may wait for, by ``module:qualname``."""

    def arguments(self, step: Step) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Returns the arguments of the function, without those that the engine fills."""
        args, kwargs = step.metadata.positional, step.metadata.args
        if self.step is None:
            return args, kwargs
        # To a child it goes as JSON, and the annotation makes it a step again.
        at = self.step_position
        if at is not None and at < len(args):
            return (*args[:at], step, *args[at:]), kwargs
        return args, {**kwargs, self.step: step}


class _Marked(msgspec.Struct, frozen=True):
    name: str
    version: str
    conditions: tuple[Callable[..., Any], ...] = ()


def handler(name: str, *, version: str = "", conditions: Sequence[Callable[..., Any]] = ()) -> Callable[[F], F]:
    """Registers a function, or a task, under a handler name.

    >>> @handler("OrderFulfillment::ShipOrder")
    ... def ship(order: dict[str, str], express: bool = False) -> str:
    ...     return f"{order['id']} by {'air' if express else 'sea'}"

    It is called with the arguments that the workflow gives, by name, as their annotations say. A parameter annotated
    ``TaskInfo`` gets what a task's would; one annotated ``Step`` the whole document (configuration, the run's input,
    results before). The function itself stays as it is. ``version`` is recorded with every result. ``conditions`` are
    the predicates that it may wait for with ``Defer(condition=…)``; the remote task names them, too.
    """
    if not name or len(name) > MAX_TEXT_LENGTH:
        raise DefinitionError(
            f"handler({name!r}): give a name of 1 to {MAX_TEXT_LENGTH} characters", code="bad_handler"
        )

    predicates(checked({"conditions": conditions}, name), name)

    def mark(function: F) -> F:
        marks: tuple[_Marked, ...] = getattr(function, _MARK, ())
        setattr(function, _MARK, (*marks, _Marked(name, version, tuple(conditions))))
        return function

    return mark


class Handlers:
    """The handlers of a worker by name. They are added before the worker starts."""

    def __init__(self, modules: Iterable[ModuleType] = (), *, shell: bool = True) -> None:
        self._table: dict[str, Handler] = {}
        self.shell = shell
        """True if shell commands run here."""
        for module in modules:
            self.add_module(module)

    @property
    def names(self) -> tuple[str, ...]:
        return (*sorted(self._table), *((SHELL_HANDLER, STEP_HANDLER) if self.shell else ()))

    def find(self, name: str) -> Handler | None:
        return self._table.get(name)

    def add_module(self, module: ModuleType) -> None:
        """Adds every task of the module and of its workflows, and every function decorated with ``@handler``."""
        for value in list(vars(module).values()):
            if isinstance(value, Workflow):
                for task in value.tasks.values():
                    self._add_task(task)
            elif isinstance(value, Task):
                self._add_task(value)
            for mark in _marks(value):
                self.add(mark.name, value, version=mark.version, conditions=mark.conditions)

    def add(
        self,
        name: str,
        function: Callable[..., Any] | Task[..., Any],
        *,
        version: str = "",
        conditions: Sequence[Callable[..., Any]] = (),
    ) -> None:
        """Adds a function under the name of a handler."""
        retry_if = function.retry_if if isinstance(function, Task) else None
        plain: Callable[..., Any] = function.function if isinstance(function, Task) else function
        known = self._table.get(name)
        if known is not None and known.function is not plain:
            raise DefinitionError(
                f"two functions are the handler {name!r}, {_named(known.function)} and {_named(plain)}: "
                "give one another name",
                code="duplicate_handler",
                handler=name,
            )
        own = function.conditions if isinstance(function, Task) else {}
        declared = {**own, **predicates({"conditions": conditions}, name)}
        self._table[name] = Handler(name, plain, retry_if, version, *_place_of_step(plain), declared)

    def _add_task(self, task: Task[..., Any]) -> None:
        if task.body.kind == "python":
            self.add(task.ref, task)


def _place_of_step(function: Callable[..., Any]) -> tuple[str | None, int | None]:
    known = annotations_of(function)
    for index, parameter in enumerate(open_signature(function).parameters.values()):
        if known.get(parameter.name) is Step:
            by_name = parameter.kind in (parameter.KEYWORD_ONLY, parameter.VAR_KEYWORD)
            return parameter.name, None if by_name else index
    return None, None


def _marks(value: Any) -> tuple[_Marked, ...]:
    # Only where a mark can be: modules hold objects that answer to any name.
    marks = getattr(value, "__dict__", {}).get(_MARK, ()) if callable(value) else ()
    return marks if isinstance(marks, tuple) else ()


def _named(function: Any) -> str:
    return f"{getattr(function, '__module__', '?')}:{getattr(function, '__qualname__', type(function).__qualname__)}"
