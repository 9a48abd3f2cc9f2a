"""YAML documents: plain values by YAML 1.2, bounds, and slips with their places."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

import turnout.authoring
from turnout.authoring import yaml_text
from turnout.errors import InvalidYaml


@pytest.fixture(params=["libyaml", "pure"])
def reading(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The module with the loader in C, and with the one in Python."""
    if request.param == "libyaml":
        yield yaml_text
        return
    with monkeypatch.context() as patched:
        patched.delattr(yaml, "CSafeLoader")
        patched.delitem(sys.modules, yaml_text.__name__)
        patched.setattr(turnout.authoring, "yaml_text", yaml_text)  # put back afterwards, like the other two
        yield importlib.import_module(yaml_text.__name__)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None),
        ("# nothing but words\n", None),
        ("~", None),
        ("null", None),
        ("true", True),
        ("False", False),
        ("on", "on"),
        ("off", "off"),
        ("yes", "yes"),
        ("No", "No"),
        ("y", "y"),
        ("12", 12),
        ("-3", -3),
        ("010", 10),
        ("0o17", 15),
        ("0x1f", 31),
        ("12:30", "12:30"),
        ("1_000", "1_000"),
        ("0.75", 0.75),
        (".5", 0.5),
        ("1e3", 1000.0),
        ("2.5e-3", 0.0025),
        ("-.inf", float("-inf")),
        ("2024-01-01", "2024-01-01"),
        ("2024-01-01 10:00:00", "2024-01-01 10:00:00"),
        ("'12'", "12"),
        ("!!str 12", "12"),
        ("=", "="),
        ("[1, two, {three: 3}]", [1, "two", {"three": 3}]),
        ("on: push\nyes: 1", {"on": "push", "yes": 1}),
        ("'1': a", {"1": "a"}),
        ("a: &x [1]\nb: *x", {"a": [1], "b": [1]}),
        ("a: &x {k: 1, l: 2}\nb:\n  <<: *x\n  k: 3", {"a": {"k": 1, "l": 2}, "b": {"k": 3, "l": 2}}),
        ("a: &x {k: 1}\nb: {<<: *x}\nc: {<<: *x, k: 2}", {"a": {"k": 1}, "b": {"k": 1}, "c": {"k": 2}}),
    ],
)
def test_plain_values_are_read_by_the_newer_rules(reading: ModuleType, text: str, value: Any) -> None:
    found = reading.read_yaml(text)
    assert found == value and type(found) is type(value)


@pytest.mark.parametrize(
    ("text", "place", "said"),
    [
        ("a: 1\nb: 2\na: 3", (3, 1), "the key 'a' is here again, after line 1"),
        ("a:\n  b: 1\n  'b': 2", (3, 3), "the key 'b' is here again"),
        ("<<: {a: 1}\n<<: {b: 1}", (2, 1), "the key '<<' is here again"),
        ("a: {<<: {b: 1, b: 2}}", (1, 16), "the key 'b' is here again"),
        ("a:\n  1: x", (2, 3), "a key must be text, not '1'; put it into quotes"),
        ("true: x", (1, 1), "a key must be text, not 'true'"),
        ("[a, b]: x", (1, 1), "a key must be text, not a list or table"),
        ("a: [1,\nb: }", (2, 4), "while parsing a flow node"),
        ("a: 1\n\tb: 2", (2, 1), ""),
        ("a: *nobody", (1, 4), "found undefined alias"),
        ("a: &x [1, *x]", (1, 11), "*x stands inside of what it means"),
        ("a: &x 1\nb: &x {c: *x}", (2, 11), "*x stands inside of what it means"),
        ("a: 1\n---\nb: 2", (2, 1), "expected a single document in the stream, but found another document"),
        ("a:\n  - !!python/object/apply:os.system [ls]", (2, 5), "the tag !!python/object/apply:os.system is not"),
        ("!!python/name:os.system", (1, 1), "is not understood"),
        ("a: !mine 1", (1, 4), "the tag !mine is not understood"),
        ("a: !!timestamp 2024-01-01", (1, 4), "the tag !!timestamp is not understood"),
        ("a: !!binary aGk=", (1, 4), "the tag !!binary is not understood"),
        ("!!set {a}", (1, 1), "the tag !!set is not understood"),
        ("!!bool yes", (1, 1), "'yes' cannot be read as bool"),
        ("!!int [1]", (1, 1), "a list or table cannot be read as int"),
        ("!!map x", (1, 1), "expected a mapping node"),
        ("<<: 3", (1, 5), "expected a mapping or list of mappings for merging"),
        ("a: " + "9" * 5000, (1, 4), "cannot be read as int"),
        ("a:\n  - b\n  - c\x01d", (3, 6), "there is the character 0x01"),
    ],
)
def test_a_slip_is_named_with_its_line_and_column(
    reading: ModuleType, text: str, place: tuple[int, int], said: str
) -> None:
    with pytest.raises(InvalidYaml) as raised:
        reading.read_yaml(text)
    error = raised.value
    assert said in error.message and len(error.message) < 200
    assert (error.fields["line"], error.fields["column"]) == place
    assert error.message.startswith(f"line {place[0]}, column {place[1]}: ")
    assert error.code == ("duplicate_key" if "is here again" in said else "malformed_yaml")


def bomb(first: str, open_: str, close: str) -> str:
    lines = [f"a0: &a0 {first}"]
    lines += [f"a{n}: &a{n} {open_}{', '.join([f'*a{n - 1}'] * 10)}{close}" for n in range(1, 10)]
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (bomb("[x, x, x]", "[", "]"), "more than 100,000 values, with those behind aliases"),
        (bomb("{k: 1, l: 2}", "{<<: [", "]}"), "more than 100,000 values, with those behind aliases"),
        ("[" + "x, " * 100_001 + "]", "more than 100,000 values"),
        ("[" * 51, "lists and tables are more than 50 deep"),
        ("{a: " * 200_000, "lists and tables are more than 50 deep"),
        ("x" * (yaml_text.MAX_CHARACTERS + 1), "1,048,577 characters; 1,048,576 are the most"),
    ],
    ids=["aliases", "merges", "values", "depth", "unclosed", "characters"],
)
def test_what_is_too_large_is_refused_before_anything_is_made_of_it(text: str, said: str) -> None:
    with pytest.raises(InvalidYaml, match=said) as raised:
        yaml_text.read_yaml(text)
    assert raised.value.code == "yaml_too_large"


words = st.text(st.characters(exclude_categories=["C", "Zl", "Zp"]) | st.sampled_from('\n\t"\\'))
plain = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | words
values = st.recursive(plain, lambda inner: st.lists(inner) | st.dictionaries(words, inner), max_leaves=20)


@given(values)
def test_json_is_yaml(value: Any) -> None:
    assert yaml_text.read_yaml(json.dumps(value, ensure_ascii=False)) == value


@given(st.text() | st.text(alphabet="a:-&*![]{},<> \n\t'\"|>#%~01"))
def test_any_text_gives_plain_values_or_an_error_with_a_place(text: str) -> None:
    try:
        found = yaml_text.read_yaml(text)
    except InvalidYaml as error:
        assert error.fields["line"] >= 1 and error.fields["column"] >= 1
    else:
        assert isinstance(found, dict | list | str | int | float | None)
