"""Invocation: parameters annotated TaskInfo or Context are filled, whatever their names and positions."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated, Any, Optional

import pytest

import turnout
from turnout import Context, TaskInfo
from turnout.authoring.invocation import caller, open_signature, slots_of
from turnout.errors import PermanentFailure
from turnout.model.events import TaskReadyEvent
from turnout.model.info import info_of

if TYPE_CHECKING:
    from turnout import TaskInfo as Hidden  # noqa: F401

EVENT = TaskReadyEvent(run_id="r", task_id="r.0", task_name="public::embedded::w::t", attempt=1, max_attempts=1)
INFO = info_of(EVENT)


def outcome(body: Any, *args: Any, context: dict[str, Any] | None = None, **kwargs: Any) -> Any:
    invoke = caller(body, args, kwargs, context)
    returned = body(*args, **kwargs) if invoke is None else invoke(INFO)()
    return asyncio.run(returned) if asyncio.iscoroutine(returned) else returned


def first(who: TaskInfo, a: int, b: int = 2) -> Any:
    return who, a, b


def middle(a: int, who: TaskInfo, b: int = 2) -> Any:
    return who, a, b


def last(a: int, b: int = 2, *, who: TaskInfo) -> Any:
    return who, a, b


def optional(a: int, b: int = 2, who: Optional[TaskInfo] = None) -> Any:  # noqa: UP045
    return who, a, b


def union(a: int, b: int = 2, who: TaskInfo | None = None) -> Any:
    return who, a, b


def annotated(a: int, who: Annotated[TaskInfo, "x"], b: int = 2) -> Any:
    return who, a, b


def dotted(a: int, who: turnout.TaskInfo, b: int = 2) -> Any:
    return who, a, b


@pytest.mark.parametrize("body", [first, middle, last, optional, union, annotated, dotted])
def test_the_info_arrives_wherever_the_parameter_stands(body: Any) -> None:
    assert outcome(body, 1) == (INFO, 1, 2)
    assert outcome(body, 1, 5) == (INFO, 1, 5)
    assert outcome(body, a=1, b=5) == (INFO, 1, 5)
    assert list(open_signature(body).parameters) == ["a", "b"]


def test_an_annotation_that_exists_only_for_the_checker_counts_too() -> None:
    body: Any = eval("lambda info: info")
    body.__annotations__ = {"info": "TaskInfo"}
    assert outcome(body) is INFO


def test_never_by_name() -> None:
    def body(info: int, context: int = 3) -> Any:
        return info, context

    assert slots_of(body) == ()
    assert outcome(body, 1) == (1, 3)
    assert caller(body, (1,), {}) is None, "nothing to do: the executor calls the body itself"


def test_an_unresolvable_annotation_is_just_a_parameter() -> None:
    body: Any = eval("lambda a: a")
    body.__annotations__ = {"a": "No.Such.Thing"}
    assert outcome(body, 4) == 4


def mutates(box: Context) -> None:
    box["n"] += 1
    box["inner"]["x"] = 2


def returns(box: Context) -> dict[str, Any]:
    return {"n": box["n"] + 1}


def without() -> dict[str, Any]:
    return {"n": 5}


async def later(box: Context, info: TaskInfo) -> Context:
    box["n"] = info.attempt
    return box


@pytest.mark.parametrize(
    ("body", "left"),
    [
        (mutates, {"n": 2, "inner": {"x": 2}}),
        (returns, {"n": 2, "inner": {}}),
        (without, {"n": 5, "inner": {}}),
        (later, {"n": 1, "inner": {}}),
    ],
)
def test_a_task_leaves_its_context_with_what_it_returned_set_over_it(body: Any, left: dict[str, Any]) -> None:
    context: dict[str, Any] = {"n": 1, "inner": {}}
    found = outcome(body, context=context)
    assert found == left
    assert type(found) is dict
    assert context == {"n": 1, "inner": {}}, "the next attempt starts from the same context"


def test_a_task_in_context_style_that_returns_something_else_fails_for_good() -> None:
    def body(box: Context) -> int:
        return 5

    with pytest.raises(PermanentFailure, match="int"):
        outcome(body, context={})
