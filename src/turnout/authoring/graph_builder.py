"""Builds the graph of a workflow: each task called inside its function becomes a node; ``.map`` adds mapped tasks."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Generic, NoReturn, Protocol, TypeVar

from turnout.authoring.invocation import open_signature
from turnout.authoring.refs import Ref, drawing_of, place, source_of, template_of
from turnout.errors import InvalidWorkflow
from turnout.model.bindings import tasks_in
from turnout.model.names import suggest
from turnout.model.spec import FromParam, FromTask, Mapped, TaskSpec, Template


class DrawnTask(Protocol):
    """A task from which a node is built."""

    @property
    def name(self) -> str: ...

    @property
    def function(self) -> Callable[..., Any]: ...

    @property
    def uses_context(self) -> bool: ...

    @property
    def depends_on(self) -> Sequence[Any]: ...

    @property
    def waits_for(self) -> Sequence[Any]: ...

    @property
    def named_explicitly(self) -> bool: ...

    def spec(
        self,
        name: str,
        *,
        args: tuple[Template, ...] = (),
        kwargs: dict[str, Template] | None = None,
        depends_on: tuple[str, ...] = (),
        uses_context: bool = False,
        mapped: Mapped | None = None,
    ) -> TaskSpec: ...


T = TypeVar("T", bound=DrawnTask)
_current: ContextVar[GraphBuilder[Any] | None] = ContextVar("turnout_drawing", default=None)


def current_drawing() -> GraphBuilder[Any] | None:
    """Returns the graph that is being built in this context; None outside of workflow functions."""
    return _current.get()


class GraphBuilder(Generic[T]):
    """The nodes of one workflow so far, in call order."""

    def __init__(self, workflow: str) -> None:
        self.workflow = workflow
        self.specs: dict[str, TaskSpec] = {}
        self.tasks: dict[str, T] = {}
        self._counts: dict[str, int] = {}

    @contextmanager
    def open(self) -> Generator[None]:
        """While it is open, a call of a task adds a node to this graph instead of running the task."""
        token = _current.set(self)
        try:
            yield
        finally:
            _current.reset(token)

    def parameter(self, name: str) -> Ref:
        return Ref(FromParam(name), self)

    def maps(self, name: str) -> bool:
        """True if the node of that name is a mapped task."""
        return name in self.specs and self.specs[name].map is not None

    def waited_for(self, task: T, values: Iterable[Any]) -> set[str]:
        """Returns the nodes that the task is ordered after, and those whose results are in these values."""
        templates = [template_of(value, self, f"an argument of {task.name!r}") for value in values]
        return {*self._nodes_of(task.waits_for), *(name for template in templates for name in tasks_in(template))}

    def call(self, task: T, args: tuple[Any, ...], kwargs: Mapping[str, Any], mapped: Mapped | None = None) -> Ref:
        """Adds a node for this call and returns the placeholder of its result."""
        self._check_style(task)
        self._check_arguments(task, args, kwargs)
        name = self._name_for(task)
        arguments = tuple(
            template_of(value, self, f"argument {index + 1} of {name!r}") for index, value in enumerate(args)
        )
        named = {key: template_of(value, self, f"argument {key!r} of {name!r}") for key, value in kwargs.items()}
        data = (each for template in (*arguments, *named.values()) for each in tasks_in(template))
        depends_on = tuple(dict.fromkeys([*data, *self._nodes_of(task.waits_for)]))
        self.specs[name] = task.spec(name, args=arguments, kwargs=named, depends_on=depends_on, mapped=mapped)
        self.tasks[name] = task
        return Ref(FromTask(name), self)

    def add(self, task: T, depends_on: Iterable[str], uses_context: bool) -> None:
        """Adds a task of a Context-style workflow."""
        name = task.name
        if name in self.specs:
            self._refuse_duplicate(name)
        self.specs[name] = task.spec(name, depends_on=tuple(dict.fromkeys(depends_on)), uses_context=uses_context)
        self.tasks[name] = task

    def _check_style(self, task: T) -> None:
        if task.uses_context or task.depends_on:
            has = "a Context parameter" if task.uses_context else "depends_on"
            raise InvalidWorkflow(
                f"{place()}: task {task.name!r} has {has}, which belongs to Workflow({self.workflow!r}, tasks=[…]); "
                "in a workflow function pass results as arguments, or order tasks with .after(…)",
                code="mixed_styles",
            )

    def _check_arguments(self, task: T, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        try:
            open_signature(task.function).bind(*args, **kwargs)
        except TypeError as error:
            raise InvalidWorkflow(f"{place()}: {task.name}(): {error}", code="bad_call", task=task.name) from error

    def _name_for(self, task: T) -> str:
        name = task.name
        if name not in self.specs:
            return name
        if task.named_explicitly:
            self._refuse_duplicate(name)
        count = self._counts.get(name, 1) + 1
        while f"{name}-{count}" in self.specs:
            count += 1
        self._counts[name] = count
        return f"{name}-{count}"

    def _refuse_duplicate(self, name: str) -> NoReturn:
        raise InvalidWorkflow(
            f"{place()}: two tasks of workflow {self.workflow!r} are named {name!r}: give one another name",
            code="duplicate_task",
            value=name,
        )

    def _nodes_of(self, others: Iterable[Any]) -> Iterator[str]:
        for other in others:
            match other:
                case Ref():
                    yield self._node_of_ref(other)
                case str():
                    if other not in self.specs:
                        self._refuse_after(repr(other), suggest(other, self.specs))
                    yield other
                case _:
                    yield from self._nodes_of_task(other)

    def _node_of_ref(self, ref: Ref) -> str:
        source = source_of(ref)
        if drawing_of(ref) is not self:
            self._refuse_after(repr(ref), ": it belongs to another workflow")
        if isinstance(source, FromParam):
            self._refuse_after(repr(ref), ": it is a parameter, not a task")
        return source.name

    def _nodes_of_task(self, other: T) -> list[str]:
        if getattr(other, "named_explicitly", False):
            names = [other.name] if other.name in self.specs else []
        else:
            # The ``function`` of a child run is its workflow.
            function = getattr(other, "function", other)
            names = [name for name, task in self.tasks.items() if task.function is function]
        if not names:
            self._refuse_after(repr(other.name), ": it was not called before in this workflow")
        return names

    def _refuse_after(self, what: str, why: str) -> NoReturn:
        raise InvalidWorkflow(f"{place()}: after({what}) names no task{why}", code="unknown_dependency", value=what)


OPTIONS = ("max_parallel", "return_exceptions")


class MappedTask(DrawnTask, Protocol):
    """A task from which a mapped node is built, with the arguments that are the same for all items."""

    @property
    def fixed_args(self) -> tuple[Any, ...]: ...

    @property
    def fixed_kwargs(self) -> Mapping[str, Any]: ...

    @property
    def given(self) -> Mapping[str, Any]: ...


def draw_map(task: MappedTask, lists: tuple[Any, ...], named: Mapping[str, Any], options: Mapping[str, Any]) -> Ref:
    """Adds the mapped task to the graph that is being built; returns the placeholder of the list of results."""
    drawing = current_drawing()
    if drawing is None:
        raise InvalidWorkflow(
            f"{place()}: {task.name}.map(…) belongs into a @workflow function, where results are still placeholders; "
            "it is not available in Context style, nor elsewhere: a list that you have can be gone through with for",
            code="map_outside",
            task=task.name,
        )
    _check(task, lists, named, options)
    first = len(task.fixed_args)
    over = (*range(first, first + len(lists)), *named)
    mapped = Mapped(over, options["max_parallel"], options["return_exceptions"], _piped(drawing, task, lists, named))
    return drawing.call(task, (*task.fixed_args, *lists), {**task.fixed_kwargs, **named}, mapped)


def _check(task: MappedTask, lists: tuple[Any, ...], named: Mapping[str, Any], options: Mapping[str, Any]) -> None:
    taken = [name for name in OPTIONS if options[name] and name in open_signature(task.function).parameters]
    if taken:
        raise InvalidWorkflow(
            f"{place()}: {task.name}.map(…, {taken[0]}=…) can mean the option of .map and the parameter of "
            f"{task.name!r}: give the parameter by position or with .partial({taken[0]}=…), "
            "and rename it if you need the option",
            code="ambiguous_option",
            task=task.name,
        )
    _check_names(task, named)
    if not lists and not named:
        raise InvalidWorkflow(f"{place()}: {task.name}.map() needs a list to go through", code="not_a_list")
    for name, value in (*enumerate(lists, 1), *named.items()):
        if not isinstance(value, list | tuple | Ref):
            what = f"list {name}" if isinstance(name, int) else repr(name)
            raise InvalidWorkflow(
                f"{place()}: {what} of {task.name}.map(…) is a value of type {type(value).__qualname__}: give a list, "
                f"or what a task returns; an argument that is the same for all items goes to .partial(…)",
                code="not_a_list",
                task=task.name,
            )


def _check_names(task: MappedTask, named: Mapping[str, Any]) -> None:
    parameters = open_signature(task.function).parameters
    if any(each.kind is each.VAR_KEYWORD for each in parameters.values()):
        return
    for name, value in named.items():
        if name not in parameters and not isinstance(value, list | tuple | Ref):
            raise InvalidWorkflow(
                f"{place()}: {task.name}.map(…, {name}=…) is neither an option of .map ({', '.join(OPTIONS)}) nor a "
                f"parameter of {task.name!r}{suggest(name, (*OPTIONS, *parameters))}",
                code="unknown_option",
                task=task.name,
                option=name,
            )


def _piped(
    drawing: GraphBuilder[Any], task: MappedTask, lists: tuple[Any, ...], named: Mapping[str, Any]
) -> tuple[str, ...]:
    """Returns the mapped tasks that are piped into this one: each item waits for the same item of theirs only.

    A trigger rule and ``.after`` refer to the mapped task, not to its items.
    """
    if task.given.get("trigger_rule") is not None:
        return ()
    sources = [source_of(value) for value in (*lists, *named.values()) if isinstance(value, Ref)]
    names = {source.name: None for source in sources if isinstance(source, FromTask) and not source.path}
    whole = drawing.waited_for(task, (*task.fixed_args, *task.fixed_kwargs.values()))
    parts = {source.name for source in sources if isinstance(source, FromTask) and source.path}
    return tuple(name for name in names if drawing.maps(name) and name not in whole and name not in parts)
