"""How many items mapped tasks of a rerun have, as far as it is known before their lists are made."""

from __future__ import annotations

from typing import Any

import msgspec
from kit.runs import graph_of, task

from turnout.model.rerun_items import ItemCount, items_again
from turnout.model.spec import FromParam, FromTask, ListOf, Literally, Mapped, TaskSpec, Template

ROWS = {1: range(2, 7)}
"""Five items of the task at position 1."""


def each(source: Template, *depends_on: str) -> TaskSpec:
    return msgspec.structs.replace(task("each", *depends_on), args=(source,), map=Mapped(over=(0,)))


def counted(source: Template, again: set[int], rows: dict[int, range] = ROWS, **input: Any) -> ItemCount | None:
    graph = graph_of(task("a"), each(source, "a"))
    return items_again(graph, rows, graph, input, again).get(1)


def test_a_reused_list_has_the_items_of_before() -> None:
    assert counted(FromTask("a"), {1}) == ItemCount(5)


def test_a_list_that_is_made_anew_may_have_others() -> None:
    assert counted(FromTask("a"), {0, 1}) == ItemCount(5, known=False)
    assert counted(FromTask("a"), {0, 1}, {}) is None


def test_a_list_of_the_input_is_counted_in_the_new_one() -> None:
    assert counted(FromParam("rows"), {1}, rows=ROWS) == ItemCount(5, known=False), "the parameter has no value"
    graph = graph_of(task("a"), each(FromParam("names"), "a"))
    assert items_again(graph, ROWS, graph, {"names": [1, 2]}, {1}) == {1: ItemCount(2)}
    assert items_again(graph, {}, graph, {"names": "text"}, {1}) == {}


def test_a_list_in_the_workflow_is_counted_there() -> None:
    assert counted(Literally([1, 2, 3]), {1}, {}) == ItemCount(3)
    assert counted(ListOf((FromTask("a"), Literally(1))), {0, 1}, {}) == ItemCount(2)


def test_a_task_that_is_reused_or_maps_other_lists_now_is_not_taken_for_the_old_one() -> None:
    assert counted(FromTask("a"), set()) is None
    old = graph_of(task("a"), each(FromTask("a"), "a"))
    new = graph_of(task("a"), each(FromTask("a", ("rows",)), "a"))
    assert items_again(old, ROWS, new, {}, {1}) == {1: ItemCount(5, known=False)}
