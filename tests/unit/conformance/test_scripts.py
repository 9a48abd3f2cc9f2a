"""The files of the sessions are sound, and their README describes the language that they are written in."""

from __future__ import annotations

import json
import re
from importlib.resources import files

import pytest

from turnout.conformance.hub import ANSWERS
from turnout.conformance.patterns import _FORMS
from turnout.conformance.script import Document, read, sessions
from turnout.conformance.steps import BY_KEY
from turnout.errors import InvalidTarget
from turnout.wire.messages import KINDS

ALL = sessions()
README = (files("turnout.wire") / "vectors" / "README.md").read_text()


def test_every_session_says_in_a_sentence_what_it_shows() -> None:
    assert len(ALL) > 50
    assert all(re.fullmatch(r"[A-Za-z].*\.", each.document.about) for each in ALL)


def test_every_kind_of_message_appears() -> None:
    text = " ".join(json.dumps(each.document.script) for each in ALL)
    said = set(re.findall(r'"kind": "(\w+)"', text)) | {"steps", "welcome"}
    assert set(KINDS) <= said


def test_the_readme_names_every_step_answer_pattern_and_field() -> None:
    for name in BY_KEY:
        assert f"**`{name}`**" in README
    for name in ANSWERS:
        assert f"| `{name}` |" in README
    for name in (*_FORMS, "$any", "$text", "$integer", "$capture:name", "$get:name", "$more_than:name"):
        assert f'"{name}"' in README
    for name in Document.__struct_fields__:
        assert f"| `{name}` |" in README


@pytest.mark.parametrize(
    ("script", "problem"),
    [
        ([{"expects": {}}], "step 1: one of expect, nothing"),
        ([{"expect": {"kind": "bye"}, "exit": 0}], "step 1: one of"),
        ([{"pause_ms": 1}, {"nothing": []}], r"step 2 \(nothing\): .*`for_ms`"),
        ([{"expect": {"kind": "bye"}, "witin_ms": 3}], "`witin_ms`"),
        ([{"pause_ms": 1, "hub": 2}], "there is no hub 2"),
    ],
)
def test_a_script_with_a_mistake_is_refused_with_its_place(script: list[object], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        read("test", json.dumps({"about": "", "script": script}))


def test_a_session_that_does_not_exist_is_an_error_that_names_it() -> None:
    with pytest.raises(InvalidTarget, match="no session 'nonsense'"):
        sessions(["nonsense"])
