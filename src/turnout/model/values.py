"""Encodes values as JSON, and refuses NUL, lone surrogates, NaN, excessive depth and excessive size."""

from __future__ import annotations

import math
import re
from typing import Any

import msgspec

from turnout.errors import NotJson, TooLarge
from turnout.model.types import MAX_DEPTH, not_a_key, to_json_value, with_path

MAX_BYTES = 1024 * 1024

_encode = msgspec.json.Encoder().encode
_ATOMS = frozenset({str, int, bool, type(None)})
_JSON = (dict, list, str, int, float)
_NUL = re.compile(rb"(?<!\\)(?:\\\\)*\\u0000")


def load_json(data: bytes | str, what: str) -> Any:
    """Returns the value of JSON text that comes from outside. Raises NotJson if it is nested too deeply to be stored,
    and what the decoder raises if it is not JSON.

    >>> load_json('{"order": [1, 2]}', "the body")
    {'order': [1, 2]}
    """
    try:
        value = msgspec.json.decode(data)
        _check(value, what, 0)
    except RecursionError:
        raise too_deep(what) from None
    return value


class _Typed(Exception):
    """Raised when a part of the value is not JSON yet."""


def dump_output(value: Any, *, limit: int = MAX_BYTES, what: str = "output") -> str:
    """Returns the value as JSON text; raises an error if it cannot be stored. Values of other types are converted."""
    if value is None:
        return "null"
    try:
        return _text(value, what, limit)
    except NotJson as error:
        raise with_path(error, value, what, _text) from error.__cause__


def _text(value: Any, what: str, limit: int = MAX_BYTES) -> str:
    if not isinstance(value, _JSON):
        value = to_json_value(value, what)
    try:
        # The size is checked first, so that the items of a value that is far too large are not checked.
        data = _encode(value)
        if len(data) <= limit:
            _check(value, what, 0)
    except (_Typed, TypeError):
        data = _encoded(_plain(value, what), what)
    except (UnicodeEncodeError, RecursionError, ValueError):
        try:
            _check(value, what, 0)
        except _Typed:
            value = _plain(value, what)
        data = _encoded(value, what)
    if len(data) > limit:
        raise TooLarge(
            f"{what} is {len(data):,} bytes; the limit is {limit:,}. Store it elsewhere and return its path or URI",
            code=f"{what}_too_large",
            size=len(data),
            limit=limit,
        )
    # ``in`` first takes the bytes for a number, and makes an exception of that each time.
    if data.find(b"\\u0000") >= 0 and _NUL.search(data):
        raise NotJson(f"{what} holds a NUL character, which databases refuse", code="json_nul")
    return data.decode()


def _plain(value: Any, what: str) -> Any:
    value = to_json_value(value, what)
    _check(value, what, 0)
    return value


def _encoded(value: Any, what: str) -> bytes:
    try:
        return _encode(value)
    except UnicodeEncodeError as error:
        raise NotJson(f"{what} holds a lone surrogate, which is not text", code="json_surrogate") from error
    except (TypeError, RecursionError, ValueError) as error:
        raise NotJson(f"{what} is not JSON: {error}") from error


def too_deep(what: str) -> NotJson:
    """Returns the error about a value whose nesting no database or reader is asked to follow."""
    return NotJson(f"{what} is nested deeper than {MAX_DEPTH} levels: send a flatter value", code="json_depth")


def _check(value: Any, what: str, depth: int) -> None:
    if type(value) in _ATOMS:
        return
    if isinstance(value, dict):
        items: dict[Any, Any] = value
        if depth >= MAX_DEPTH and items:
            raise too_deep(what)
        for key, item in items.items():
            if type(key) is not str and not isinstance(key, str):
                raise not_a_key(what, key)
            if type(item) not in _ATOMS:
                _check(item, what, depth + 1)
    elif isinstance(value, list):
        listed: list[Any] = value
        if depth >= MAX_DEPTH and listed:
            raise too_deep(what)
        for item in listed:
            if type(item) not in _ATOMS:
                _check(item, what, depth + 1)
    elif isinstance(value, float):
        if not math.isfinite(value):
            raise NotJson(f"{what} holds {value}, which JSON cannot say", code="not_json")
    elif not isinstance(value, str | int):
        raise _Typed
