"""Validation: each thing that cannot work has its code, and a message that names it."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnout.errors import InvalidWorkflow
from turnout.model.retry import RetryPolicy
from turnout.model.rules import ContextValue, all_, context_value, task_failed, task_success
from turnout.model.spec import (
    Body,
    DictOf,
    FromParam,
    FromTask,
    ListOf,
    Literally,
    Param,
    TaskSpec,
    WorkflowSpec,
)
from turnout.model.validation import validate

BODY = Body("python", "m:f")


def task(name: str, *depends_on: str, **more: Any) -> TaskSpec:
    return TaskSpec(name, BODY, depends_on=depends_on, **more)


def flow(*tasks: TaskSpec, **more: Any) -> WorkflowSpec:
    return WorkflowSpec(more.pop("name", "w"), tasks, **more)


@pytest.mark.parametrize(
    ("spec", "code", "says"),
    [
        (flow(), "empty_workflow", "'w'"),
        (flow(task("a", "b"), task("b", "a")), "cycle", "a → b → a"),
        (flow(task("a", "a")), "cycle", "a → a"),
        (flow(task("a", "b"), task("b", "c"), task("c", "a")), "cycle", "→"),
        (flow(task("charge"), task("ship", "chrage")), "unknown_dependency", "did you mean 'charge'"),
        (flow(task("a"), task("a")), "duplicate_task", "'a'"),
        (flow(task("a b")), "bad_identifier", "'a b'"),
        (flow(task("")), "bad_identifier", "''"),
        (flow(task("a"), name="1w"), "bad_identifier", "'1w'"),
        (flow(task("a"), package="a::b"), "bad_identifier", "'a::b'"),
        (flow(task("a", full_name="x::::a")), "bad_identifier", "x::::a"),
        (flow(task("a"), params=(Param("p"), Param("p"))), "duplicate_parameter", "'p'"),
        (flow(task("a"), task("b", rule=task_success("a"))), "rule_task", "not one of its dependencies"),
        (flow(task("a"), task("b", "a", rule=task_failed("aa"))), "rule_task", "did you mean 'a'"),
        (flow(task("a", rule=ContextValue("k", ">=", 1))), "rule_op", "'>='"),  # pyright: ignore[reportArgumentType]
        (flow(task("a", rule=all_(context_value("k", "==", 1j)))), "not_json", "complex"),
        (flow(task("a", retry=RetryPolicy(attempts=0))), "bad_retry", "retries"),
        (flow(task("a", retry=RetryPolicy(delay=-1))), "bad_retry", "delay"),
        (flow(task("a", retry=RetryPolicy(delay=float("nan")))), "bad_retry", "delay"),
        (flow(task("a", retry=RetryPolicy(max_delay=-1))), "bad_retry", "max_delay"),
        (flow(task("a", retry=RetryPolicy(jitter=1.5))), "bad_retry", "jitter"),
        (flow(task("a", retry=RetryPolicy(backoff="quadratic"))), "bad_retry", "backoff"),  # pyright: ignore
        (flow(task("a", retry=RetryPolicy(attempts=2), at_most_once=True)), "bad_retry", "at_most_once"),
        (flow(task("a", timeout=-1)), "bad_timeout", "-1"),
        (flow(task("a", timeout=0)), "bad_timeout", "0"),
        (flow(task("a"), timeout=-2.5), "bad_timeout", "-2.5"),
        (flow(task("a", priority=10**9)), "bad_priority", "1000000000"),
        (flow(task("a", worker_selector="lokal")), "bad_worker_selector", "'lokal'"),
        (flow(task("a", worker_selector={"gpu": True})), "bad_worker_selector", "True"),
        (flow(task("a"), worker_selector={}), "bad_worker_selector", "{}"),
        (flow(task("a"), result=FromTask("b")), "unknown_dependency", "the result of workflow 'w'"),
        (flow(task("a"), result=ListOf((FromParam("p"),))), "unknown_parameter", "'p'"),
        (flow(task("a"), task("b", args=(FromTask("a"),))), "missing_dependency", "'a'"),
        (flow(task("b", kwargs={"x": DictOf({"k": FromTask("zzz")})})), "unknown_dependency", "'zzz'"),
        (flow(task("a", uses_context=True)), "mixed_styles", "Context"),
        (flow(task("a", args=(Literally(1),)), context_style=True), "mixed_styles", "arguments"),
    ],
)
def test_what_cannot_work_is_refused_with_its_code_and_name(spec: WorkflowSpec, code: str, says: str) -> None:
    with pytest.raises(InvalidWorkflow) as caught:
        validate(spec)
    assert caught.value.code == code
    assert says in caught.value.message


def test_a_workflow_that_uses_everything_is_accepted_and_survives_json() -> None:
    spec = flow(
        task("a", retry=RetryPolicy(3, "exponential", 1.0, 60.0, 0.5, ("a.B",), ("KeyError",)), timeout=5.0),
        task("b", "a", args=(FromTask("a", ("x", 0)), Literally({"k": [1]})), worker_selector={"gpu": "true"}),
        task(
            "c",
            "a",
            "b",
            rule=all_(task_failed("a"), context_value("n", ">", 3)),
            kwargs={"p": FromParam("p")},
            worker_selector="local",
            executor="process",
            at_most_once=True,
        ),
        params=(Param("p"), Param("q", required=False, default=[1])),
        result=DictOf({"one": FromTask("c"), "two": ListOf((FromTask("b"), Literally(None)))}),
        timeout=3600.0,
    )
    validate(spec)
    again = msgspec.json.decode(msgspec.json.encode(spec), type=WorkflowSpec)
    assert again == spec
    assert again.version() == spec.version()
    assert flow(task("a")).version() != flow(task("b")).version()


@given(st.integers(1, 30).flatmap(lambda n: st.lists(st.tuples(st.integers(0, n), st.integers(0, n)), max_size=60)))
def test_a_graph_is_refused_exactly_if_it_has_a_cycle_and_the_path_named_is_one(edges: list[tuple[int, int]]) -> None:
    nodes = {node for edge in edges for node in edge} | {0}
    before: dict[int, set[int]] = {node: {a for a, b in edges if b == node} for node in nodes}
    spec = flow(*(task(f"t{node}", *(f"t{a}" for a in sorted(before[node]))) for node in sorted(nodes)))
    left = dict(before)
    while free := [node for node, needs in left.items() if not needs & left.keys()]:
        for node in free:
            del left[node]
    if not left:
        validate(spec)
        return
    with pytest.raises(InvalidWorkflow) as caught:
        validate(spec)
    path = [int(name[1:]) for name in caught.value.fields["path"]]
    assert path[0] == path[-1]
    assert all(one in before[two] for one, two in pairwise(path))
