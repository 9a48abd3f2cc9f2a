"""Holds workflows: a named graph of tasks that is built once, validated, and run by a call."""

from __future__ import annotations

import functools
import threading
import weakref
from collections.abc import Callable, Iterable, Mapping
from contextvars import ContextVar
from typing import Any, Generic, ParamSpec, TypeVar, Unpack, overload

import msgspec

from turnout.authoring.child import ChildTask
from turnout.authoring.default_runner import Submitted, current_runner
from turnout.authoring.definition import NO_DEFAULTS, Definition, TaskDefaults
from turnout.authoring.graph_builder import GraphBuilder, current_drawing
from turnout.authoring.hooks import add_hooks
from turnout.authoring.limits import checked_queue, limit_specs
from turnout.authoring.notifications import add_notifications, checked_notifications
from turnout.authoring.options import Hooks, TaskOptions, WorkflowOptions, keep_rule, optional_seconds, selector
from turnout.authoring.refs import author, place, raised_at
from turnout.authoring.schedules import DEFAULT_TIMEZONE, checked_timezone, schedule_specs
from turnout.authoring.task import Task
from turnout.authoring.workflow_sources import ContextSource, FunctionSource, Source
from turnout.errors import DefinitionError, InvalidWorkflow, TurnoutError
from turnout.model.durations import Duration
from turnout.model.schedules import ScheduleSpec
from turnout.model.spec import Affinity, TaskSpec, WorkerSelector, WorkflowSpec
from turnout.model.step_containment import contained
from turnout.model.validation import validate

P = ParamSpec("P")
R = TypeVar("R")
Q = ParamSpec("Q")
S = TypeVar("S")

DEFAULT_TENANT = "public"
DEFAULT_PACKAGE = "embedded"


_defined: weakref.WeakSet[Workflow[..., Any]] = weakref.WeakSet()
_drawing_lock = threading.RLock()
"""One lock for all workflows: building a graph builds those of its children too, and two threads with a lock for each
workflow could deadlock."""
_being_drawn: ContextVar[tuple[Workflow[..., Any], ...]] = ContextVar("turnout_being_drawn", default=())


def defined_workflows() -> list[Workflow[..., Any]]:
    """Returns the workflows that this program has defined so far, which a Runner can resume by default."""
    return list(_defined)


