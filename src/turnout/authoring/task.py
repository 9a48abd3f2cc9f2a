"""Makes a function a task."""

from __future__ import annotations

import functools
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Generic, ParamSpec, TypeVar, Unpack, cast, overload

from turnout.authoring.graph_builder import current_drawing, draw_map
from turnout.authoring.invocation import slots_of
from turnout.authoring.limits import limit_specs
from turnout.authoring.options import (
    RetryPredicate,
    TaskOptions,
    checked,
    optional_seconds,
    predicates,
    retry_policy,
    selector,
)
from turnout.model.branch import Branch
from turnout.model.resources import parse_resources
from turnout.model.spec import Body, Mapped, TaskSpec, Template
from turnout.model.validation import validate_task

P = ParamSpec("P")
R = TypeVar("R")
Q = ParamSpec("Q")
S = TypeVar("S")


class Task(Generic[P, R]):
    """A function with options. A call in a workflow function adds a node to the graph; a call elsewhere runs it.

    >>> @task(retries=2)
    ... def double(number: int) -> int:
    ...     return 2 * number
    >>> double(4)
    8
    """

    __name__: str
    __qualname__: str

    def __init__(self, function: Callable[P, Any], options: TaskOptions | None = None) -> None:
        self.function = function
        self.given = checked(options or {}, getattr(function, "__name__", "task"))
        self.waits_for: tuple[Any, ...] = ()
        """The arguments of ``.after``: placeholders, tasks or names."""
        self.fixed_args: tuple[Any, ...] = ()
        self.fixed_kwargs: dict[str, Any] = {}
        """The arguments of ``.partial``."""
        self.named_explicitly = False
        functools.update_wrapper(self, function)
        self._check()

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        drawing = current_drawing()
        given, named = (*self.fixed_args, *args), {**self.fixed_kwargs, **kwargs}
        if drawing is None:
            function: Callable[..., Any] = self.function
            return cast("R", function(*given, **named))
        return cast("R", drawing.call(self, given, named))

    def after(self, *others: Any) -> Task[P, R]:
        """Returns this task ordered after others without taking their results: ``ship.after(audited)(order)``."""
        return self._copy(waits_for=(*self.waits_for, *others))

    def options(self, **options: Unpack[TaskOptions]) -> Task[P, R]:
        """Returns a copy of this task with other options."""
        changed = self._copy(given={**self.given, **checked(options, self.name)})
        changed._check()
        return changed

    def named(self, name: str) -> Task[P, R]:
        """Returns a copy of this task under another name, which must be unique in its workflow."""
        return self._copy(given={**self.given, "name": name}, named_explicitly=True)

    def partial(self, *args: Any, **kwargs: Any) -> Task[..., R]:
        """Returns a copy of this task with some arguments given: ``ship.partial(express=True).map(orders)``."""
        copy: Any = self._copy(fixed_args=(*self.fixed_args, *args), fixed_kwargs={**self.fixed_kwargs, **kwargs})
        return copy

    def map(
        self, *lists: Any, max_parallel: int | None = None, return_exceptions: bool = False, **named: Any
    ) -> list[R]:
        """In a workflow function: runs this task for each item of the lists, in parallel. Returns the list of results.

        The lists are results of tasks, parameters or plain lists; several lists are combined item by item. At most
        ``max_parallel`` items run at a time. If an item fails, the task fails when all items have ended, unless
        ``return_exceptions`` is set: then the item's result is ``{"type": …, "message": …}``.
        """
        options = {"max_parallel": max_parallel, "return_exceptions": return_exceptions}
        return cast("list[R]", draw_map(self, lists, named, options))

    def _check(self) -> None:
        if self.given:
            validate_task(self.spec(self.name))
            _ = self.conditions

    def _copy(self, **changes: Any) -> Task[P, R]:
        copy: Task[P, R] = type(self).__new__(type(self))
        copy.__dict__.update({**self.__dict__, **changes})
        return copy

    @property
    def name(self) -> str:
        """The name in a workflow: the last part of the given name, else the function's name."""
        return self._given_name.rpartition("::")[2]

    @property
    def __task_name__(self) -> str:
        return self.name

    @property
    def _given_name(self) -> str:
        return self.given.get("name") or getattr(self.function, "__name__", type(self.function).__name__)

    @property
    def depends_on(self) -> tuple[Any, ...]:
        return tuple(self.given.get("depends_on", ()))

    @property
    def retry_if(self) -> RetryPredicate | None:
        return self.given.get("retry_if")

    @property
    def conditions(self) -> Mapping[str, Callable[..., Any]]:
        """The predicates that the body may wait for, by ``module:qualname``."""
        return predicates(self.given, self.name)

    @property
    def uses_context(self) -> bool:
        """True if the function takes a ``Context``."""
        return any(slot.kind == "context" for slot in slots_of(self.function))

    @property
    def ref(self) -> str:
        """The reference of the function in stored runs: ``module:qualname``."""
        function: Any = self.function
        return f"{function.__module__}:{getattr(function, '__qualname__', type(function).__qualname__)}"

    @property
    def body(self) -> Body:
        """The body as a value."""
        return Body("python", self.ref)

    def spec(
        self,
        name: str,
        *,
        args: tuple[Template, ...] = (),
        kwargs: dict[str, Template] | None = None,
        depends_on: tuple[str, ...] = (),
        uses_context: bool = False,
        mapped: Mapped | None = None,
    ) -> TaskSpec:
        """Returns the task as a node of that name. The full name stays empty unless one was given."""
        given = self.given
        prefix, separator, _ = self._given_name.rpartition("::")
        return TaskSpec(
            name=name,
            body=self.body,
            full_name=f"{prefix}::{name}" if separator else "",
            args=args,
            kwargs=kwargs or {},
            depends_on=depends_on,
            rule=given.get("trigger_rule"),
            retry=retry_policy(given, name),
            timeout=optional_seconds(given.get("timeout"), f"timeout of task {name!r}"),
            priority=given.get("priority", 0),
            worker_selector=selector(given.get("worker_selector")),
            executor=given.get("executor"),
            at_most_once=given.get("at_most_once", False),
            uses_context=uses_context,
            map=mapped,
            limits=limit_specs(given.get("limits", ()), f"task {name!r}"),
            resources=parse_resources(given.get("resources"), f"resources of task {name!r}"),
        )

    def __repr__(self) -> str:
        return f"<task {self.name!r} ({self.ref})>"


