"""Resolves templates and contexts: the arguments of a task, and the result of a run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from graphlib import TopologicalSorter
from typing import Any, Final, TypeAlias

import msgspec

from turnout.errors import InvalidInput
from turnout.model.spec import DictOf, FromParam, FromTask, ListOf, Literally, TaskSpec, Template, WorkflowSpec
from turnout.model.states import TaskState


class _NoOutput(Enum):
    ABSENT = "absent"


ABSENT: Final = _NoOutput.ABSENT
"""Returned by ``output_of`` for a task that did not complete: an argument taken from it is None, with any path."""

OutputOf: TypeAlias = Callable[[str], Any]


def resolve(template: Template, params: Mapping[str, Any], output_of: OutputOf) -> Any:
    """Returns the value of the template in one run."""
    # Every argument of every attempt passes here, and a match takes five times as long as these comparisons.
    if type(template) is FromTask:
        name, path = template.name, template.path
        output = output_of(name)
        if output is ABSENT:
            return None
        return _follow(output, path, f"the output of task {name!r}") if path else output
    if type(template) is Literally:
        return _fresh(template.value)
    if type(template) is FromParam:
        name, path = template.name, template.path
        if name not in params:
            raise InvalidInput(f"parameter {name!r} has no value", code="missing_parameter", parameter=name)
        return _follow(params[name], path, f"parameter {name!r}") if path else params[name]
    if isinstance(template, ListOf):
        return [resolve(item, params, output_of) for item in template.items]
    assert isinstance(template, DictOf)
    return {key: resolve(item, params, output_of) for key, item in template.items.items()}


def _fresh(value: Any) -> Any:
    # A copy: a body may change its arguments, and all runs of the workflow share the literal.
    if isinstance(value, dict):
        fields: dict[str, Any] = value
        return {key: _fresh(item) for key, item in fields.items()}
    if isinstance(value, list):
        items: list[Any] = value
        return [_fresh(item) for item in items]
    return value


def _follow(value: Any, path: Sequence[str | int], source: str) -> Any:
    for done, step in enumerate(path):
        match value, step:
            case dict(), str() if step in value:
                value = value[step]
            case list(), int() if -len(value) <= step < len(value):
                value = value[step]
            case _:
                raise InvalidInput(
                    f"{source} has nothing at {_shown(path[: done + 1])}: {_has(value)}",
                    code="missing_path",
                    source=source,
                    path=list(path),
                )
    return value


def _shown(path: Sequence[str | int]) -> str:
    return "".join(f"[{step!r}]" for step in path)


def _has(value: Any) -> str:
    match value:
        case dict():
            return f"there is an object with the keys {', '.join(map(repr, list(value)[:10])) or '(none)'}"
        case list():
            return f"there is a list of {len(value)} items"
        case _:
            return f"there is a value of type {type(value).__name__}"


def parts_of(template: Template) -> Iterator[Literally | FromParam | FromTask]:
    """Yields the template's parts that are not made of other templates, in order."""
    match template:
        case ListOf(items):
            for item in items:
                yield from parts_of(item)
        case DictOf(items):
            for item in items.values():
                yield from parts_of(item)
        case _:
            yield template


def tasks_in(template: Template) -> tuple[str, ...]:
    """Returns the tasks whose output the template takes: each once, in order of appearance."""
    return tuple(dict.fromkeys(part.name for part in parts_of(template) if isinstance(part, FromTask)))


def params_in(template: Template) -> tuple[str, ...]:
    """Returns the parameters that the template takes: each once, in order of appearance."""
    return tuple(dict.fromkeys(part.name for part in parts_of(template) if isinstance(part, FromParam)))


def context_for(spec: WorkflowSpec, task: TaskSpec, input: Mapping[str, Any], output_of: OutputOf) -> dict[str, Any]:
    """Returns the context of a task: the run's input, or the merged contexts of its dependencies.

    A dependency that did not complete passes on the context that it would have got; those that completed override it.
    """
    return _Contexts(spec, input, output_of).after(task.depends_on)


def result_of(
    spec: WorkflowSpec, input: Mapping[str, Any], output_of: OutputOf, states: Mapping[str, TaskState]
) -> Any:
    """Returns the result of the run: the workflow function's value, or in Context style the merge of all leaves."""

    def completed(name: str) -> Any:
        return output_of(name) if states.get(name) is TaskState.COMPLETED else ABSENT

    if not spec.context_style:
        return None if spec.result is None else resolve(spec.result, input, completed)
    inner = {name for task in spec.tasks for name in task.depends_on}
    return _Contexts(spec, input, completed).after(
        [task.name for task in spec.tasks if task.name not in inner and task.hook is None]
    )


class _Contexts:
    """Merges the contexts that tasks return. Outputs that are not objects are ignored."""

    def __init__(self, spec: WorkflowSpec, input: Mapping[str, Any], output_of: OutputOf) -> None:
        self.depends_on = {task.name: task.depends_on for task in spec.tasks}
        self.input = input
        self.output_of = output_of
        self.outputs: dict[str, Any] = {}
        self.passed_on: dict[str, dict[str, Any]] = {}

    def after(self, names: Sequence[str]) -> dict[str, Any]:
        # In topological order, not by recursion: a chain of skipped tasks may be longer than the interpreter's stack.
        for name in self._not_completed(names):
            self.passed_on[name] = self._merge(self.depends_on[name])
        return self._merge(names)

    def _merge(self, names: Sequence[str]) -> dict[str, Any]:
        if not names:
            return dict(self.input)
        passed = [self.passed_on[name] for name in names if name in self.passed_on]
        left = [self._output(name) for name in names if name not in self.passed_on]
        return merge_contexts([*passed, *(each for each in left if isinstance(each, dict))])

    def _not_completed(self, names: Iterable[str]) -> Iterator[str]:
        graph: dict[str, list[str]] = {}
        found = [name for name in names if self._output(name) is ABSENT]
        while found:
            name = found.pop()
            if name not in graph:
                graph[name] = [each for each in self.depends_on[name] if self._output(each) is ABSENT]
                found.extend(graph[name])
        return iter(TopologicalSorter(graph).static_order())

    def _output(self, name: str) -> Any:
        if name not in self.outputs:
            self.outputs[name] = self.output_of(name)
        return self.outputs[name]


def merge_contexts(contexts: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Returns one object: nested objects are merged, lists are joined, and of other values the last one is taken.

    The contexts are not changed. An item that a list already holds is not added to it again.
    """
    merged: dict[str, Any] = {}
    for context in contexts:
        for key, value in context.items():
            merged[key] = _merged(merged[key], value) if key in merged else value
    return merged


def _merged(old: Any, new: Any) -> Any:
    match old, new:
        case dict(), dict():
            return merge_contexts([old, new])
        case list(), list():
            held = {_identity(item) for item in old}
            added: dict[bytes, Any] = {}
            for item in new:
                identity = _identity(item)
                if identity not in held:
                    added.setdefault(identity, item)
            return [*old, *added.values()]
        case _:
            return new


def _identity(item: Any) -> bytes:
    return msgspec.json.encode(item, order="deterministic")
