"""What does ``f.map(items)`` draw? One node whose items are found at run time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from turnout.authoring.graph_builder import DrawnTask, GraphBuilder, current_drawing
from turnout.authoring.invocation import open_signature
from turnout.authoring.refs import Ref, source_of
from turnout.authoring.source_location import place
from turnout.errors import InvalidWorkflow
from turnout.model.spec import FromTask, Mapped
from turnout.model.suggestions import close

OPTIONS = ("max_parallel", "return_exceptions")


class MappedTask(DrawnTask, Protocol):
    """What a mapped node is made from: a task with the arguments that are the same for all items."""

    @property
    def fixed_args(self) -> tuple[Any, ...]: ...

    @property
    def fixed_kwargs(self) -> Mapping[str, Any]: ...

    @property
    def given(self) -> Mapping[str, Any]: ...


def draw_map(task: MappedTask, lists: tuple[Any, ...], named: Mapping[str, Any], options: Mapping[str, Any]) -> Ref:
    """Add the mapped task to the workflow that is being drawn; the placeholder stands for the list of results."""
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
                f"parameter of {task.name!r}{close(name, (*OPTIONS, *parameters))}",
                code="unknown_option",
                task=task.name,
                option=name,
            )


def _piped(
    drawing: GraphBuilder[Any], task: MappedTask, lists: tuple[Any, ...], named: Mapping[str, Any]
) -> tuple[str, ...]:
    """The mapped tasks whose results are only gone through here: item follows item, without waiting for the whole.

    A trigger rule asks how the whole has ended, and whoever says ``.after`` means the whole, too.
    """
    if task.given.get("trigger_rule") is not None:
        return ()
    sources = [source_of(value) for value in (*lists, *named.values()) if isinstance(value, Ref)]
    names = {source.name: None for source in sources if isinstance(source, FromTask) and not source.path}
    whole = drawing.waited_for(task, (*task.fixed_args, *task.fixed_kwargs.values()))
    parts = {source.name for source in sources if isinstance(source, FromTask) and source.path}
    return tuple(name for name in names if drawing.maps(name) and name not in whole and name not in parts)
