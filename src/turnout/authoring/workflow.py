"""How do tasks become a workflow: named, drawn once, validated, and called?"""

from __future__ import annotations

import functools
import threading
import weakref
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Generic, ParamSpec, TypeVar, overload

import msgspec

from turnout.authoring.annotations import RETURN
from turnout.authoring.default_runner import default_runner
from turnout.authoring.drawing import Drawing, current_drawing
from turnout.authoring.hooks import add_hooks
from turnout.authoring.options import Hooks, optional_seconds, selector
from turnout.authoring.places import place
from turnout.authoring.sources import ContextSource, FunctionSource, Source
from turnout.authoring.task import Task
from turnout.errors import DefinitionError, InvalidInput, WrongType
from turnout.model.annotations import Unfit
from turnout.model.durations import Duration
from turnout.model.inputs import check_input
from turnout.model.spec import WorkerSelector, WorkflowSpec
from turnout.model.validation import validate

P = ParamSpec("P")
R = TypeVar("R")
Q = ParamSpec("Q")
S = TypeVar("S")

DEFAULT_TENANT = "public"
DEFAULT_PACKAGE = "embedded"


_defined: weakref.WeakSet[Workflow[..., Any]] = weakref.WeakSet()


def defined_workflows() -> list[Workflow[..., Any]]:
    """The workflows that this program has defined so far: what a Runner can resume unless it is told otherwise."""
    return list(_defined)


