"""Fills in, masks and examines JSON values whose texts have references in them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from turnout.model.interpolation import Reference, Text, filled, looked_up, references_in
from turnout.model.step import Constant, Fields, Interpolated, Items, Value


def value_of(value: Value, values: Mapping[str, Any]) -> Any:
    """Returns the value with its texts filled in."""
    match value:
        case Constant(constant):
            return constant
        case Interpolated(text):
            if len(text) == 1 and isinstance(text[0], Reference):
                return looked_up(text[0], values)
            return filled(text, values)
        case Items(items):
            return [value_of(each, values) for each in items]
        case Fields(fields):
            return {name: value_of(each, values) for name, each in fields.items()}


def masked_value(value: Any, masked: Callable[[str], str]) -> Any:
    """Returns a JSON value with all its texts masked."""
    match value:
        case str():
            return masked(value)
        case list():
            return [masked_value(each, masked) for each in value]
        case dict():
            return {masked(name): masked_value(each, masked) for name, each in value.items()}
        case _:
            return value


def texts_in(value: Value) -> Iterator[Text]:
    """Yields the texts of the value that are filled in."""
    match value:
        case Interpolated(text):
            yield text
        case Items(items):
            for each in items:
                yield from texts_in(each)
        case Fields(fields):
            for each in fields.values():
                yield from texts_in(each)
        case Constant():
            return


def references_of(value: Value) -> set[str]:
    """Returns the names that the texts of the value refer to."""
    return {each.name for text in texts_in(value) for each in references_in(text)}


def is_constant(value: Value) -> bool:
    """True if no text of the value is filled in."""
    match value:
        case Constant():
            return True
        case Items(items):
            return all(map(is_constant, items))
        case Fields(fields):
            return all(map(is_constant, fields.values()))
        case Interpolated():
            return False


def constant(value: Value) -> Any:
    """Returns the JSON value of a constant one."""
    match value:
        case Items(items):
            return [constant(each) for each in items]
        case Fields(fields):
            return {name: constant(each) for name, each in fields.items()}
        case Constant(plain):
            return plain
        case Interpolated():
            raise AssertionError("not a constant")