class Workflow(Generic[P, R]):
    """A named graph of tasks: ``@workflow`` on a function, or ``Workflow(name, tasks=[…])`` in Context style.

    Calling it runs it durably on the default Runner. The graph is built once, when it is first needed.
    """

    def __init__(
        self: Workflow[..., dict[str, Any]],
        name: str,
        tasks: Iterable[Task[..., Any] | Callable[..., Any]],
        **options: Unpack[WorkflowOptions],
    ) -> None:
        tasks = [ChildTask(each) if isinstance(each, Workflow) else each for each in tasks]
        self._set_up(ContextSource(name, tasks, author()), name, options)

    @classmethod
    def from_function(
        cls, function: Callable[Q, S], *, name: str | None = None, **options: Unpack[WorkflowOptions]
    ) -> Workflow[Q, S]:
        """Returns the workflow whose graph the function builds, as ``@workflow`` does."""
        made: Workflow[Q, S] = Workflow.__new__(Workflow)
        name = name or function.__name__
        made._set_up(FunctionSource(name, function), name, options)
        functools.update_wrapper(made, function)
        return made

    def _set_up(self, source: Source, name: str, options: WorkflowOptions) -> None:
        for option in options:
            if option not in WorkflowOptions.__annotations__:
                raise TypeError(f"workflow {name!r} got an unexpected keyword argument {option!r}")
        self.name = name
        self.package = options.get("package", DEFAULT_PACKAGE)
        self.source = source
        self.timeout = optional_seconds(options.get("timeout"), f"timeout of workflow {name!r}")
        self.worker_selector: WorkerSelector = selector(options.get("worker_selector"))
        self.affinity: Affinity = options.get("affinity")
        self.limits = limit_specs(options.get("limits", ()), f"workflow {name!r}")
        self.max_active_runs = options.get("max_active_runs")
        self.max_active_steps = options.get("max_active_steps")
        self.queue = checked_queue(options.get("queue"), name)
        self.priority = options.get("priority", 0)
        self.hooks: Mapping[str, Hooks] = {
            "on_success": options.get("on_success"),
            "on_failure": options.get("on_failure"),
            "on_cancel": options.get("on_cancel"),
            "on_exit": options.get("on_exit"),
        }
        timezone = checked_timezone(options.get("timezone", DEFAULT_TIMEZONE), name)
        self.schedules: tuple[ScheduleSpec, ...] = schedule_specs(options.get("schedule"), timezone, name)
        self.keep = keep_rule(options.get("keep_for"), options.get("keep_runs"), name)
        self.notify = checked_notifications(options.get("notify"), name)
        self._drawn: tuple[GraphBuilder[Task[..., Any]], WorkflowSpec] | None = None
        _defined.add(self)

    @property
    def spec(self) -> WorkflowSpec:
        """The validated workflow as a value, under the default tenant."""
        return self._draw()[1]

    def spec_for(self, tenant: str) -> WorkflowSpec:
        """Returns the workflow as a value under that tenant; given full names stay."""
        drawing, spec = self._draw()
        if tenant == spec.tenant:
            return spec
        return self._validated(drawing, tenant)

    @property
    def tasks(self) -> Mapping[str, Task[..., Any]]:
        """The tasks by their names in the graph, hooks last."""
        return self._draw()[0].tasks

    def define(
        self, tenant: str = DEFAULT_TENANT, defaults: TaskDefaults = NO_DEFAULTS, *, remote_only: bool = False
    ) -> Definition:
        """Returns the definition under that tenant with these defaults; a redefinition does not change it."""
        tasks, spec = dict(self.tasks), self.spec_for(tenant)
        if defaults.notify:
            specs = {task.name: task for task in spec.tasks}
            add_notifications(specs, tasks, defaults.notify, self._delivery_package)
            home = spec.full_name
            spec = msgspec.structs.replace(spec, tasks=tuple(_at_home(task, home, tenant) for task in specs.values()))
        spec = defaults.applied(spec, tasks)
        if remote_only:
            spec = msgspec.structs.replace(spec, remote_only=True, tasks=tuple(map(contained, spec.tasks)))
        return Definition(self, spec, tasks, self.source, self.schedules, self.keep)

    def bind(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """Returns the arguments of a call as the input of a run: by name, checked, with defaults."""
        return self.define().bind(*args, **kwargs)

    def returned(self, value: Any) -> Any:
        """Returns the JSON result of a run, converted to the return annotation of the workflow function."""
        return self.define().returned(value)

    def run(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Runs it durably on the default Runner and returns its result."""
        self._not_while_drawing("run")
        return current_runner().run(self, *args, **kwargs)

    def submit(self, *args: P.args, **kwargs: P.kwargs) -> Submitted[R]:
        """Starts a run without a parent on the default Runner; returns once it is durable.

        In a body it is started on the Runner that the body belongs to, elsewhere on the default one. A body may be
        executed more than once: with ``submit_with(…, key=info.idempotency_key)`` the run is started once.
        """
        self._not_while_drawing("submit")
        return current_runner().submit(self, *args, **kwargs)

    def submit_with(
        self,
        *args: Any,
        key: str | None = None,
        priority: int = 0,
        timeout: Duration | None = None,
        input: Mapping[str, Any] | None = None,
    ) -> Submitted[R]:
        """``submit`` with an idempotency key, a priority or a timeout; keyword parameters go into ``input``."""
        self._not_while_drawing("submit_with")
        return current_runner().submit_with(self, *args, key=key, priority=priority, timeout=timeout, input=input)

    # -- as a child ---------------------------------------------------------------------------------------------
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return ChildTask(self)(*args, **kwargs)

    def after(self, *others: Any) -> Task[P, R]:
        """In another workflow: returns this child run ordered after others without taking their results."""
        return ChildTask(self).after(*others)

    def options(self, **options: Unpack[TaskOptions]) -> Task[P, R]:
        """In another workflow: returns this child run with options, such as ``timeout`` and ``retries``."""
        return ChildTask(self).options(**options)

    def named(self, name: str) -> Task[P, R]:
        """In another workflow: returns this child run as a task of that name."""
        return ChildTask(self).named(name)

    def partial(self, *args: Any, **kwargs: Any) -> Task[..., R]:
        """In another workflow: returns this child run with some arguments given."""
        return ChildTask(self).partial(*args, **kwargs)

    def map(
        self, *lists: Any, max_parallel: int | None = None, return_exceptions: bool = False, **named: Any
    ) -> list[R]:
        """In another workflow: starts a child run for each item of the lists. Returns the list of their results."""
        child: ChildTask[P, R] = ChildTask(self)
        return child.map(*lists, max_parallel=max_parallel, return_exceptions=return_exceptions, **named)

    @property
    def __task_name__(self) -> str:
        return self.name

    def _not_while_drawing(self, method: str) -> None:
        drawing = current_drawing()
        if drawing is not None:
            raise DefinitionError(
                f"{place()}: {self.name}.{method}() inside workflow {drawing.workflow!r}, which only draws the graph: "
                f"call {self.name}(…) for a child run, or use {method}() in a task",
                code="child_workflow",
            )

    # -- drawing ------------------------------------------------------------------------------------------------
    def _draw(self) -> tuple[GraphBuilder[Task[..., Any]], WorkflowSpec]:
        with _drawing_lock:
            if self._drawn is None:
                drawing: GraphBuilder[Task[..., Any]] = GraphBuilder(self.name)
                self._refuse_recursion()
                token = _being_drawn.set((*_being_drawn.get(), self))
                try:
                    self.source.draw(drawing)
                except TurnoutError:
                    raise
                except Exception as error:
                    raise self._failed_to_draw(error) from error
                finally:
                    _being_drawn.reset(token)
                add_hooks(drawing, self.hooks)
                add_notifications(drawing.specs, drawing.tasks, self.notify, self._delivery_package)
                self._drawn = drawing, self._validated(drawing, DEFAULT_TENANT)
            return self._drawn

    @property
    def _delivery_package(self) -> str:
        return f"{self.package}.{self.name}"

    def _failed_to_draw(self, error: Exception) -> InvalidWorkflow:
        return InvalidWorkflow(
            f"workflow {self.name!r} ({self.source.where}) raised {type(error).__name__} while its graph was drawn: "
            f"{error}{raised_at(error)}; a workflow function only calls tasks, what may fail belongs in one",
            code="drawing_failed",
            workflow=self.name,
        )

    def _refuse_recursion(self) -> None:
        open_ = _being_drawn.get()
        if self in open_:
            path = " → ".join(each.name for each in (*open_[open_.index(self) :], self))
            raise InvalidWorkflow(
                f"{place()}: workflow {self.name!r} calls itself ({path}), and would never end: "
                "loop in a task, or let a task submit the next run with submit()",
                code="recursive_workflow",
                path=path,
            )

    def _validated(self, drawing: GraphBuilder[Task[..., Any]], tenant: str) -> WorkflowSpec:
        home = f"{tenant}::{self.package}::{self.name}"
        spec = WorkflowSpec(
            name=self.name,
            tasks=tuple(_at_home(task, home, tenant) for task in drawing.specs.values()),
            tenant=tenant,
            package=self.package,
            params=self.source.params,
            result=self.source.result,
            context_style=self.source.context_style,
            timeout=self.timeout,
            worker_selector=self.worker_selector,
            affinity=self.affinity,
            gate=self.source.gate,
            limits=self.limits,
            max_active_runs=self.max_active_runs,
            max_active_steps=self.max_active_steps,
            queue=self.queue,
            priority=self.priority,
        )
        validate(spec)
        return spec

    def __repr__(self) -> str:
        return f"<workflow {self.name!r}>"


def _at_home(task: TaskSpec, home: str, tenant: str) -> TaskSpec:
    """Returns the task with its full name; the workflow of a child run has the same tenant."""
    if not task.full_name:
        task = msgspec.structs.replace(task, full_name=f"{home}::{task.name}")
    if task.body.kind == "workflow" and task.body.ref.count("::") == 1:
        body = msgspec.structs.replace(task.body, ref=f"{tenant}::{task.body.ref}")
        task = msgspec.structs.replace(task, body=body)
    return task


class Decorator:
    """The decorator that ``@workflow(…)`` with options returns."""

    def __init__(self, name: str | None, options: WorkflowOptions) -> None:
        self._name, self._options = name, options

    def __call__(self, function: Callable[Q, S]) -> Workflow[Q, S]:
        return Workflow.from_function(function, name=self._name, **self._options)


@overload
def workflow(function: Callable[Q, S], /) -> Workflow[Q, S]: ...
@overload
def workflow(*, name: str | None = None, **options: Unpack[WorkflowOptions]) -> Decorator: ...
def workflow(
    function: Callable[..., Any] | None = None, /, *, name: str | None = None, **options: Unpack[WorkflowOptions]
) -> Workflow[..., Any] | Decorator:
    """Makes a function a workflow. It is executed once, with placeholders, to build the graph.

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
        return Decorator(name, options)
    return Workflow.from_function(function, name=name, **options)
