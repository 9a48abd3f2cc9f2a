"""The path to the part of a value that JSON cannot say, looked for once the value as a whole was refused."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from turnout.errors import NotJson

MAX_DEPTH = 100
"""How deep values may be nested."""


def named(error: NotJson, value: Any, what: str, check: Callable[[Any, str], object]) -> NotJson:
    """The error with the path to what is wrong, as in ``output['rows'][3]``; ``check`` raises it for a part alone."""
    if "path" in error.fields or error.code == "json_depth":
        return error
    for path, part in _suspects(value, "", 0):
        try:
            check(part, f"{what}{path}")
        except NotJson as found:
            found.fields["path"] = path
            return found
    return error


def _suspects(value: Any, path: str, depth: int) -> Iterator[tuple[str, Any]]:
    """The parts that may be wrong by themselves, in order, with their paths."""
    if depth > MAX_DEPTH:
        return
    match value:
        case None | bool() | int():
            return
        case float() | str():
            if not _harmless(value):
                yield path, value
        case dict():
            items: dict[Any, Any] = value
            for key, item in items.items():
                if not (isinstance(key, str) and _harmless(key)):
                    yield path, {key: None}
                yield from _suspects(item, f"{path}[{key!r}]", depth + 1)
        case list() | tuple():
            for index, item in enumerate(value):
                yield from _suspects(item, f"{path}[{index}]", depth + 1)
        case _:
            fields = _fields(value)
            if not fields:
                yield path, value
            for name in fields:
                yield from _suspects(getattr(value, name), f"{path}.{name}", depth + 1)


def _harmless(value: object) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, str) and value.isascii() and "\0" not in value


def _fields(value: Any) -> tuple[str, ...]:
    if isinstance(value, msgspec.Struct):
        return value.__struct_fields__
    return tuple(getattr(type(value), "__dataclass_fields__", ()))
