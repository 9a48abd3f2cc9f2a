"""Types: what leaves as JSON comes back as annotated, and what cannot travel says so with a way out."""

from __future__ import annotations

import enum
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Literal, NamedTuple, NewType, Optional, TypedDict, Union
from uuid import UUID

import msgspec
import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnout import register_type
from turnout.errors import DefinitionError, NotJson
from turnout.model.annotations import ConversionError, converter_of, is_json, schema_of, type_text
from turnout.model.types import to_json_value
from turnout.model.values import dump_output


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Mixed(enum.Enum):
    ONE = 1
    TEXT = "text"


class Grade(enum.IntEnum):
    LOW = 1


class Word(enum.StrEnum):
    YES = "yes"


@dataclass
class Line:
    item: str
    count: int = 1
    colours: set[Colour] = field(default_factory=set)


@dataclass(frozen=True)
class Order:
    id: int
    when: datetime
    lines: list[Line]
    notes: dict[int, str] = field(default_factory=dict)


@dataclass
class Refund:
    reason: str


class Point(msgspec.Struct):
    x: int
    y: int = 0


class Customer(pydantic.BaseModel):
    name: str
    since: date
    home: Path | None = None


class Aliased(pydantic.BaseModel):
    first: str = pydantic.Field(alias="firstName")


class Pair(NamedTuple):
    left: int
    right: str


class Shape(TypedDict):
    sides: int


class Money:
    def __init__(self, cents: int) -> None:
        self.cents = cents

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Money) and other.cents == self.cents

    def __hash__(self) -> int:
        return self.cents


class Euro(Money):
    pass


class Unknown:
    pass


class Angle:
    pass


register_type(Money, dump=lambda money: {"cents": money.cents}, load=lambda value: Money(value["cents"]))

Number = NewType("Number", int)

ORDER = Order(1, datetime(2024, 5, 1, 10, tzinfo=UTC), [Line("tea", 2, {Colour.RED, Colour.BLUE})], {7: "seven"})
VALUES: list[tuple[Any, Any]] = [
    (ORDER, Order),
    ([ORDER], list[Order]),
    ({"a": ORDER}, dict[str, Order]),
    (None, Optional[Order]),  # noqa: UP045
    (ORDER, Order | None),
    (Point(1, 2), Point),
    (Customer(name="Ada", since=date(2024, 1, 1), home=Path("/home/ada")), Customer),
    ([Customer(name="Ada", since=date(2024, 1, 1))], list[Customer]),
    (Aliased(firstName="Ada"), Aliased),
    (Colour.RED, Colour),
    (Mixed.ONE, Mixed),
    ([Mixed.TEXT, Mixed.ONE], list[Mixed]),
    (Grade.LOW, Grade),
    (Word.YES, Word),
    (datetime(2024, 5, 1, 10, 30, 1, 5, tzinfo=UTC), datetime),
    (datetime(2024, 5, 1, 10, 30), datetime),  # noqa: DTZ001
    (date(2024, 5, 1), date),
    (time(10, 30), time),
    (timedelta(hours=1, milliseconds=5), timedelta),
    (UUID(int=7), UUID),
    (Decimal("1.10"), Decimal),
    (b"\x00\xff", bytes),
    (Path("/tmp/x"), Path),
    (PurePosixPath("a/b"), PurePosixPath),
    ((1, "a"), tuple[int, str]),
    ((Decimal(1), Decimal(2)), tuple[Decimal, ...]),
    ({3, 1, 2}, set[int]),
    (frozenset({Colour.RED}), frozenset[Colour]),
    (Pair(1, "a"), Pair),
    ({"sides": 3}, Shape),
    (Money(5), Money),
    ([Money(5), None], list[Money | None]),
    ({"a": [Money(1)]}, dict[str, list[Money]]),
    (5, Number),
    (Decimal(3), Annotated[Decimal, "a remark"]),
    ("m", Literal["s", "m"]),
    # Unions whose members only their order tells apart, at the top and inside of others.
    (Refund("late"), Order | Refund),
    ([Refund("late"), ORDER], list[Order | Refund]),
    ({"a": Refund("late")}, dict[str, Union[Order, Refund]]),  # noqa: UP007
    ((Refund("late"), ORDER), tuple[Order | Refund, Order | Refund]),
    (Customer(name="Ada", since=date(2024, 1, 1)), Customer | Money),
    (Path("x"), int | Path),
    (3, int | Path),
    (UUID(int=3), datetime | UUID),
]


