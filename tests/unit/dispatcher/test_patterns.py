"""Globs over ``::`` segments."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnout.dispatcher.patterns import compile_pattern
from turnout.errors import InvalidRouting


@pytest.mark.parametrize(
    ("pattern", "name", "expected"),
    [
        ("*::ml::*", "public::ml::train", True),
        ("*::ml::*", "tenant::ml::inference", True),
        ("*::ml::*", "public::embedded::ml::train", False),
        ("**::ml::*", "public::embedded::ml::train", True),
        ("**::ml::*", "ml::train", True),
        ("batch::**", "batch::jobs::daily", True),
        ("batch::**", "batch::jobs::hourly::cleanup", True),
        ("batch::**", "batch", True),
        ("batch::**", "batches::daily", False),
        ("public::embedded::my_workflow::*", "public::embedded::my_workflow::step", True),
        ("public::embedded::my_workflow::*", "public::embedded::my_workflow", False),
        ("**", "anything", True),
        ("**", "a::b::c::d", True),
        ("*", "a::b", False),
        ("exact::name", "exact::name", True),
        ("exact::name", "exact::names", False),
        ("ab*ba", "aba", False),
        ("ab*ba", "abba", True),
        ("ab*ba", "abxba", True),
        ("a*b*c", "a-b-b-c", True),
        ("*gpu*", "use-gpu-here", True),
        ("a::**::b", "a::b", True),
        ("a::**::b", "a::x::y::b", True),
        ("a::**::b", "a::x::y::c", False),
        ("**::a::**::a", "a", False),
        ("**::a::**::a", "a::a", True),
        ("a.b", "axb", False),
    ],
)
def test_a_pattern_covers_whole_names(pattern: str, name: str, expected: bool) -> None:
    assert compile_pattern(pattern).matches(name) is expected


@pytest.mark.parametrize(
    "pattern", ["", "::", "a::", "::a", "a::::b", "a:b", "a:::b", "a b", "a?", "[ab]", "***", "a**", "x::**y", "ä"]
)
def test_a_malformed_pattern_is_refused_by_name(pattern: str) -> None:
    with pytest.raises(InvalidRouting) as caught:
        compile_pattern(pattern)
    assert caught.value.code == "malformed_pattern"
    assert f'"{pattern}"' in caught.value.message
    assert caught.value.fields["pattern"] == pattern


def test_many_stars_cost_no_exponential_time() -> None:
    assert not compile_pattern("a*" * 30 + "b").matches("a" * 128)
    assert not compile_pattern("**::" * 30 + "b").matches("::".join("a" * 60))


def slow_segment(pattern: str, text: str) -> bool:
    if not pattern:
        return not text
    if pattern[0] == "*":
        return any(slow_segment(pattern[1:], text[cut:]) for cut in range(len(text) + 1))
    return bool(text) and pattern[0] == text[0] and slow_segment(pattern[1:], text[1:])


def slow(pattern: list[str], name: list[str]) -> bool:
    if not pattern:
        return not name
    if pattern[0] == "**":
        return any(slow(pattern[1:], name[cut:]) for cut in range(len(name) + 1))
    return bool(name) and slow_segment(pattern[0], name[0]) and slow(pattern[1:], name[1:])


names = st.lists(st.text("ab", min_size=1, max_size=5), min_size=1, max_size=5)
segments = st.one_of(st.just("**"), st.text("ab*", min_size=1, max_size=5).filter(lambda text: "**" not in text))


@given(pattern=st.lists(segments, min_size=1, max_size=5), name=names)
def test_matching_agrees_with_the_definition(pattern: list[str], name: list[str]) -> None:
    assert compile_pattern("::".join(pattern)).matches("::".join(name)) is slow(pattern, name)
