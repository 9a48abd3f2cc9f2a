"""Limits as they are declared: sizes, names with parameters, and what is wrong with them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from turnout import Limit, Workflow, task, workflow
from turnout.errors import InvalidLimit, InvalidWorkflow
from turnout.model.limits import LimitSize, LimitSpec, check_known, resolved, shown_size, smallest


@task
def work(customer: str) -> str:
    return customer


def declared(**options: Any) -> Workflow[..., Any]:
    @workflow(**options)
    def limited(customer: str, order: dict[str, Any] | None = None) -> str:
        return work(customer)

    return limited


def test_a_workflow_declares_limits_a_queue_and_its_own_bounds() -> None:
    spec = declared(
        limits=[Limit("customer-${customer}", at_most=3), "database"],
        max_active_runs=1,
        max_active_steps=4,
        queue="nightly",
        priority=7,
    ).spec
    assert spec.limits == (LimitSpec("customer-${customer}", 3), LimitSpec("database"))
    assert [limit.name for limit in spec.run_limits] == [
        "customer-${customer}",
        "database",
        "queue:nightly",
        "workflow:public::embedded::limited",
    ]
    assert (spec.max_active_steps, spec.priority) == (4, 7)


def test_a_workflow_without_limits_has_the_version_that_it_had() -> None:
    assert "limits" not in str(declared().spec) or declared().spec.run_limits == ()


@pytest.mark.parametrize("per", [60, "1m", timedelta(minutes=1)])
def test_the_period_of_a_rate_is_a_duration(per: Any) -> None:
    assert declared(limits=Limit("mail", rate=10, per=per)).spec.limits == (LimitSpec("mail", None, 10, 60.0),)


@pytest.mark.parametrize(
    ("options", "code", "word"),
    [
        ({"limits": [Limit("a", at_most=0)]}, "bad_limit", "at_most"),
        ({"limits": [Limit("a", at_most=-1)]}, "bad_limit", "from 1 to 1,000,000"),
        ({"limits": [Limit("a", rate=0)]}, "bad_limit", "rate"),
        ({"limits": [Limit("a", rate=1, per=0)]}, "bad_limit", "per"),
        ({"limits": [Limit("a", at_most=True)]}, "bad_limit", "True"),
        ({"limits": [Limit("")]}, "bad_limit", "name"),
        ({"limits": [Limit("a", at_most=1), Limit("a", at_most=2)]}, "bad_limit", "twice"),
        ({"limits": [Limit("${env.HOME}-$(rm)", at_most=1)]}, "unknown_parameter", "env"),
        ({"limits": [Limit("${1x}", at_most=1)]}, "bad_limit", "not a parameter"),
        ({"limits": [Limit("${custmer}", at_most=1)]}, "unknown_parameter", "did you mean 'customer'"),
        ({"limits": [Limit("queue:a", at_most=1)]}, "bad_limit", "as the limits do"),
        ({"limits": [3]}, "bad_limit", "3"),
        ({"limits": [Limit(f"l{n}", at_most=1) for n in range(17)]}, "bad_limit", "16"),
        ({"limits": [Limit("a\0b", at_most=1)]}, "text_nul", "NUL"),
        ({"max_active_runs": 0}, "bad_limit", "max_active_runs"),
        ({"max_active_steps": 1.5}, "bad_limit", "1.5"),
        ({"queue": "a b"}, "bad_identifier", "queue"),
        ({"priority": "high"}, "bad_priority", "high"),
    ],
)
def test_a_limit_that_cannot_work_is_refused(options: dict[str, Any], code: str, word: str) -> None:
    with pytest.raises(InvalidWorkflow) as raised:
        _ = declared(**options).spec
    assert raised.value.code == code and word in raised.value.message


def test_a_child_run_has_the_limits_of_its_own_workflow_only() -> None:
    child = declared()

    @workflow
    def parent(customer: str) -> str:
        return child.options(limits=[Limit("a", at_most=1)])(customer)

    with pytest.raises(InvalidWorkflow, match="give them to the workflow") as raised:
        _ = parent.spec
    assert raised.value.code == "bad_limit"


@pytest.mark.parametrize(
    ("name", "input", "expected"),
    [
        ("database", {}, "database"),
        ("c-${customer}", {"customer": "acme"}, "c-acme"),
        ("c-${params.customer}", {"customer": 17}, "c-17"),
        ("c-${customer}-${order.id}", {"customer": "a", "order": {"id": 3}}, "c-a-3"),
        ("c-${order.lines[1]}", {"order": {"lines": ["x", "y"]}}, "c-y"),
        ("c-${customer}", {"customer": False}, "c-false"),
        ("c-${customer}", {"customer": "${order}"}, "c-${order}"),
    ],
)
def test_parameters_of_a_run_make_the_name(name: str, input: dict[str, Any], expected: str) -> None:
    assert [use.name for use in resolved([LimitSpec(name, 1)], input, "workflow 'a'")] == [expected]


@pytest.mark.parametrize(
    "input", [{}, {"customer": None}, {"customer": ""}, {"customer": "  "}, {"customer": {"a": 1}}, {"customer": []}]
)
def test_a_name_without_a_value_is_refused(input: dict[str, Any]) -> None:
    with pytest.raises(InvalidLimit) as raised:
        resolved([LimitSpec("c-${customer}", 1)], input, "workflow 'a'")
    assert raised.value.code == "no_limit_key" and "${customer}" in raised.value.message


def test_a_name_that_is_too_long_is_refused() -> None:
    with pytest.raises(InvalidLimit) as raised:
        resolved([LimitSpec("c-${customer}", 1)], {"customer": "x" * 500}, "workflow 'a'")
    assert raised.value.code == "text_too_long"


def test_a_limit_needs_a_size_somewhere() -> None:
    check_known([LimitSpec("database"), LimitSpec("other", 1)], {"database": LimitSize(1)}, "workflow 'a'")
    with pytest.raises(InvalidLimit, match="did you mean 'database'") as raised:
        check_known([LimitSpec("databse")], {"database": LimitSize(1)}, "workflow 'a'")
    assert raised.value.code == "unknown_limit"
    with pytest.raises(InvalidLimit, match=r"\[queues.nightly\]") as raised:
        check_known([LimitSpec("queue:nightly")], {"queue:nightlies": LimitSize(1)}, "workflow 'a'")
    assert raised.value.code == "unknown_queue"


def test_the_smallest_of_several_sizes() -> None:
    sizes = [LimitSize(3), LimitSize(5, 10, 60.0), LimitSize(None, 1, 1.0)]
    assert smallest(sizes) == LimitSize(3, 10, 60.0)
    assert smallest([]) == LimitSize() and shown_size(LimitSize()) == "no size"