def through_the_store(value: Any, annotation: Any) -> Any:
    convert = converter_of(annotation)
    assert convert is not None
    return convert(msgspec.json.decode(dump_output(value)))


@pytest.mark.parametrize(("value", "annotation"), VALUES, ids=[type_text(each) for _, each in VALUES])
def test_a_value_comes_back_as_what_it_was(value: Any, annotation: Any) -> None:
    back = through_the_store(value, annotation)
    assert back == value
    assert type(back) is type(value)


@pytest.mark.parametrize(("value", "annotation"), VALUES, ids=[type_text(each) for _, each in VALUES])
def test_a_value_that_came_back_can_be_passed_on_unchanged(value: Any, annotation: Any) -> None:
    assert to_json_value(through_the_store(value, annotation)) == to_json_value(value)


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
)


@given(json_values)
def test_json_values_are_left_alone(value: Any) -> None:
    assert to_json_value(value) == value


@given(st.builds(Line, st.text(st.characters(exclude_categories=["Cs"], min_codepoint=1)), st.integers(-9, 9)))
def test_objects_survive_with_whatever_is_in_them(line: Line) -> None:
    assert through_the_store([line], list[Line]) == [line]


def test_without_an_annotation_it_stays_json() -> None:
    assert to_json_value((1, {2}, Pair(3, "x"), Line("tea"))) == [
        1,
        [2],
        [3, "x"],
        {"item": "tea", "count": 1, "colours": []},
    ]
    assert converter_of(Any) is None
    assert converter_of(object) is None


def test_a_set_is_always_the_same_text() -> None:
    assert dump_output({"c", "a", "b"}) == '["a","b","c"]'
    assert sorted(to_json_value({1, "a"}), key=str) == [1, "a"], "what has no order is taken as it comes"


def test_numbers_and_text_of_derived_types_become_plain() -> None:
    class Metres(float): ...

    class Name(str): ...

    found = to_json_value([Metres(1.5), Name("x"), Grade.LOW, Word.YES, {Word.YES: 1}])
    assert found == [1.5, "x", 1, "yes", {"yes": 1}]
    assert [type(each) for each in found] == [float, str, int, str, dict]


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (Unknown(), "Unknown"),
        ({"deep": [Unknown()]}, "Unknown"),
        (Line(Unknown()), "Unknown"),  # pyright: ignore
        (Point(1, Unknown()), "Unknown"),  # pyright: ignore
        (1j, "complex"),
        (lambda: None, "function"),
    ],
)
def test_what_cannot_travel_names_its_type_and_the_ways_out(value: Any, words: str) -> None:
    with pytest.raises(NotJson) as caught:
        dump_output(value)
    assert caught.value.fields["type"] == words
    for part in (f"type {words}", "dataclass", f"register_type({words}"):
        assert part in caught.value.message


@pytest.mark.parametrize(
    ("value", "code"),
    [
        (Line("a\x00b"), "json_nul"),
        (Line("\ud800"), "json_surrogate"),
        ((math.nan,), "not_json"),
        ({1: Line("x")}, "not_json"),
        (("x" * 2_000_000,), "output_too_large"),
    ],
)
def test_the_rules_of_json_hold_inside_of_objects_too(value: Any, code: str) -> None:
    with pytest.raises(Exception) as caught:
        dump_output(value)
    assert getattr(caught.value, "code", None) == code


def test_what_holds_itself_is_refused() -> None:
    loop: list[Any] = [Line("x")]
    loop.append(loop)
    with pytest.raises(NotJson, match="deeper than 100"):
        dump_output(loop)


def test_a_registered_dump_that_raises_is_said_to() -> None:
    def broken(value: Any) -> Any:
        raise RuntimeError("out of ink")

    register_type(Angle, dump=broken, load=lambda value: Angle())
    with pytest.raises(NotJson, match="Angle cannot be made JSON: RuntimeError: out of ink"):
        dump_output(Angle())


def test_a_derived_class_is_dumped_as_its_base_but_must_be_registered_to_be_loaded() -> None:
    assert to_json_value(Euro(3)) == {"cents": 3}
    with pytest.raises(ConversionError, match=r"register_type\(Euro"):
        through_the_store(Euro(3), Euro)


