"""Adds the hooks that a workflow and its tasks name to the graph."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn, get_args

import msgspec

from turnout.authoring.graph_builder import GraphBuilder
from turnout.authoring.invocation import open_signature
from turnout.authoring.task import Task
from turnout.errors import InvalidWorkflow
from turnout.model.names import hook_name
from turnout.model.spec import Hook, HookedOn


def add_hooks(drawing: GraphBuilder[Task[..., Any]], of_workflow: Mapping[str, Any]) -> None:
    """Adds the hooks of all tasks of the graph, and of the workflow, after the other nodes."""
    owners = [(f"task {name!r}", name, task.given) for name, task in drawing.tasks.items()]
    for owner, of, options in (*owners, (f"workflow {drawing.workflow!r}", "", of_workflow)):
        for on in get_args(HookedOn):
            given = options.get(f"on_{on}")
            for hook in _tasks(given, f"on_{on} of {owner}"):
                _add(drawing, hook, on, of, f"on_{on} of {owner}")


def _tasks(given: Any, what: str) -> list[Task[..., Any]]:
    if given is None:
        return []
    many: Sequence[Any] = given if isinstance(given, list | tuple) else (given,)
    for each in many:
        if not (inspect.isroutine(each) or (isinstance(each, Task) and each.body.kind != "workflow")):
            _refuse(f"{what} is {each!r}: give a task, or a list of tasks")
    return [each if isinstance(each, Task) else Task(each) for each in many]


def _add(drawing: GraphBuilder[Task[..., Any]], task: Task[..., Any], on: HookedOn, of: str, what: str) -> None:
    base = hook_name(on, task.name, of)
    name, count = base, 1
    while name in drawing.specs:
        count += 1
        name = f"{base}-{count}"
    hook = Hook(on, of, takes_outcome=_takes_outcome(task, what))
    drawing.specs[name] = msgspec.structs.replace(task.spec(name), hook=hook)
    drawing.tasks[name] = task


def _takes_outcome(task: Task[..., Any], what: str) -> bool:
    for option in ("trigger_rule", "depends_on", "on_success", "on_failure", "on_cancel", "on_exit"):
        if task.given.get(option):
            _refuse(f"{what} is task {task.name!r}, which has the option {option}: a hook is called by an end only")
    if task.waits_for:
        _refuse(f"{what} is task {task.name!r} with .after(…): a hook is called by an end only")
    if task.uses_context:
        _refuse(f"{what} is task {task.name!r}, which takes a Context: a hook takes the outcome, or nothing")
    parameters = list(open_signature(task.function).parameters.values())
    needed = [each for each in parameters if each.default is inspect.Parameter.empty and each.kind not in _VARIABLE]
    by_name = [each.name for each in needed if each.kind is inspect.Parameter.KEYWORD_ONLY]
    if len(needed) > 1 or by_name:
        _refuse(
            f"{what} is task {task.name!r}, which takes {', '.join(repr(each.name) for each in needed)}: "
            "a hook takes one argument, the outcome, or none"
        )
    return any(each.kind in _POSITIONAL for each in parameters)


_VARIABLE = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
_POSITIONAL = (
    inspect.Parameter.POSITIONAL_ONLY,
    inspect.Parameter.POSITIONAL_OR_KEYWORD,
    inspect.Parameter.VAR_POSITIONAL,
)


def _refuse(message: str) -> NoReturn:
    raise InvalidWorkflow(message, code="bad_hook")