class Workflow(Generic[P, R]):
    """A named graph of tasks: ``@workflow`` on a function, or ``Workflow(name, tasks=[…])`` in Context style.

    Calling it runs it durably on the default Runner. The graph is drawn once, when it is first needed.
    """

    def __init__(
        self: Workflow[..., dict[str, Any]],
        name: str,
        tasks: Iterable[Task[..., Any] | Callable[..., Any]],
        *,
        package: str = DEFAULT_PACKAGE,
        timeout: Duration | None = None,
        worker_selector: WorkerSelector = None,
        on_success: Hooks = None,
        on_failure: Hooks = None,
        on_exit: Hooks = None,
    ) -> None:
        hooks = {"on_success": on_success, "on_failure": on_failure, "on_exit": on_exit}
        self._set_up(ContextSource(name, tasks), name, package, timeout, worker_selector, hooks)

    @classmethod
    def from_function(
        cls,
        function: Callable[Q, S],
        *,
        name: str | None = None,
        package: str = DEFAULT_PACKAGE,
        timeout: Duration | None = None,
        worker_selector: WorkerSelector = None,
        on_success: Hooks = None,
        on_failure: Hooks = None,
        on_exit: Hooks = None,
    ) -> Workflow[Q, S]:
        """The workflow that the function draws: what ``@workflow`` does."""
        made: Workflow[Q, S] = Workflow.__new__(Workflow)
        name = name or function.__name__
        hooks = {"on_success": on_success, "on_failure": on_failure, "on_exit": on_exit}
        made._set_up(FunctionSource(name, function), name, package, timeout, worker_selector, hooks)
        functools.update_wrapper(made, function)
        return made

    def _set_up(
        self,
        source: Source,
        name: str,
        package: str,
        timeout: Duration | None,
        worker_selector: WorkerSelector,
        hooks: Mapping[str, Hooks],
    ) -> None:
        self.name = name
        self.package = package
        self.source = source
        self.timeout = optional_seconds(timeout, f"timeout of workflow {name!r}")
        self.worker_selector: WorkerSelector = selector(worker_selector)
        self.hooks = hooks
        self._lock = threading.RLock()
        self._drawn: tuple[Drawing, WorkflowSpec] | None = None
        _defined.add(self)

    @property
    def spec(self) -> WorkflowSpec:
        """The workflow as a value, validated, under the default tenant."""
        return self._draw()[1]

    def spec_for(self, tenant: str) -> WorkflowSpec:
        """The workflow as a value under that tenant; full names that the author gave stay."""
        drawing, spec = self._draw()
        if tenant == spec.tenant:
            return spec
        return self._validated(drawing, tenant)

    @property
    def tasks(self) -> Mapping[str, Task[..., Any]]:
        """Its tasks by their names in the graph, hooks last."""
        return self._draw()[0].tasks

    def bind(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """The arguments of a call as a run's input: by name, checked, defaults filled in."""
        spec = self.spec
        if spec.context_style:
            return self._bind_context(args, kwargs)
        names = self.source.positional
        if len(args) > len(names):
            raise InvalidInput(
                f"workflow {self.name!r} takes {len(names)} positional arguments but {len(args)} were given",
                code="unknown_parameter",
            )
        given = dict(zip(names, args, strict=False))
        for name in kwargs:
            if name in given:
                raise InvalidInput(
                    f"workflow {self.name!r} got two values for the parameter {name!r}", code="duplicate_parameter"
                )
        return check_input(spec, {**given, **kwargs}, self.source.types)

    def _bind_context(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        if len(args) > 1 or not all(isinstance(each, Mapping) for each in args):
            raise InvalidInput(
                f"workflow {self.name!r} takes one dict as its context, and keywords that are set in it",
                code="invalid_input",
            )
        return check_input(self.spec, {**(args[0] if args else {}), **kwargs})

    def returned(self, value: Any) -> Any:
        """A run's result, a JSON value, as the workflow function's return annotation says. None stays None: what a
        result is made of may have been skipped."""
        known = self.source.types.get(RETURN)
        if value is None or known is None or known.is_json or known.convert is None:
            return value
        try:
            return known.convert(value)
        except Unfit as error:
            raise WrongType(
                f"the run completed, but its result does not fit the annotation of workflow {self.name!r}: "
                f"{known.text} is expected, but a value of type {type(value).__name__} was returned: {error}",
                workflow=self.name,
                type=type(value).__name__,
                value=value,
            ) from error

    def run(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run it durably on the default Runner and return its result."""
        return default_runner().run(self, *args, **kwargs)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        drawing = current_drawing()
        if drawing is not None:
            raise DefinitionError(
                f"{place()}: workflow {self.name!r} is called inside workflow {drawing.workflow!r}: child runs are not "
                "available yet; call its tasks here, or submit it as a run of its own from a task",
                code="child_workflow",
            )
        return self.run(*args, **kwargs)

    def _draw(self) -> tuple[Drawing, WorkflowSpec]:
        with self._lock:
            if self._drawn is None:
                drawing = Drawing(self.name)
                self.source.draw(drawing)
                add_hooks(drawing, self.hooks)
                self._drawn = drawing, self._validated(drawing, DEFAULT_TENANT)
            return self._drawn

    def _validated(self, drawing: Drawing, tenant: str) -> WorkflowSpec:
        home = f"{tenant}::{self.package}::{self.name}"
        spec = WorkflowSpec(
            name=self.name,
            tasks=tuple(
                task if task.full_name else msgspec.structs.replace(task, full_name=f"{home}::{task.name}")
                for task in drawing.specs.values()
            ),
            tenant=tenant,
            package=self.package,
            params=self.source.params,
            result=self.source.result,
            context_style=self.source.context_style,
            timeout=self.timeout,
            worker_selector=self.worker_selector,
        )
        validate(spec)
        return spec

    def __repr__(self) -> str:
        return f"<workflow {self.name!r}>"


class Decorator:
    """What ``@workflow(…)`` with options returns."""

    def __init__(self, options: dict[str, Any]) -> None:
        self._options = options

    def __call__(self, function: Callable[Q, S]) -> Workflow[Q, S]:
        return Workflow.from_function(function, **self._options)


@overload
def workflow(function: Callable[Q, S], /) -> Workflow[Q, S]: ...
@overload
def workflow(
    *,
    name: str | None = None,
    package: str = DEFAULT_PACKAGE,
    timeout: Duration | None = None,
    worker_selector: WorkerSelector = None,
    on_success: Hooks = None,
    on_failure: Hooks = None,
    on_exit: Hooks = None,
) -> Decorator: ...
def workflow(function: Callable[..., Any] | None = None, /, **options: Any) -> Workflow[..., Any] | Decorator:
    """Make a function a workflow. It is executed once, with placeholders, to draw the graph.

    >>> from turnout import task, workflow
    >>> @task
    ... def double(number: int) -> int:
    ...     return 2 * number
    >>> @workflow
    ... def quadruple(number: int) -> int:
    ...     return double(double(number))
    >>> [task.name for task in quadruple.spec.tasks]
    ['double', 'double-2']
    """
    if function is None:
        return Decorator(options)
    return Workflow.from_function(function, **options)
