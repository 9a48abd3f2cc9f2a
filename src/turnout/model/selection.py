"""Selects a part of a JSON value by a path such as ``.items[].name | first``."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

from turnout.errors import InvalidInput

MAX_PATH_LENGTH = 1_000

_STEP = re.compile(
    r"""
    \.(?P<key>[A-Za-z_][A-Za-z0-9_-]*)
    | \.?\[\s*"(?P<quoted>[^"]*)"\s*\]
    | \."(?P<string>[^"]*)"
    | \.?\[\s*(?P<index>-?\d+)\s*\]
    | (?P<each>\.?\[\s*\])
    """,
    re.VERBOSE,
)


class Key(NamedTuple):
    name: str


class Index(NamedTuple):
    number: int


class Each(NamedTuple):
    """Every item of a list, or every value of an object."""


class Filter(NamedTuple):
    name: str


Step: TypeAlias = Key | Index | Each | Filter


def parsed(path: str) -> tuple[Step, ...]:
    """Returns the steps of a path. Raises InvalidInput that says where it is wrong.

    >>> parsed(".items[0].id")
    (Key(name='items'), Index(number=0), Key(name='id'))
    """
    if len(path) > MAX_PATH_LENGTH:
        raise _wrong(path, f"it has more than {MAX_PATH_LENGTH} characters")
    first, *filters = path.split("|")
    steps = _steps(first.strip(), path)
    for each in filters:
        name = each.strip()
        if name.startswith("."):
            steps += _steps(name, path)
        elif name in FILTERS:
            steps.append(Filter(name))
        else:
            raise _wrong(path, f"{name!r} is none of its filters: use {', '.join(FILTERS)}")
    return tuple(steps)


def _steps(text: str, path: str) -> list[Step]:
    if not text.startswith("."):
        raise _wrong(path, "it begins with '.', as in .items[0].name")
    if text == ".":
        return []
    found: list[Step] = []
    place = 0
    while place < len(text):
        match = _STEP.match(text, place)
        if match is None:
            raise _wrong(path, f'{text[place:]!r} is no step of it: write .name, ."a name", [0] or []')
        place = match.end()
        key = match["key"] if match["key"] is not None else match["quoted"]
        key = key if key is not None else match["string"]
        if key is not None:
            found.append(Key(key))
        else:
            found.append(Index(int(match["index"])) if match["index"] is not None else Each())
    return found


def _wrong(path: str, why: str) -> InvalidInput:
    return InvalidInput(f"the path {path[:100]!r} cannot be read: {why}", code="bad_select", value=path[:100])


def selected(path: str, value: Any) -> Any:
    """Returns what the path finds in a JSON value; with ``[]`` in it, the list of what it finds.

    >>> selected(".items[].id", {"items": [{"id": 1}, {"id": 2}]})
    [1, 2]
    """
    found, several = [value], False
    for step in parsed(path):
        if isinstance(step, Each):
            found = [item for each in found for item in _items(each, path)]
            several = True
        elif isinstance(step, Filter):
            # A filter takes the list as a whole.
            found, several = [FILTERS[step.name](found if several else found[0], path)], False
        else:
            found = [_part(each, step, path) for each in found]
    return found if several else found[0]


def _items(value: Any, path: str) -> list[Any]:
    match value:
        case list():
            return value
        case dict():
            return list(value.values())
        case _:
            raise _missing(path, "[]", value)


def _part(value: Any, step: Key | Index, path: str) -> Any:
    match value, step:
        case dict(), Key(name) if name in value:
            return value[name]
        case list(), Index(number) if -len(value) <= number < len(value):
            return value[number]
        case _, Key(name):
            raise _missing(path, f".{name}", value)
        case _, Index(number):
            raise _missing(path, f"[{number}]", value)


def _missing(path: str, step: str, value: Any) -> InvalidInput:
    has = f"the keys {', '.join(map(repr, list(value)[:10]))}" if isinstance(value, dict) else _kind(value)
    return InvalidInput(f"select {path!r}: there is nothing at {step}, there is {has}", code="nothing_selected")


def _kind(value: Any) -> str:
    return f"a list of {len(value)} items" if isinstance(value, list) else f"a value of type {type(value).__name__}"


def _length(value: Any, path: str) -> int:
    if not isinstance(value, list | dict | str):
        raise _missing(path, "length", value)
    return len(value)


def _keys(value: Any, path: str) -> list[str]:
    if not isinstance(value, dict):
        raise _missing(path, "keys", value)
    return sorted(value)


def _at(number: int) -> Callable[[Any, str], Any]:
    return lambda value, path: _part(value, Index(number), path)


FILTERS: Mapping[str, Callable[[Any, str], Any]] = {
    "length": _length,
    "keys": _keys,
    "first": _at(0),
    "last": _at(-1),
}
"""What may follow a ``|``: each takes one value, after ``[]`` the list of all."""
