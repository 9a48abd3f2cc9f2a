"""Texts are read as a JSON schema asks; what cannot be read is refused with what would be right."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnout.model.annotations import ConversionError, converter_of, schema_of
from turnout.model.interpolation import as_text
from turnout.model.text_values import read_value, shown_value


@dataclass
class Order:
    id: int
    tags: list[str]


class Size(enum.Enum):
    SMALL = 1
    LARGE = 2


@pytest.mark.parametrize(
    ("value", "annotation", "expected"),
    [
        ("3", int, 3),
        (" -3 ", int, -3),
        ("3.0", int, 3),
        (3.0, int, 3),
        ("1e3", float, 1000.0),
        ("3", float, 3.0),
        ("yes", bool, True),
        ("Off", bool, False),
        ("[1, 2]", list[int], [1, 2]),
        (["1", "2"], list[int], [1, 2]),
        ('["a", "2"]', tuple[str, int], ["a", 2]),
        ('{"a": "1"}', dict[str, int], {"a": 1}),
        ('{"id": 3, "tags": []}', Order, {"id": 3, "tags": []}),
        ({"id": "3", "tags": [7]}, Order, {"id": 3, "tags": ["7"]}),
        ("3", int | None, 3),
        ("", int | None, None),
        ("null", list[int] | None, None),
        (None, int | None, None),
        ("", str | None, ""),
        ("3", str | int, "3"),
        ("3", int | str, 3),
        ("x", int | str, "x"),
        (3, str | int, 3),
        ("2", Size, 2),
        ("a", Literal["a", "b"], "a"),
        ("1", Literal[1, 2], 1),
        (7, str, "7"),
        (True, str, "true"),
        ("3", Any, "3"),
        ("2020-01-01", object, "2020-01-01"),
    ],
)
def test_a_value_is_read_as_its_annotation_asks(value: Any, annotation: Any, expected: Any) -> None:
    found = read_value(value, schema_of(annotation))
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(
    ("value", "annotation", "right"),
    [
        ("abc", int, "a whole number"),
        ("", int, "a whole number"),
        ("1.5", int, "a whole number"),
        (True, int, "a whole number"),
        (None, int, "a whole number"),
        ("nan", float, "a number"),
        ("inf", float, "a number"),
        ("maybe", bool, "true or false"),
        (1, bool, "true or false"),
        ("a b", list[int], "a list, as JSON"),
        ('{"a": 1}', list[int], "a list, as JSON"),
        ("[1]", dict[str, int], "an object, as JSON"),
        (["1", "x"], list[int], "a whole number at [1] instead of 'x'"),
        ('{"id": "x", "tags": []}', Order, "a whole number at .id instead of 'x'"),
        ("3", Size, "one of 1, 2"),
        (None, str, "text"),
        ("x", int | None, "a whole number, or null"),
    ],
)
def test_a_value_that_does_not_fit_is_refused_with_what_would_be_right(value: Any, annotation: Any, right: str) -> None:
    with pytest.raises(ConversionError) as caught:
        read_value(value, schema_of(annotation))
    assert str(caught.value) == right


@given(st.one_of(st.integers(-(2**53), 2**53), st.booleans(), st.lists(st.integers(-99, 99)), st.floats(-1e9, 1e9)))
def test_a_value_that_became_text_is_read_as_itself(value: Any) -> None:
    annotation = list[int] if isinstance(value, list) else type(value)
    assert read_value(as_text(value), schema_of(annotation)) == value


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda of: st.lists(of, max_size=3)))
def test_what_was_read_fits_the_annotation(value: Any) -> None:
    for annotation in (int, bool, str, list[int], int | None):
        convert = converter_of(annotation)
        assert convert is not None
        try:
            found = read_value(value, schema_of(annotation))
        except ConversionError:
            continue
        convert(found)


def test_a_schema_that_refers_to_itself_ends() -> None:
    assert read_value("x", {"$ref": "#/$defs/A", "$defs": {"A": {"$ref": "#/$defs/A"}}}) == "x"


def test_a_long_value_is_shortened_in_messages() -> None:
    assert len(shown_value("x" * 1_000)) < 80
