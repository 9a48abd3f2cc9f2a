"""Patterns of scripts: what matches, what is captured, and what is said when it does not match."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnout.conformance.patterns import Mismatch, fill, match, problem_with

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(alphabet="abc ü"),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(alphabet="abc", min_size=1), inner, max_size=4),
    max_leaves=8,
)


@given(VALUES)
def test_every_value_matches_itself(value: Any) -> None:
    assert problem_with(value, value, {}) is None


@given(st.dictionaries(st.text(alphabet="abc", min_size=1), VALUES, max_size=4), st.data())
def test_an_object_matches_with_fewer_fields_and_not_with_others(value: dict[str, Any], data: st.DataObject) -> None:
    kept = data.draw(st.sets(st.sampled_from(sorted(value)))) if value else set()
    part = {name: value[name] for name in kept}
    assert problem_with(part, value, {}) is None
    assert problem_with({**part, "other": 1}, value, {}) == "other: expected 1, got nothing"


@given(st.lists(st.integers(), max_size=5), st.randoms())
def test_unordered_takes_any_order_and_includes_any_part(values: list[int], dice: Any) -> None:
    shuffled = dice.sample(values, len(values))
    assert problem_with({"$unordered": shuffled}, values, {}) is None
    assert problem_with({"$unordered": [*shuffled, 1]}, values, {}) is not None
    assert problem_with({"$includes": shuffled[:2]}, values, {}) is None


def test_patterns_of_an_unordered_list_find_a_value_each() -> None:
    both = {"$unordered": [{"a": 1}, {"a": 1, "b": 2}]}
    assert problem_with(both, [{"a": 1, "b": 2}, {"a": 1}], {}) is None
    assert problem_with(both, [{"a": 1}, {"a": 1}], {}) is not None


@pytest.mark.parametrize(
    ("pattern", "value", "problem"),
    [
        ({"a": "$any"}, {"a": None}, None),
        ({"a": "$any"}, {}, "a: expected $any, got nothing"),
        ({"a": {"$optional": True}}, {}, None),
        ({"a": {"$optional": True}}, {"a": False}, "a: expected True, got False"),
        ({"a": "$text"}, {"a": 1}, "a: expected text, got 1"),
        ({"a": "$integer"}, {"a": True}, "a: expected an integer, got True"),
        ({"a": {"$one_of": [["*"], "$text"]}}, {"a": "x"}, None),
        ({"a": {"$one_of": [1, 2]}}, {"a": 3}, "a: expected one of [1, 2], got 3"),
        ({"a": [1, 2]}, {"a": [1]}, "a: expected 2 in a list, got [1]"),
        ({"a": {"b": [1]}}, {"a": {"b": [2]}}, "a.b[0]: expected 1, got 2"),
        ({"a": 1}, {"a": True}, "a: expected 1, got True"),
        ({"a": 1}, {"a": 1.0}, None),
    ],
)
def test_what_does_not_match_is_named_with_its_place(pattern: Any, value: Any, problem: str | None) -> None:
    assert problem_with(pattern, value, {}) == problem


def test_what_is_captured_can_be_asked_for_and_must_grow_where_a_script_says_so() -> None:
    known: dict[str, Any] = {}
    match({"seq": "$capture:seq"}, {"seq": 3}, known)
    assert known == {"seq": 3}
    assert problem_with({"seq": "$get:seq"}, {"seq": 4}, known) == "seq: expected 3, got 4"
    with pytest.raises(Mismatch, match="expected more than 3, got 3"):
        match({"seq": "$more_than:seq"}, {"seq": 3}, known)
    match({"seq": "$more_than:seq"}, {"seq": 5}, known)
    assert known == {"seq": 5}


def test_a_message_that_does_not_match_leaves_nothing_behind() -> None:
    known: dict[str, Any] = {}
    with pytest.raises(Mismatch):
        match({"a": "$capture:a", "b": 1}, {"a": 1, "b": 2}, known)
    assert known == {}


def test_templates_are_filled_with_what_was_captured() -> None:
    known = {"dir": "/tmp/x", "seq": 3}
    assert fill({"file": "${dir}/ran", "n": ["$get:seq", 1]}, known) == {"file": "/tmp/x/ran", "n": [3, 1]}


def test_a_placeholder_that_does_not_exist_is_a_mistake_of_the_script() -> None:
    with pytest.raises(ValueError, match="no placeholder"):
        problem_with("$anything", 1, {})