def test_registering_for_real_types() -> None:
    register_type(Fraction, dump=str, load=Fraction)
    assert through_the_store({"a": Fraction(1, 3)}, dict[str, Fraction]) == {"a": Fraction(1, 3)}


@pytest.mark.parametrize("kind", [Line, Point, Colour, Customer, dict, int, Pair, 5, "Money"])
def test_types_that_are_converted_already_are_not_registered(kind: Any) -> None:
    with pytest.raises(DefinitionError) as caught:
        register_type(kind, dump=str, load=str)
    assert caught.value.code == "bad_type"


def test_dump_and_load_must_be_functions() -> None:
    with pytest.raises(DefinitionError, match="load of Unknown"):
        register_type(Unknown, dump=str, load="text")  # pyright: ignore


@pytest.mark.parametrize(
    ("value", "annotation", "words"),
    [
        ("abc", int, "Expected `int`, got `str`"),
        (True, int, "`bool`"),
        ({"id": 1}, Order, "when"),
        ({"item": 5}, Line, "$.item"),
        ("green", Colour, "green"),
        (3, Mixed, "3"),
        ({"name": "Ada"}, Customer, "since: Field required"),
        ({"name": "Ada", "since": "soon"}, Customer | None, "since"),
        ([1], tuple[int, str], "length"),
        (5, Order | Refund, "as Refund"),
        ([5], list[Order | Refund], "at [0]"),
        ({"k": 5}, dict[str, Order | Refund], "at ['k']"),
        (5, Path, "path"),
        ({"cents": 1}, Unknown, "register_type(Unknown"),
        ({}, Money, "cents"),
        ("soon", datetime, "datetime"),
    ],
)
def test_a_value_that_does_not_fit_says_where_and_why(value: Any, annotation: Any, words: str) -> None:
    convert = converter_of(annotation)
    assert convert is not None
    with pytest.raises(ConversionError) as caught:
        convert(value)
    assert words in str(caught.value)


def test_a_union_in_a_field_that_cannot_be_told_apart_is_refused_with_the_reason() -> None:
    @dataclass
    class Bad:
        either: Line | Refund

    Bad.__annotations__["either"] = Line | Refund
    convert = converter_of(Bad)
    assert convert is not None
    with pytest.raises(ConversionError, match="more than one dataclass"):
        convert({"either": {"reason": "x"}})


@pytest.mark.parametrize(
    "annotation",
    [
        *(Any, object, None, int, float, str, bool, dict, list, list[int], dict[str, Any], int | None, Number),
        *(Sequence[int], Mapping[str, list[int]], Iterable[str], Literal["a", 1], Annotated[int, "x"]),
    ],
)
def test_plain_annotations_need_no_conversion(annotation: Any) -> None:
    assert is_json(annotation)


@pytest.mark.parametrize(
    "annotation",
    [
        Order,
        list[Order],
        tuple,
        set[int],
        dict[int, str],
        bytes,
        Path,
        Decimal | None,
        Literal[Colour.RED],
        Iterable[Line],
    ],
)
def test_other_annotations_do(annotation: Any) -> None:
    assert not is_json(annotation)


def test_iterables_of_objects_are_lists_of_them() -> None:
    assert through_the_store([Line("a")], Iterable[Line]) == [Line("a")]


@pytest.mark.parametrize(
    ("annotation", "text"),
    [
        (int, "int"),
        (None, "None"),
        (Order | None, "Order | None"),
        (Optional[datetime], "datetime | None"),  # noqa: UP045
        (dict[str, list[Order]], "dict[str, list[Order]]"),
        (tuple[int, ...], "tuple[int, ...]"),
        (Literal["a", 1], "Literal['a', 1]"),
        (Annotated[int, "x"], "int"),
        (Any, "Any"),
    ],
)
def test_annotations_in_words(annotation: Any, text: str) -> None:
    assert type_text(annotation) == text


def test_schemas() -> None:
    assert schema_of(list[int]) == {"type": "array", "items": {"type": "integer"}}
    assert schema_of(Path) == {"type": "string", "format": "path"}
    assert schema_of(Customer)["required"] == ["name", "since"]
    assert [each["$ref"] for each in schema_of(Order | Refund)["anyOf"]] == ["#/$defs/Order", "#/$defs/Refund"]
    assert schema_of(Callable[[], int]) == {}, "what cannot be said is left out"
