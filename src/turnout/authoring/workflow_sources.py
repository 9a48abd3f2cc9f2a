"""Builds graphs from their two sources: a function executed with placeholders, and a list of tasks."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import FrameType, MappingProxyType
from typing import Annotated, Any, Protocol, get_args, get_origin

import msgspec

from turnout.authoring.annotations import types_of
from turnout.authoring.graph_builder import GraphBuilder
from turnout.authoring.invocation import open_signature
from turnout.authoring.refs import template_of
from turnout.authoring.task import Task
from turnout.errors import InvalidWorkflow, NotJson, TooLarge
from turnout.model.annotations import TypeAdapter, schema_of
from turnout.model.spec import Param, Template
from turnout.model.types import to_json_value
from turnout.model.values import dump_output

NO_TYPES: Mapping[str, TypeAdapter] = MappingProxyType({})


class Source(Protocol):
    """The source of a workflow's graph, of either style. ``result`` and the types in ``params`` are set by ``draw``."""

    context_style: bool
    params: tuple[Param, ...]
    positional: tuple[str, ...]
    """Names of the parameters that can be given by position."""
    result: Template | None
    ref: str | None
    """``module:qualname`` of the workflow function."""
    home: Mapping[str, Any]
    """The globals of the module that defines it."""
    where: str
    """The place of its definition, for messages."""
    gate: str
    """The task that evaluates the preconditions of a run; empty if there are none."""
    replaceable: bool
    """True if a later source of the same workflow replaces it, as a file that is read again does."""

    @property
    def types(self) -> Mapping[str, TypeAdapter]:
        """The annotations of the workflow function; ``"return"`` is the result's."""
        ...

    def draw(self, drawing: GraphBuilder[Task[..., Any]]) -> None: ...


class FunctionSource:
    """Builds the graph from the calls of tasks in a function; the function's value is the result."""

    context_style = False
    gate = ""
    replaceable = False

    def __init__(self, name: str, function: Callable[..., Any]) -> None:
        self.name = name
        self.function = function
        self.ref: str | None = f"{function.__module__}:{function.__qualname__}"
        self.home: Mapping[str, Any] = getattr(inspect.unwrap(function), "__globals__", {})
        self.where = self.ref
        if inspect.iscoroutinefunction(function) or inspect.isgeneratorfunction(function):
            raise InvalidWorkflow(
                f"workflow {name!r} is async or a generator: write a plain function; its tasks may be async",
                code="async_workflow",
            )
        parameters = inspect.signature(function).parameters.values()
        self.params = tuple(self._param(each) for each in parameters)
        self.positional = tuple(each.name for each in parameters if each.kind is not inspect.Parameter.KEYWORD_ONLY)
        self.result: Template | None = None

    @property
    def types(self) -> Mapping[str, TypeAdapter]:
        return types_of(self.function)

    def draw(self, drawing: GraphBuilder[Task[..., Any]]) -> None:
        # Not in the constructor: when the function is decorated, classes in its annotations may not exist yet.
        self.params = self._described(self.params)
        args: list[Any] = [drawing.parameter(name) for name in self.positional]
        kwargs = {p.name: drawing.parameter(p.name) for p in self.params if p.name not in self.positional}
        with drawing.open():
            returned = self.function(*args, **kwargs)
            self.result = None if returned is None else template_of(returned, drawing, f"the result of {self.name!r}")

    def _param(self, parameter: inspect.Parameter) -> Param:
        if parameter.kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD):
            raise InvalidWorkflow(
                f"workflow {self.name!r} takes *{parameter.name}: a run's input has names, so take a list or a dict",
                code="bad_parameter",
            )
        if parameter.default is inspect.Parameter.empty:
            return Param(parameter.name)
        what = f"the default of parameter {parameter.name!r} of workflow {self.name!r}"
        try:
            default = to_json_value(parameter.default, what)
            dump_output(default, what=what)
        except (NotJson, TooLarge) as error:
            raise InvalidWorkflow(error.message, code=error.code) from error
        return Param(parameter.name, required=False, default=default)

    def _described(self, params: Iterable[Param]) -> tuple[Param, ...]:
        docs, types = parameter_docs(self.function.__doc__), self.types
        return tuple(self._say(param, types.get(param.name), docs.get(param.name, "")) for param in params)

    def _say(self, param: Param, known: TypeAdapter | None, doc: str) -> Param:
        if known is None:
            return msgspec.structs.replace(param, doc=doc)
        annotation = known.annotation
        doc = annotation_doc(annotation) or doc
        return msgspec.structs.replace(param, type=known.text, schema=schema_of(annotation), doc=doc)


