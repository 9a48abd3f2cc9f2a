"""Declares the types of settings with their bounds, and converts and checks values by them.

A type has the kind and the bounds of one value, as in ``Annotated[int, Meta(ge=1)]``. Files, environment variables and
Python code are checked by the same types; rules about several settings are in ``check_rules`` of their class.
"""

from __future__ import annotations

import re
import types
import typing
from collections.abc import Mapping
from enum import Enum
from functools import cache
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

import msgspec
from msgspec import Meta

from turnout.errors import DefinitionError, InvalidSetting
from turnout.model.durations import Duration, seconds


class Unit(Enum):
    """Marks a number as seconds: configuration may give it as text such as ``"5m"``."""

    SECONDS = "seconds"


Count: TypeAlias = Annotated[int, Meta(ge=1)]
Natural: TypeAlias = Annotated[int, Meta(ge=0)]
Ratio: TypeAlias = Annotated[float, Meta(gt=0, lt=1)]
"""A share of something, never a duration."""
Seconds: TypeAlias = Annotated[float, Meta(gt=0), Unit.SECONDS]
NonNegativeSeconds: TypeAlias = Annotated[float, Meta(ge=0), Unit.SECONDS]
Period: TypeAlias = Annotated[Duration, Meta(gt=0), Unit.SECONDS]
Age: TypeAlias = Annotated[Duration, Meta(ge=0), Unit.SECONDS]
Text: TypeAlias = Annotated[str, Meta(min_length=1)]

_NUMBER = re.compile(r"(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?")
_WHOLE = re.compile(r"-?\d+(?:_\d+)*")
_NAMES: Mapping[Any, str] = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}


class SettingType(msgspec.Struct, frozen=True):
    """The parts of one declared type."""

    base: Any
    """The type that msgspec converts to before bounds are checked: ``float`` of ``Seconds | None``."""
    meta: Meta | None = None
    seconds: bool = False
    duration: bool = False
    """True if Python code may give it as text or as a timedelta."""

    @classmethod
    def of(cls, annotation: Any) -> SettingType:
        annotation = without_none(annotation)
        if typing.get_origin(annotation) is not Annotated:
            return cls(annotation)
        base, *marks = typing.get_args(annotation)
        meta = next((mark for mark in marks if isinstance(mark, Meta)), None)
        in_seconds = Unit.SECONDS in marks
        return cls(float if in_seconds else base, meta, in_seconds, in_seconds and base is not float)

    @property
    def is_list(self) -> bool:
        return typing.get_origin(self.base) in (list, tuple)

    @property
    def declared(self) -> Any:
        return self.base if self.meta is None else Annotated[self.base, self.meta]

    @property
    def text(self) -> str:
        """The valid values, as messages describe them."""
        if self.meta is not None and self.meta.title is not None:
            return self.meta.title
        if self.seconds:
            return 'a number of seconds, or text such as "30s", "5m" or "1h30m"'
        if self.base is float and self.bounds:
            return self.bounds
        if typing.get_origin(self.base) is Literal:
            return " or ".join(f'"{each}"' for each in typing.get_args(self.base))
        return "a list of texts" if self.is_list else _NAMES.get(self.base, "a value")

    @property
    def bounds(self) -> str:
        """The bounds, as messages describe them; empty if there are none."""
        match self.meta:
            case Meta(gt=int() as low, lt=int() as high):
                return f"a number above {low} and below {high}"
            case Meta(ge=int() as low, le=int() as high):
                return f"a number from {low} to {high}"
            case Meta(gt=0):
                return "a positive number of seconds"
            case Meta(ge=int() as low):
                return f"at least {low}"
            case _:
                return ""

    def read(self, value: Any) -> Any:
        """Returns the value as the base type. Numbers, flags and lists may be given as text."""
        if self.base is Any:
            return value
        if isinstance(value, str):
            if self.base is float and _NUMBER.fullmatch(value):
                value = float(value)
            elif self.base is int and _WHOLE.fullmatch(value):
                value = int(value)
            elif self.is_list:
                value = [part.strip() for part in value.split(",") if part.strip()]
        if self.seconds:
            return seconds(value)
        return msgspec.convert(value, self._kind, strict=not isinstance(value, str))

    @property
    def _kind(self) -> Any:
        """The type without bounds. No text is empty."""
        if self.base is str:
            return Text
        of_texts = self.is_list and typing.get_origin(typing.get_args(self.base)[0]) is None
        return list[Text] if of_texts else self.base


