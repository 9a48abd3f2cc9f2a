"""Text from outside that is to be kept: every database refuses some of it, so it is checked where it comes in.

``checked_text`` is for texts whose author can be told. What nobody can be told of, such as the message of an
exception, is made storable instead (``turnout.model.logs.storable``).
"""

from __future__ import annotations

from typing import Any

from turnout.errors import InvalidInput, TurnoutError

MAX_KEY_LENGTH = 2_048
"""Bytes of an idempotency key. With the workflow's full name it has to fit an entry of a PostgreSQL index, 2,704."""
MAX_REASON_LENGTH = 4_096
MAX_NAME_LENGTH = 256
"""Bytes of a label, a poller's key and the like."""

SHOWN = 40


def checked_text(
    text: object, field: str, *, longest: int | None = None, error: type[TurnoutError] = InvalidInput, **fields: Any
) -> str:
    """The text, if every database can keep it; else the error that names the field and what is wrong with it.

    >>> checked_text("order 17", "key", longest=2_048)
    'order 17'
    """
    if not isinstance(text, str):
        raise error(f"{field} is {_shown(text)}: it must be text", code="not_text", field=field, **fields)
    if "\0" in text:
        raise error(
            f"{field} is {_shown(text)}: it holds a NUL character, which databases refuse",
            code="text_nul",
            field=field,
            **fields,
        )
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        raise error(
            f"{field} is {_shown(text)}: it holds a lone surrogate, which is not text (bytes that are not UTF-8?)",
            code="text_surrogate",
            field=field,
            **fields,
        ) from None
    if longest is not None and size > longest:
        raise error(
            f"{field} is {_shown(text)}, {size:,} bytes: write at most {longest:,}",
            code="text_too_long",
            field=field,
            **fields,
        )
    return text


def _shown(value: object) -> str:
    shown = ascii(value)
    return shown if len(shown) <= SHOWN else f"{shown[:SHOWN]}…"
