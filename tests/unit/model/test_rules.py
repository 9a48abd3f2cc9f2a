"""Trigger rules: what they mean, what they mention, and that they survive JSON."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnout.model.rules import (
    Accepted,
    All,
    AnyOf,
    ContextValue,
    NoneOf,
    Rule,
    all_,
    always,
    any_,
    context_value,
    default_rule,
    evaluate,
    names_failures,
    names_in,
    needs_context,
    none_,
    task_failed,
    task_skipped,
    task_success,
)
from turnout.model.states import TaskState

TASKS = ("a", "b", "c")
OPS = ("==", "!=", ">", "<", "contains", "not_contains", "exists", "not_exists")
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats(-9, 9) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3),
    max_leaves=5,
)
leaf_rules: st.SearchStrategy[Rule] = st.one_of(
    st.just(always()),
    st.builds(task_success, st.sampled_from(TASKS)),
    st.builds(task_failed, st.sampled_from(TASKS)),
    st.builds(task_skipped, st.sampled_from(TASKS)),
    st.builds(ContextValue, st.sampled_from("xy"), st.sampled_from(OPS), json_values),
)
rules: st.SearchStrategy[Rule] = st.recursive(
    leaf_rules,
    lambda inner: st.builds(
        lambda kind, some: kind(tuple(some)), st.sampled_from([All, AnyOf, NoneOf]), st.lists(inner, max_size=3)
    ),
    max_leaves=8,
)
states = st.dictionaries(st.sampled_from(TASKS), st.sampled_from(list(TaskState)))
contexts = st.dictionaries(st.sampled_from("xy"), json_values, max_size=2)


@given(rules, states, contexts)
def test_every_rule_gives_a_boolean_whatever_the_values(rule: Rule, ends: dict[str, TaskState], context: Any) -> None:
    assert evaluate(rule, ends, context) in (True, False)


@given(rules)
def test_a_rule_survives_json(rule: Rule) -> None:
    assert msgspec.json.decode(msgspec.json.encode(rule), type=Rule) == rule


@given(st.lists(rules, max_size=3), states, contexts)
def test_none_is_the_opposite_of_any_and_all_of_nothing_holds(
    some: list[Rule], ends: dict[str, TaskState], context: Any
) -> None:
    assert evaluate(none_(*some), ends, context) is not evaluate(any_(*some), ends, context)
    assert evaluate(all_(*some), ends, context) is all(evaluate(rule, ends, context) for rule in some)


@given(rules, states, contexts, st.sampled_from(list(TaskState)))
def test_a_rule_depends_only_on_the_tasks_it_names(
    rule: Rule, ends: dict[str, TaskState], context: Any, other: TaskState
) -> None:
    others = {name: other for name in TASKS if name not in names_in(rule)}
    assert evaluate(rule, {**ends, **others}, context) is evaluate(rule, ends, context)
    assert names_failures(rule) <= names_in(rule)
    if not needs_context(rule):
        assert evaluate(rule, ends, {}) is evaluate(rule, ends, context)


@pytest.mark.parametrize("op", ["not_exists", "!=", "not_contains"])
def test_a_missing_key_makes_the_negative_comparisons_true(op: Any) -> None:
    assert evaluate(context_value("x", op, 1), {}, {})


@pytest.mark.parametrize("op", ["exists", "==", ">", "<", "contains"])
def test_a_missing_key_makes_the_others_false(op: Any) -> None:
    assert not evaluate(context_value("x", op, None), {}, {})


@pytest.mark.parametrize(
    ("found", "op", "value", "holds"),
    [
        (1, "==", 1, True),
        (1, "==", 1.0, True),
        (1, "==", True, False),
        (None, "exists", None, True),
        (None, "==", None, True),
        (2, ">", 1, True),
        (1, ">", 1, False),
        (1, "<", 2.5, True),
        ("b", ">", "a", True),
        ("b", ">", 1, False),
        (1, "<", "b", False),
        (True, ">", 0, False),
        (None, "<", 1, False),
        ({}, "<", {}, False),
        ([1, "a"], "contains", "a", True),
        ([1], "contains", True, False),
        ("abc", "contains", "b", True),
        ("abc", "contains", 1, False),
        ({"k": 1}, "contains", "k", True),
        (5, "contains", 5, False),
        (5, "not_contains", 5, True),
    ],
)
def test_values_compare_as_json_values_do(found: Any, op: Any, value: Any, holds: bool) -> None:
    assert evaluate(context_value("x", op, value), {}, {"x": found}) is holds


def test_a_task_rule_asks_for_that_very_end() -> None:
    for rule, state in (
        (task_success("a"), TaskState.COMPLETED),
        (task_failed("a"), TaskState.FAILED),
        (task_skipped("a"), TaskState.SKIPPED),
    ):
        assert [each for each in TaskState if evaluate(rule, {"a": each}, {})] == [state]
        assert not evaluate(rule, {}, {})


def test_names_come_from_every_depth_and_no_rule_names_nothing() -> None:
    rule = all_(any_(task_success("a"), none_(task_failed("b"))), task_skipped("c"), context_value("k"))
    assert names_in(rule) == {"a", "b", "c"}
    assert names_failures(rule) == {"b"}
    assert needs_context(rule)
    assert names_in(None) == names_failures(None) == frozenset()


@pytest.mark.parametrize(
    ("ends", "holds"),
    [
        ([], True),
        ([(TaskState.COMPLETED, None)], True),
        ([(TaskState.COMPLETED, None), (TaskState.SKIPPED, "choice")], True),
        ([(TaskState.SKIPPED, "choice")], False),
        ([(TaskState.SKIPPED, "continue")], True),
        ([(TaskState.FAILED, "continue")], True),
        ([(TaskState.FAILED, "continue"), (TaskState.FAILED, None)], False),
        ([(TaskState.COMPLETED, None), (TaskState.SKIPPED, None)], False),
        ([(TaskState.COMPLETED, None), (TaskState.FAILED, None)], False),
        ([(TaskState.COMPLETED, None), (TaskState.CANCELLED, None)], False),
        ([(TaskState.COMPLETED, None), (TaskState.RUNNING, None)], False),
    ],
)
def test_the_default_rule_wants_all_done_and_one_not_skipped_by_choice(
    ends: list[tuple[TaskState, Accepted]], holds: bool
) -> None:
    assert default_rule(ends) is holds
