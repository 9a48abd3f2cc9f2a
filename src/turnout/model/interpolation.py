"""Holds texts with references and command substitutions as values, and fills them in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import msgspec

from turnout.errors import InvalidInput


class Reference(msgspec.Struct, frozen=True, tag="ref", omit_defaults=True):
    """The value of a variable, a parameter or an output; the path leads into JSON."""

    name: str
    path: tuple[str | int, ...] = ()


class Substitution(msgspec.Struct, frozen=True, tag="command"):
    """The trimmed output of a command, which is run where the text is filled in."""

    command: str


Text: TypeAlias = tuple[str | Reference | Substitution, ...]
"""A text in parts. Values that are filled in are never examined for further references."""

MISSING_PATH = "missing_path"


def literal(text: str) -> Text:
    return (text,) if text else ()


def references_in(text: Text) -> Iterator[Reference]:
    return (part for part in text if isinstance(part, Reference))


def commands_in(text: Text) -> list[str]:
    """Returns the commands whose output the text contains, in order."""
    return [part.command for part in text if isinstance(part, Substitution)]


def filled(text: Text, values: Mapping[str, Any], outputs: Sequence[str] = ()) -> str:
    """Returns the text with these values. ``outputs`` are those of its commands, in order."""
    following = iter(outputs)
    parts: list[str] = []
    for part in text:
        match part:
            case str():
                parts.append(part)
            case Reference():
                parts.append(as_text(looked_up(part, values)))
            case Substitution():
                parts.append(next(following).rstrip("\n"))
    return "".join(parts)


def looked_up(reference: Reference, values: Mapping[str, Any]) -> Any:
    """Returns the value that the reference leads to; None if its name has no value. Raises InvalidInput if there is
    nothing at the path."""
    value = values.get(reference.name)
    if value is None or not reference.path:
        return value
    found, error = _followed(value, reference.path)
    if error:
        raise InvalidInput(
            f"${{{shown(reference)}}}: {error}", code=MISSING_PATH, name=reference.name, path=list(reference.path)
        )
    return found


def _followed(value: Any, path: Sequence[str | int]) -> tuple[Any, str]:
    for done, step in enumerate(path):
        if isinstance(value, str):
            try:
                value = msgspec.json.decode(value)
            except (msgspec.DecodeError, RecursionError):
                return None, f"the value is text and not JSON, so it has nothing at {step!r}"
        match value, step:
            case dict(), _ if str(step) in value:
                value = value[str(step)]
            case list(), int() if -len(value) <= step < len(value):
                value = value[step]
            case _:
                return None, f"there is nothing at {path_text(path[: done + 1])}: {_has(value)}"
    return value, ""


def _has(value: Any) -> str:
    match value:
        case dict():
            return f"there is an object with the keys {', '.join(map(repr, list(value)[:10])) or '(none)'}"
        case list():
            return f"there is a list of {len(value)} items"
        case _:
            return f"there is {as_text(value)[:50]!r}"


def as_text(value: Any) -> str:
    """Returns a JSON value as the text of a variable: text as it is, null as nothing, everything else as JSON.

    >>> as_text(True), as_text(1.0), as_text({"a": 1}), as_text(None)
    ('true', '1.0', '{"a":1}', '')
    """
    if isinstance(value, str):
        return value
    return "" if value is None else msgspec.json.encode(value).decode()


def shown(reference: Reference) -> str:
    """Returns the reference as it is written between braces."""
    return f"{reference.name}{path_text(reference.path)}"


def path_text(path: Sequence[str | int]) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)


def items_in(value: Any) -> list[Any] | None:
    """Returns the items of a list, of JSON text of one, or of text with an item a line or word; None if it has none.

    >>> items_in("a b"), items_in('["a b"]'), items_in("a b\\nc")
    (['a', 'b'], ['a b'], ['a b', 'c'])
    """
    if isinstance(value, list):
        return value
    if value is None:
        return []
    if not isinstance(value, str):
        return None
    text = value.strip()
    if text.startswith("["):
        try:
            found = msgspec.json.decode(text)
        except (msgspec.DecodeError, RecursionError):
            found = None
        if isinstance(found, list):
            return found
    return [line.strip() for line in text.splitlines() if line.strip()] if "\n" in text else text.split()
