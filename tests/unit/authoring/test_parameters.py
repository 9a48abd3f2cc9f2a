"""Parameters: what is known of them, and what text on a command line makes of them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal
from uuid import UUID

import pytest

from turnout import Context, Workflow, task, workflow
from turnout.authoring.parameters import parse_parameters
from turnout.errors import InputError, InvalidInput


class Colour(Enum):
    RED = "r"
    BLUE = "b"


class Level(Enum):
    LOW = 1
    HIGH = 2


@dataclass
class Line:
    item: str
    count: int = 1


TEA = Line("tea")


class Remark:
    def __init__(self, documentation: str) -> None:
        self.documentation = documentation


@task
def take(value: Any) -> Any:
    return value


@workflow
def everything(
    text: str = "",
    number: int = 0,
    share: float = 0.5,
    flag: bool = False,
    colour: Colour = Colour.RED,
    level: Level = Level.LOW,
    when: datetime = datetime(2024, 1, 1, tzinfo=UTC),
    day: date = date(2024, 1, 1),
    wait: timedelta = timedelta(0),
    price: Decimal = Decimal(0),
    id: UUID | None = None,
    path: Path = Path("."),
    tags: list[str] = [],  # noqa: B006
    counts: set[int] = set(),  # noqa: B006
    pair: tuple[int, str] = (1, "a"),
    line: Line = TEA,
    lines: list[Line] = [],  # noqa: B006
    table: dict[str, int] = {},  # noqa: B006
    maybe: int | None = None,
    either: int | str = 0,
    size: Literal["s", "m"] = "s",
    anything: Any = None,
    bare=None,
) -> Any:
    return take(text)


@pytest.mark.parametrize(
    ("pair", "value"),
    [
        ("text=12", "12"),
        ("text=a=b", "a=b"),
        ("text=", ""),
        ('text="quoted"', '"quoted"'),
        ("number=-3", -3),
        ("share=2", 2.0),
        ("share=0.25", 0.25),
        ("flag=yes", True),
        ("flag=TRUE", True),
        ("flag=off", False),
        ("flag=0", False),
        ("colour=b", "b"),
        ("colour=BLUE", "b"),
        ("level=2", 2),
        ("level=HIGH", 2),
        ("when=2024-05-01T10:00:00Z", "2024-05-01T10:00:00Z"),
        ("day=2024-05-01", "2024-05-01"),
        ("wait=1h30m", "PT5400S"),
        ("wait=PT5M", "PT300S"),
        ("price=1.50", "1.50"),
        ("id=00000000-0000-0000-0000-000000000003", "00000000-0000-0000-0000-000000000003"),
        ("path=/tmp/x", "/tmp/x"),
        ("path=12", "12"),
        ("tags=a, b", ["a", "b"]),
        ('tags=["a,b"]', ["a,b"]),
        ("tags=", []),
        ("tags=1", ["1"]),
        ("counts=3,1,1", [1, 3]),
        ('pair=[2, "b"]', [2, "b"]),
        ('line={"item": "cup"}', {"item": "cup", "count": 1}),
        ('lines=[{"item": "cup", "count": 2}]', [{"item": "cup", "count": 2}]),
        ('table={"a": 1}', {"a": 1}),
        ("maybe=null", None),
        ("maybe=5", 5),
        ("either=5", 5),
        ("either=five", "five"),
        ("size=m", "m"),
        ("anything=[1]", [1]),
        ("anything=one", "one"),
        ("bare=true", True),
    ],
)
def test_text_is_read_by_the_annotation(pair: str, value: Any) -> None:
    assert parse_parameters(everything, [pair]) == {pair.partition("=")[0]: value}


def test_a_list_can_be_given_item_by_item() -> None:
    assert parse_parameters(everything, ["tags=a,b", "tags=c", "counts=2", "counts=1"]) == {
        "tags": ["a,b", "c"],
        "counts": [1, 2],
    }


@workflow
def strict(amount: int, when: datetime, name: str = "x") -> Any:
    return take(amount)


def test_all_that_is_wrong_is_said_at_once() -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_parameters(strict, ["amount=abc", "nmae=1", "name=1", "name=2", "novalue"])
    problems = {(each.code, each.parameter) for each in caught.value.fields["problems"]}
    assert problems == {
        ("invalid_parameter", "amount"),
        ("missing_parameter", "when"),
        ("unknown_parameter", "nmae"),
        ("duplicate_parameter", "name"),
        ("bad_parameter", "novalue"),
    }
    for words in (
        "'strict'",
        "must be int",
        "'abc' (str)",
        "(datetime)",
        "did you mean 'name'",
        "key=value",
        "2 times",
    ):
        assert words in caught.value.message


@pytest.mark.parametrize(
    "pair", ["number=1.5", "flag=maybe", "colour=green", "day=today", "line=tea", "counts=a", "size=l", "maybe=x"]
)
def test_text_that_does_not_fit_is_refused_with_the_type_that_is_expected(pair: str) -> None:
    name = pair.partition("=")[0]
    with pytest.raises(InputError) as caught:
        parse_parameters(everything, [pair])
    [param] = [each for each in everything.spec.params if each.name == name]
    assert caught.value.code == "invalid_parameter"
    assert f"must be {param.type}" in caught.value.message and repr(name) in caught.value.message


def test_a_context_takes_any_key() -> None:
    def use(context: Context) -> None: ...

    etl = Workflow("etl", tasks=[use])
    assert parse_parameters(etl, ["a=1", "b=text", 'c={"d": null}']) == {"a": 1, "b": "text", "c": {"d": None}}


def test_a_parameter_has_a_type_a_default_a_schema_and_words() -> None:
    @workflow
    def documented(order: Line, count: Annotated[int, "how many"], rate: Annotated[float, Remark("per hour")] = 1.5):
        """Ships an order.

        Args:
            order (Line): what to ship,
                and how much of it.
            count: not this one

        Returns:
            Nothing: at all.
        """
        take(order)

    params = {each.name: each for each in documented.spec.params}
    assert [(each.type, each.required, each.default) for each in params.values()] == [
        ("Line", True, None),
        ("int", True, None),
        ("float", False, 1.5),
    ]
    assert [each.doc for each in params.values()] == ["what to ship, and how much of it.", "how many", "per hour"]
    assert params["count"].schema == {"type": "integer"}
    assert params["order"].schema["$defs"]["Line"]["required"] == ["item"]


def test_fields_in_the_style_of_sphinx_are_read_too() -> None:
    @workflow
    def documented(order: str, count: int = 1):
        """Ships.

        :param order: what to ship
            and where to
        :param int count: how many
        :returns: nothing
        """
        take(order)

    assert [each.doc for each in documented.spec.params] == ["what to ship and where to", "how many"]