def converted(value: Any, annotation: Any, name: str) -> Any:
    """Returns the value as the declared type, durations in seconds. Raises InvalidSetting, which names it ``name``."""
    kind = SettingType.of(annotation)
    try:
        found = kind.read(value)
    except (msgspec.ValidationError, DefinitionError) as error:
        shown = "empty" if value is None else repr(value)
        raise InvalidSetting(f"{name} is {shown}; write {kind.text}", field=name) from error
    try:
        msgspec.convert(found, kind.declared)
    except msgspec.ValidationError as error:
        wrong = f"; it must be {kind.bounds}" if kind.bounds else f": {error}"
        raise InvalidSetting(f"{name} is {value!r}{wrong}", field=name) from error
    return found


def without_none(annotation: Any) -> Any:
    """Returns ``float`` for ``float | None``."""
    if typing.get_origin(annotation) in (types.UnionType, typing.Union):
        left = [each for each in typing.get_args(annotation) if each is not types.NoneType]
        return left[0] if len(left) == 1 else annotation
    return annotation


@cache
def types_of(settings: type[msgspec.Struct]) -> Mapping[str, Any]:
    """Returns the declared type of each field, bounds included."""
    hints = typing.get_type_hints(settings, include_extras=True)
    return {name: hints[name] for name in settings.__struct_fields__}


def settings_in(annotation: Any) -> type[Settings] | None:
    """Returns the class of nested settings; None if the type is that of one value."""
    wanted = without_none(annotation)
    return wanted if isinstance(wanted, type) and issubclass(wanted, Settings) else None


class Settings(msgspec.Struct, frozen=True):
    """Values that are checked by the bounds of their types."""

    table: ClassVar[str] = ""
    """The table of a configuration that holds these keys."""

    def check(self, path: str = "") -> None:
        """Raises InvalidSetting for the first value that is not valid, by its full path."""
        at = path or self.table
        for name, annotation in types_of(type(self)).items():
            value, field = getattr(self, name), f"{at}.{name}" if at else name
            if isinstance(value, Settings):
                value.check(field)
            elif value is not None:
                check_value(value, annotation, field)
        self.check_rules(at)

    def check_rules(self, path: str) -> None:
        """Raises InvalidSetting for values that contradict each other."""


def check_value(value: Any, annotation: Any, field: str) -> None:
    """Raises InvalidSetting for a value of Python code that is outside of its type's bounds."""
    kind = SettingType.of(annotation)
    if not kind.bounds:
        return
    try:
        number = seconds(value) if kind.duration else value
        msgspec.convert(number, kind.declared, strict=isinstance(number, str))
    except DefinitionError as error:
        raise InvalidSetting(f"{field} is {value!r}; write {kind.text}", field=field) from error
    except msgspec.ValidationError as error:
        raise InvalidSetting(f"{field} is {value!r}; it must be {kind.bounds}", field=field) from error


def check_order(settings: msgspec.Struct, low: str, high: str, path: str) -> None:
    """Raises InvalidSetting if the first of these two settings is more than the second."""
    less, more = getattr(settings, low), getattr(settings, high)
    if less > more:
        raise InvalidSetting(
            f"{path}.{low} is {less!r}, more than {high}, {more!r}",
            field=f"{path}.{low}",
            beside=(f"{path}.{high}",),
        )
