"""The number of items of a mapped task, and the rows whose outputs a task's call takes."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping
from typing import Any

from turnout.errors import InvalidInput
from turnout.model.bindings import tasks_in
from turnout.model.events import ErrorInfo
from turnout.model.graph import Graph, lists_of
from turnout.model.outputs import Outputs
from turnout.model.spec import FromTask, ListOf, Literally, TaskSpec, Template


def count_items(task: TaskSpec, list_of: Callable[[Template], Any], most: int) -> int | ErrorInfo:
    """How many items the task's lists have, or why they do not fit.

    ``list_of`` gives the value of an argument; for what a mapped task collects, a range of that length will do.
    """
    assert task.map is not None
    sizes: dict[str, int] = {}
    for which, template in zip(task.map.over, lists_of(task), strict=True):
        name = repr(which) if isinstance(which, str) else f"list {which + 1}"
        try:
            found = _literal(template)
            found = list_of(template) if found is None else found
        except InvalidInput as error:
            return _wrong(task, error.code, f"{name}: {error.message}")
        if not isinstance(found, list | range):
            return _wrong(
                task, "not_a_list", f"{name} is a value of type {type(found).__name__}: .map goes through lists"
            )
        sizes[name] = len(found)
    if len(set(sizes.values())) > 1:
        said = ", ".join(f"{name} has {size:,}" for name, size in sizes.items())
        return _wrong(task, "unequal_lists", f"its lists have unequal lengths: {said}")
    count = next(iter(sizes.values()))
    if count > most:
        return _wrong(
            task,
            "too_many_items",
            f"{count:,} items are more than the limit of {most:,} (Limits.map_items): "
            "let an item be a batch, or raise the limit",
        )
    return count


def _literal(template: Template) -> list[Any] | range | None:
    match template:
        case Literally(value):
            return value
        case ListOf(items):
            return range(len(items))
        case _:
            return None


def _wrong(task: TaskSpec, code: str, why: str) -> ErrorInfo:
    kinds = ("turnout.errors.InvalidInput",)
    return ErrorInfo("InvalidInput", f"{task.name}.map: {why}", mro=kinds, code=code)


def arguments_of(task: TaskSpec) -> Iterator[tuple[int | str, Template]]:
    """Every argument with its position or name."""
    yield from enumerate(task.args)
    yield from task.kwargs.items()


def rows_near(graph: Graph, items: Mapping[int, range], pos: int) -> list[int]:
    """The rows that have to be known to call the task at this position: its own, the graph's, and those of items."""
    near = dict.fromkeys((*range(len(graph.tasks)), pos))
    group = next((group for group, some in items.items() if pos in some), None)
    if group is None:
        for source in graph.sources(pos):
            near.update(dict.fromkeys(items.get(source, ())))
        return list(near)
    task, index = graph.tasks[group], pos - items[group].start
    for which, template in arguments_of(task):
        whole = not (isinstance(template, FromTask) and not template.path and task.map and which in task.map.over)
        for name in tasks_in(template):
            some = items.get(graph.position[name], range(0))
            near.update(dict.fromkeys(some if whole or not some else [some[index]]))
    return list(near)


def texts_for_item(outputs: Outputs, group: int, index: int, have: Container[int | str]) -> list[int]:
    """The rows whose outputs the call of this item takes; the lists of the arguments in ``have`` are there already."""
    graph, task = outputs.graph, outputs.graph.tasks[group]
    assert task.map is not None
    found: dict[int, None] = {}
    for which, template in arguments_of(task):
        part = template
        if which in task.map.over:
            if which in have:
                continue
            item = piped_item(outputs, template, index)
            if item is not None:
                found.update({item: None} if outputs.completed(item) else {})
                continue
            part = template.items[index] if isinstance(template, ListOf) else template
        for name in tasks_in(part):
            pos = graph.position[name]
            found.update(dict.fromkeys(outputs.behind(pos) if outputs.completed(pos) else ()))
    return list(found)


def piped_item(outputs: Outputs, template: Template, index: int) -> int | None:
    """Where the item is that this item takes, if the list is just what a mapped task collects."""
    if isinstance(template, FromTask) and not template.path:
        items = outputs.items.get(outputs.graph.position[template.name])
        return None if items is None else items[index]
    return None
