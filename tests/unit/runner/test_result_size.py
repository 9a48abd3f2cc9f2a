"""The size of a result is bounded by what it is made from, and never read."""

from __future__ import annotations

from typing import Any, cast

import msgspec
import pytest
from kit.runs import graph_of, task

from turnout.contracts.store import Store
from turnout.model.bindings import resolve
from turnout.model.graph import Graph
from turnout.model.rows import NewRun, RunRow, StoredRun
from turnout.model.spec import DictOf, FromParam, FromTask, ListOf, Literally, Template
from turnout.model.states import RunState
from turnout.runner.result_size import plain_result, result_bytes

OUTPUTS: dict[str, Any] = {"a": {"rows": [1, 2, 3]}, "b": "text"}
INPUT = {"n": [1, 2]}


class Sizes:
    """A store that has the sizes of outputs and nothing else."""

    def output_sizes(self, run_id: str, positions: list[int]) -> dict[int, int]:
        return {pos: len(msgspec.json.encode(OUTPUTS["ab"[pos]])) for pos in positions}


def size_of(result: Template | None, state: RunState = RunState.COMPLETED) -> int | None:
    new = NewRun(run_id="r", workflow="w", version="1", input=msgspec.json.encode(INPUT).decode(), created_at=0.0)
    run = StoredRun(new=new, row=RunRow(state=state), owner=None, epoch=1, seq=1, age=0.0)
    return result_bytes(cast("Store", Sizes()), run, with_result(result))


def with_result(result: Template | None) -> Graph:
    graph = graph_of(task("a"), task("b"))
    return Graph(msgspec.structs.replace(graph.spec, result=result))


@pytest.mark.parametrize("result", [FromTask("a"), FromTask("b"), Literally({"x": 1})])
def test_the_output_of_one_task_is_measured_exactly(result: Template) -> None:
    assert size_of(result) == len(msgspec.json.encode(resolve(result, INPUT, OUTPUTS.__getitem__)))


@pytest.mark.parametrize(
    "result",
    [
        FromTask("a", ("rows",)),
        FromParam("n"),
        ListOf((FromTask("a"), FromTask("b"), FromTask("b"))),
        DictOf({"first": FromTask("a"), "more": ListOf((FromParam("n"), Literally(None)))}),
        DictOf({}),
    ],
)
def test_what_is_made_of_several_is_bounded(result: Template) -> None:
    real = len(msgspec.json.encode(resolve(result, INPUT, OUTPUTS.__getitem__)))
    bound = size_of(result)
    assert bound is not None and real <= bound <= real + 30


def test_a_run_without_a_result_has_no_size() -> None:
    assert size_of(FromTask("a"), RunState.FAILED) is None
    assert size_of(None) == len("null")


def test_a_result_is_served_as_it_is_stored_if_it_is_the_whole_output_of_a_task() -> None:
    assert plain_result(with_result(FromTask("b"))) == 1
    assert plain_result(with_result(FromTask("b", ("x",)))) is None
    assert plain_result(with_result(Literally(1))) is None