class Decorator:
    """The decorator that ``@task(…)`` with options returns."""

    def __init__(self, options: TaskOptions) -> None:
        self._options = options

    @overload
    def __call__(self, function: Callable[Q, Coroutine[Any, Any, Branch[S]]]) -> Task[Q, S]: ...
    @overload
    def __call__(self, function: Callable[Q, Coroutine[Any, Any, S]]) -> Task[Q, S]: ...
    @overload
    def __call__(self, function: Callable[Q, Branch[S]]) -> Task[Q, S]: ...
    @overload
    def __call__(self, function: Callable[Q, S]) -> Task[Q, S]: ...
    def __call__(self, function: Callable[..., Any]) -> Task[..., Any]:
        return Task(function, self._options)


@overload
def task(function: Callable[Q, Coroutine[Any, Any, Branch[S]]], /) -> Task[Q, S]: ...
@overload
def task(function: Callable[Q, Coroutine[Any, Any, S]], /) -> Task[Q, S]: ...
@overload
def task(function: Callable[Q, Branch[S]], /) -> Task[Q, S]: ...
@overload
def task(function: Callable[Q, S], /) -> Task[Q, S]: ...
@overload
def task(**options: Unpack[TaskOptions]) -> Decorator: ...
def task(function: Callable[..., Any] | None = None, /, **options: Unpack[TaskOptions]) -> Task[..., Any] | Decorator:
    """Makes a function a task: ``@task``, or ``@task(retries=3, timeout="5m")``. See ``TaskOptions``."""
    return Decorator(options) if function is None else Task(function, options)
