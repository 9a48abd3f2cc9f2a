"""Types of settings: values are converted and checked by what the type declares, and by nothing else."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Any, ClassVar, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Meta

from turnout.errors import InvalidSetting
from turnout.model.setting_types import (
    Age,
    Count,
    NonNegativeSeconds,
    Period,
    Ratio,
    Seconds,
    Settings,
    SettingType,
    check_order,
    converted,
    settings_in,
)


class Inner(Settings, frozen=True, kw_only=True):
    low: Count = 1
    high: Count = 2

    def check_rules(self, path: str) -> None:
        check_order(self, "low", "high", path)


class Outer(Settings, frozen=True, kw_only=True):
    table: ClassVar[str] = "outer"

    wait: Period = "5s"
    share: Ratio = 0.5
    text: str = ""
    inner: Inner = Inner()
    other: Inner | None = None


@given(st.integers(1, 10**12))
def test_a_number_is_the_same_as_text(number: int) -> None:
    assert converted(number, Count, "n") == converted(str(number), Count, "n") == number


@given(st.floats(0.001, 1e9))
def test_seconds_are_numbers_or_text_with_units(number: float) -> None:
    assert converted(number, Seconds, "n") == converted(repr(number), Seconds, "n") == number
    assert converted("90s", Seconds, "n") == converted("1m30s", Period | None, "n") == 90.0


@pytest.mark.parametrize(
    ("value", "kind", "said"),
    [
        (0, Count, "n is 0; it must be at least 1"),
        ("0", Count, "n is '0'; it must be at least 1"),
        (True, Count, "n is True; write a whole number"),
        (2.0, Count, "n is 2.0; write a whole number"),
        (None, Count, "n is empty; write a whole number"),
        (7, Annotated[int, Meta(ge=1, le=5)], "n is 7; it must be a number from 1 to 5"),
        (0, Seconds, "n is 0; it must be a positive number of seconds"),
        ("soon", Age, 'n is \'soon\'; write a number of seconds, or text such as "30s", "5m" or "1h30m"'),
        (1, Ratio, "n is 1; it must be a number above 0 and below 1"),
        ("half", Ratio, "n is 'half'; write a number above 0 and below 1"),
        (1, bool, "n is 1; write true or false"),
        ("", str, "n is ''; write text"),
        ([""], tuple[str, ...], "n is ['']; write a list of texts"),
        ("c", Literal["a", "b"], 'n is \'c\'; write "a" or "b"'),
    ],
)
def test_a_wrong_value_is_named_with_what_would_be_right(value: Any, kind: Any, said: str) -> None:
    with pytest.raises(InvalidSetting) as caught:
        converted(value, kind, "n")
    assert caught.value.message == said and caught.value.fields == {"field": "n"}


def test_text_stands_for_flags_and_lists() -> None:
    assert converted("TRUE", bool, "n") is True
    assert converted("a, b,", tuple[str, ...], "n") == ["a", "b"]
    assert converted({"any": 1}, Any, "n") == {"any": 1}


@pytest.mark.parametrize(
    ("settings", "field"),
    [
        (Outer(wait=0), "outer.wait"),
        (Outer(wait=timedelta()), "outer.wait"),
        (Outer(wait="never"), "outer.wait"),
        (Outer(share=float("nan")), "outer.share"),
        (Outer(inner=Inner(low=0)), "outer.inner.low"),
        (Outer(other=Inner(low=3)), "outer.other.low"),
    ],
)
def test_values_of_python_code_are_held_to_the_same_bounds_by_their_full_path(settings: Outer, field: str) -> None:
    with pytest.raises(InvalidSetting) as caught:
        settings.check()
    assert caught.value.fields["field"] == field and caught.value.message.startswith(f"{field} is ")


def test_what_is_within_its_bounds_is_taken() -> None:
    Outer(wait=timedelta(seconds=1), share=0.1, other=Inner(low=2)).check()
    Outer(wait="1h").check("elsewhere")


def test_a_type_is_taken_apart() -> None:
    kind = SettingType.of(NonNegativeSeconds | None)
    assert (kind.base, kind.seconds, kind.duration, kind.bounds) == (float, True, False, "at least 0")
    assert SettingType.of(Period).duration
    assert settings_in(Inner | None) is Inner and settings_in(Count) is None
