"""Writes columns of values as array literals of PostgreSQL."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from turnout.store.database import json_text

_OTHER_ESCAPE = re.compile(r'\\[^"]')

Value = str | int | float | None


def array(values: Sequence[Value]) -> str:
    """Returns the literal of an array.

    A JSON array in braces is one, as long as its strings hold no control characters: JSON escapes them by a letter,
    which PostgreSQL would take for itself. Its encoder is ten times as fast as the driver's.
    """
    text = json_text(values)
    if "\\" in text and _OTHER_ESCAPE.search(text.replace("\\\\", "")):
        return "{" + ",".join(map(_element, values)) + "}"
    return "{" + text[1:-1] + "}"


def columns(names: Sequence[str], rows: Sequence[Sequence[Value]]) -> dict[str, str]:
    """Returns an array literal for each column of these rows, by its name."""
    values: Iterable[Sequence[Value]] = zip(*rows, strict=True) if rows else [()] * len(names)
    return dict(zip(names, map(array, values), strict=True))


def _element(value: Value) -> str:
    if not isinstance(value, str):
        return "null" if value is None else str(value)
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
