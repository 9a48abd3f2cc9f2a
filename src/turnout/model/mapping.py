"""Assembles the values of tasks from rows, counts the items of mapped tasks, and finds the rows that a call needs.

The list of a mapped task is not stored: its row has the number of items, and the list is built from the items' rows.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from turnout.errors import InvalidInput
from turnout.model.bindings import ABSENT, tasks_in
from turnout.model.events import ErrorInfo
from turnout.model.graph import Graph, lists_of
from turnout.model.reasons import ITEMS_FAILED
from turnout.model.rows import TaskRow
from turnout.model.spec import FromTask, ListOf, Literally, TaskSpec, Template
from turnout.model.states import TaskState

_decode = msgspec.json.Decoder().decode


class Outputs(NamedTuple):
    """Assembles the values of one run's tasks from its rows."""

    graph: Graph
    row_of: Callable[[int], TaskRow]
    items: Mapping[int, range]
    """The positions of the items of each mapped task, by its position."""

    def completed(self, pos: int) -> bool:
        return self.row_of(pos).state is TaskState.COMPLETED

    def has_value(self, pos: int) -> bool:
        """True if a task of the graph completed, or is a mapped one whose failed items are tolerated."""
        return self.completed(pos) or self._tolerates_items(pos)

    def _tolerates_items(self, pos: int) -> bool:
        if pos not in self.graph.mapped:
            return False
        row, on = self.row_of(pos), self.graph.tasks[pos].continue_on
        return on is not None and on.failure and row.state is TaskState.FAILED and row.reason == ITEMS_FAILED

    def behind(self, pos: int) -> Sequence[int]:
        """Returns the rows whose outputs make up the value of a task of the graph that has one."""
        if pos not in self.graph.mapped:
            return (pos,)
        return [each for each in self.items.get(pos, ()) if self.completed(each)]

    def value(self, pos: int, texts: Mapping[int, str]) -> Any:
        """Returns the value of a task of the graph; ABSENT if it has none. ``texts``: outputs by position."""
        if self._tolerates_items(pos):
            return [_decode(texts[each]) if self.completed(each) else None for each in self.items.get(pos, ())]
        if not self.completed(pos):
            return failed_result(self.graph.tasks[pos], self.row_of(pos))
        if pos not in self.graph.mapped:
            return _decode(texts[pos])
        return [self.item(each, texts) for each in self.items.get(pos, ())]

    def item(self, pos: int, texts: Mapping[int, str]) -> Any:
        """Returns the value of an item that has ended: its output, or its error as an object."""
        row = self.row_of(pos)
        if row.state is TaskState.COMPLETED:
            return _decode(texts[pos])
        return {"type": row.error.type, "message": row.error.message} if row.error is not None else None


def failed_result(task: TaskSpec, row: TaskRow) -> Any:
    """Returns what is known of a step that failed by its exit code, after which its dependents may run; else ABSENT."""
    code = row.error.exit_code if row.error is not None and row.state is TaskState.FAILED else None
    if code is None or task.body.step is None:
        return ABSENT
    return {**dict.fromkeys(("stdout", "stderr", "output", "status")), "exit_code": code}


def items_of(rows: Iterable[TaskRow]) -> dict[int, range]:
    """Returns the positions of each mapped task's items. They were added together, so these are consecutive."""
    found: dict[int, range] = {}
    for row in rows:
        if row.group is not None:
            known = found.get(row.group)
            found[row.group] = range(known.start, row.pos + 1) if known else range(row.pos, row.pos + 1)
    return found


def count_items(task: TaskSpec, list_of: Callable[[Template], Any], most: int) -> int | ErrorInfo:
    """Returns the number of items of the task's lists, or the error if they are not lists of one length.

    ``list_of`` returns the value of an argument; for the list of a mapped task, a range of its length suffices.
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
        lengths = ", ".join(f"{name} has {size:,}" for name, size in sizes.items())
        return _wrong(task, "unequal_lists", f"its lists have unequal lengths: {lengths}")
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
    """Yields every argument with its position or name."""
    yield from enumerate(task.args)
    yield from task.kwargs.items()


def rows_near(graph: Graph, items: Mapping[int, range], pos: int) -> list[int]:
    """Returns the rows that a call of the task needs: its own, those of the graph, and those of items that it takes."""
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
    """Returns the rows whose outputs the call of this item needs. The lists of arguments in ``have`` are not needed."""
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
            found.update(dict.fromkeys(outputs.behind(pos) if outputs.has_value(pos) else ()))
    return list(found)


def piped_item(outputs: Outputs, template: Template, index: int) -> int | None:
    """Returns the position of the item that is piped into this item; None if the list is not that of a mapped task."""
    if isinstance(template, FromTask) and not template.path:
        items = outputs.items.get(outputs.graph.position[template.name])
        return None if items is None else items[index]
    return None
