"""Regular expressions are matched as Python's module matches them, in linear time."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from turnout.model.patterns import MAX_VISITS, PatternError, pattern_of

LETTERS = st.text("abAB01_- \n", max_size=12)
CLASSES = [r"\d", r"\w", r"\s", r"\W", r"\D", r"\S", "[ab]", "[^a]", "[a-c0]", r"[\d-]", r"[^\s_]"]
PLACES = ["^", "$", r"\b", r"\B", r"\A", r"\Z", "(?:)"]
ATOMS = st.sampled_from([*"abA0_-.", *CLASSES, *PLACES])
EXPRESSIONS = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3).map("".join),
        st.lists(inner, min_size=2, max_size=3).map(lambda some: f"({'|'.join(some)})"),
        st.tuples(inner, st.sampled_from(["*", "+", "?", "*?", "+?", "{2}", "{1,3}", "{,2}", "{2,}"])).map(
            lambda pair: f"(?:{pair[0]}){pair[1]}"
        ),
    ),
    max_leaves=8,
)
FLAGS = st.sampled_from(["", "(?i)", "(?m)", "(?s)", "(?im)"])


@given(FLAGS, EXPRESSIONS, LETTERS)
def test_a_text_matches_as_it_does_for_python(flags: str, expression: str, text: str) -> None:
    assume(text or r"\B" not in expression)  # Python before 3.14 finds no place in an empty text
    pattern = flags + expression
    assert pattern_of(pattern).search(text) is (re.search(pattern, text) is not None), (pattern, text)
    multiline = re.search(pattern, text, re.MULTILINE) is not None
    assert pattern_of(pattern, multiline=True).search(text) is multiline, (pattern, text)


@pytest.mark.parametrize(
    ("pattern", "fits", "misfits"),
    [
        ("^v[0-9]+$", ["v1", "v10\n"], ["v", "xv1"]),
        ("^[a-z0-9]+(-[a-z0-9]+)*$", ["a", "a-b-c"], ["-a", "a--b"]),
        (r"^\d{4}-\d{2}-\d{2}$", ["2026-11-17"], ["2026-1-17"]),
        ("^(staging|production)$", ["staging"], ["stagingx"]),
        ("(?i)^straße$", ["STRAßE"], ["STRASSE"]),
        ("(?x) ^ a  b $ # a comment", ["ab"], ["a b"]),
        ("^.{1,255}$", ["x" * 255], ["", "x" * 256]),
        ("", ["", "x"], []),
    ],
)
def test_patterns_that_files_have(pattern: str, fits: list[str], misfits: list[str]) -> None:
    found = pattern_of(pattern)
    assert [each for each in fits if not found.search(each)] == []
    assert [each for each in misfits if found.search(each)] == []


CATASTROPHIC = ["^(a+)+$", "^(a|a)*$", "^(a|aa)+$", "(a*)*b", "a*a*a*a*a*b", "(.*)(.*)(.*)[^a]$", "(a|b)*a(a|b){99}x"]


@pytest.mark.parametrize("pattern", CATASTROPHIC)
def test_the_longest_text_is_searched_in_bounded_time(pattern: str) -> None:
    found = pattern_of(pattern)
    text = ("a" * found.longest)[:20_000] + "!"
    started = time.process_time()
    found.search(text)
    assert time.process_time() - started < 5.0
    assert found.longest <= MAX_VISITS


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("(", "no regular expression"),
        (r"(a)\1", "a backreference"),
        ("(a)?(?(1)b|c)", "a condition on a group"),
        ("(?=a)", "a lookaround"),
        ("(?<!a)b", "a lookaround"),
        ("a++", "a possessive quantifier"),
        ("(?>a)", "an atomic group"),
        ("(?a)a", "flags other than"),
        ("a{5000}", "parts"),
        ("((a{99}){99}){99}", "parts"),
        ("((((){9999}){9999}){9999}){9999}", "parts"),
        ("(" * 5_000 + ")" * 5_000, "nested too deeply|no regular expression"),
    ],
)
def test_what_cannot_be_matched_in_linear_time_is_refused(pattern: str, reason: str) -> None:
    with pytest.raises(PatternError, match=reason):
        pattern_of(pattern)
