"""Matches messages against the patterns of a script, and fills captured values into what is sent."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

Captured = dict[str, Any]
_ABSENT: Final = object()


class Mismatch(Exception):
    """Raised when a value does not match its pattern; names the path to it."""


def match(pattern: Any, value: Any, captured: Captured) -> None:
    """Raises Mismatch, else adds to ``captured`` what the pattern captures.

    >>> found = {}
    >>> match({"seq": "$capture:seq", "labels": {"zone": "a"}}, {"seq": 2, "labels": {"zone": "a", "gpu": "1"}}, found)
    >>> found
    {'seq': 2}
    """
    taken = dict(captured)
    _match(pattern, value, taken, "")
    captured.update(taken)


def problem_with(pattern: Any, value: Any, captured: Mapping[str, Any]) -> str | None:
    """Returns the reason why the value does not match; None if it does."""
    try:
        _match(pattern, value, dict(captured), "")
    except Mismatch as mismatch:
        return str(mismatch)
    return None


def fill(template: Any, captured: Mapping[str, Any]) -> Any:
    """The template with ``$get:name`` replaced by what was captured, also inside longer text as ``${name}``."""
    match template:
        case str() if template.startswith("$get:"):
            return captured[template.removeprefix("$get:")]
        case str():
            for name, value in captured.items() if "${" in template else ():
                if (placeholder := f"${{{name}}}") in template:  # some values are large
                    template = template.replace(placeholder, str(value))
            return template
        case Mapping():
            return {key: fill(each, captured) for key, each in template.items()}
        case list():
            return [fill(each, captured) for each in template]
        case _:
            return template


def _match(pattern: Any, value: Any, captured: Captured, path: str) -> None:
    match pattern:
        case str() if pattern.startswith("$"):
            _placeholder(pattern, value, captured, path)
        case Mapping() if len(pattern) == 1 and next(iter(pattern)).startswith("$"):
            name, argument = next(iter(pattern.items()))
            _FORMS[name](argument, value, captured, path)
        case Mapping():
            _need(isinstance(value, Mapping), path, "an object", value)
            for key, each in pattern.items():
                _match(each, value.get(key, _ABSENT), captured, f"{path}.{key}" if path else key)
        case list():
            _need(isinstance(value, list) and len(value) == len(pattern), path, f"{len(pattern)} in a list", value)
            for number, each in enumerate(pattern):
                _match(each, value[number], captured, f"{path}[{number}]")
        case _:
            same = value == pattern and isinstance(value, bool) == isinstance(pattern, bool)
            _need(same, path, repr(pattern), value)


def _placeholder(pattern: str, value: Any, captured: Captured, path: str) -> None:
    name, _, argument = pattern[1:].partition(":")
    _need(value is not _ABSENT, path, pattern, value)
    match name:
        case "any":
            pass
        case "text":
            _need(isinstance(value, str), path, "text", value)
        case "integer":
            _need(isinstance(value, int) and not isinstance(value, bool), path, "an integer", value)
        case "capture":
            captured[argument] = value
        case "get":
            _need(value == captured[argument], path, repr(captured[argument]), value)
        case "more_than":
            larger = isinstance(value, int) and value > captured[argument]
            _need(larger, path, f"more than {captured[argument]}", value)
            captured[argument] = value
        case _:
            raise ValueError(f"there is no placeholder {pattern!r}")


def _optional(argument: Any, value: Any, captured: Captured, path: str) -> None:
    if value is not _ABSENT:
        _match(argument, value, captured, path)


def _one_of(argument: Any, value: Any, captured: Captured, path: str) -> None:
    fits = any(problem_with(each, value, captured) is None for each in argument) if value is not _ABSENT else False
    _need(fits, path, f"one of {argument}", value)


def _includes(argument: Any, value: Any, captured: Captured, path: str) -> None:
    _need(isinstance(value, list), path, "a list", value)
    _need(_assign(argument, value, captured), path, f"a list with {argument} in it", value)


def _unordered(argument: Any, value: Any, captured: Captured, path: str) -> None:
    _need(isinstance(value, list) and len(value) == len(argument), path, f"{len(argument)} in a list", value)
    _need(_assign(argument, value, captured), path, f"{argument} in any order", value)


def _assign(patterns: Sequence[Any], values: Sequence[Any], captured: Captured) -> bool:
    """True if every pattern matches a value of its own."""
    if not patterns:
        return True
    for number, value in enumerate(values):
        if problem_with(patterns[0], value, captured) is None:
            rest = [*values[:number], *values[number + 1 :]]
            if _assign(patterns[1:], rest, captured):
                return True
    return False


def _need(holds: bool, path: str, wanted: str, value: Any) -> None:
    if not holds:
        came = "nothing" if value is _ABSENT else repr(value)
        raise Mismatch(f"{path or 'the body'}: expected {wanted}, got {came if len(came) < 200 else came[:200] + '…'}")


_FORMS: dict[str, Callable[[Any, Any, Captured, str], None]] = {
    "$optional": _optional,
    "$one_of": _one_of,
    "$includes": _includes,
    "$unordered": _unordered,
}