class ContextSource:
    """Builds the graph from ``depends_on``; the result is the merge of the contexts of the leaves."""

    context_style = True
    gate = ""
    replaceable = False
    params: tuple[Param, ...] = ()
    positional: tuple[str, ...] = ()
    result: Template | None = None
    ref: str | None = None
    types: Mapping[str, TypeAdapter] = NO_TYPES

    def __init__(self, name: str, tasks: Iterable[Task[..., Any] | Callable[..., Any]], author: FrameType) -> None:
        self.name = name
        self.home: Mapping[str, Any] = author.f_globals
        self.where = f"{author.f_code.co_filename}:{author.f_lineno}"
        self.tasks: tuple[Task[..., Any], ...] = tuple(each if isinstance(each, Task) else Task(each) for each in tasks)

    def draw(self, drawing: GraphBuilder[Task[..., Any]]) -> None:
        for task in self.tasks:
            self._check(task)
            drawing.add(task, self._dependencies(task), uses_context=True)

    def _check(self, task: Task[..., Any]) -> None:
        if task.body.kind != "python":
            return  # a child run takes its parameters from the context by name
        variable = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
        for each in open_signature(task.function).parameters.values():
            if each.default is inspect.Parameter.empty and each.kind not in variable:
                raise InvalidWorkflow(
                    f"task {task.name!r} takes the argument {each.name!r}, but Workflow({self.name!r}, tasks=[…]) "
                    "passes no arguments: annotate it as Context, or write a @workflow function that calls the task",
                    code="mixed_styles",
                    task=task.name,
                )

    def _dependencies(self, task: Task[..., Any]) -> Iterator[str]:
        for other in (*task.depends_on, *task.waits_for):
            if isinstance(other, str):
                yield other
            elif hasattr(other, "__task_name__"):
                yield other.__task_name__
            elif callable(other) and hasattr(other, "__name__"):
                yield other.__name__
            else:
                raise InvalidWorkflow(
                    f"task {task.name!r} depends on {other!r}: give names of tasks, or the tasks themselves",
                    code="unknown_dependency",
                    task=task.name,
                )


_SPHINX = re.compile(r"^:param\s+(?:[^:]+\s)?\*{0,2}(\w+):\s*(.*)$")
_SECTION = re.compile(r"^(Args|Arguments|Parameters|Params):\s*$")
_GOOGLE = re.compile(r"^\*{0,2}(\w+)\s*(?:\([^)]*\))?:\s*(.*)$")


def parameter_docs(docstring: str | None) -> dict[str, str]:
    """Returns texts by parameter, from ``Args:`` sections (Google's style) and ``:param name:`` fields (Sphinx's)."""
    found: dict[str, list[str]] = {}
    if not docstring:
        return {}
    section: int | None = None
    """The indentation of the entries of the current section; -1 before the first one."""
    current: tuple[str, int] | None = None
    for line in inspect.cleandoc(docstring).splitlines():
        text, indent = line.strip(), len(line) - len(line.lstrip())
        sphinx = _SPHINX.match(text)
        if sphinx is not None:
            current, section = (sphinx[1], indent), None
            found[sphinx[1]] = [sphinx[2]]
        elif _SECTION.match(text) and indent == 0:
            section, current = -1, None
        elif not text or (section is not None and indent == 0):
            section, current = (section if not text else None), (current if section is not None and not text else None)
        elif section is not None and section in (-1, indent) and (entry := _GOOGLE.match(text)):
            current, section = (entry[1], indent), indent
            found[entry[1]] = [entry[2]]
        elif current is not None and indent > current[1]:
            found[current[0]].append(text)
    return {name: " ".join(part for part in parts if part) for name, parts in found.items()}


def annotation_doc(annotation: Any) -> str:
    """Returns the text in ``Annotated[int, "how many"]`` or ``Annotated[int, Doc("how many")]``."""
    if get_origin(annotation) is Annotated:
        for remark in get_args(annotation)[1:]:
            text = remark if isinstance(remark, str) else getattr(remark, "documentation", None)
            if isinstance(text, str):
                return text
    return ""
