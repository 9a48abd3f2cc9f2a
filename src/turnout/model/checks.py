"""Checks that settings share. Each names the setting by its full path."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import msgspec

from turnout.errors import InvalidSetting

Ratio: TypeAlias = Annotated[float, msgspec.Meta(gt=0, lt=1)]
"""A share of something: a number above 0 and below 1, never a duration."""


def at_least(value: float, bound: int, path: str) -> None:
    if not value >= bound:
        raise InvalidSetting(f"{path} is {value!r}; it must be at least {bound}", field=path)


def positive_seconds(value: float, path: str) -> None:
    if not value > 0:
        raise InvalidSetting(f"{path} is {value!r}; it must be a positive number of seconds", field=path)


def share(value: float, path: str) -> None:
    if not 0 < value < 1:
        raise InvalidSetting(f"{path} is {value!r}; it must be a number above 0 and below 1", field=path)


def in_order(settings: msgspec.Struct, low: str, high: str, path: str) -> None:
    """The first of these two settings is not more than the second."""
    less, more = getattr(settings, low), getattr(settings, high)
    if less > more:
        raise InvalidSetting(
            f"{path}.{low} is {less!r}, more than {high}, {more!r}",
            field=f"{path}.{low}",
            beside=(f"{path}.{high}",),
        )
