"""Checks and cleans text from outside before it is stored, and escapes control characters before it is shown.

``checked_text`` raises an error for the author of the text. Text without an author to correct it, such as the message
of an exception, is made storable instead (``turnout.model.logs.storable``).
"""

from __future__ import annotations

import json
import re
from typing import Any

from turnout.errors import InvalidInput, TurnoutError

MAX_KEY_LENGTH = 2_048
"""Bytes of an idempotency key. With the workflow's full name it has to fit an entry of a PostgreSQL index, 2,704."""
MAX_REASON_LENGTH = 4_096
MAX_NAME_LENGTH = 256
"""Bytes of a label, a poller's key and the like."""

MAX_SHOWN = 40


def checked_text(
    text: object, field: str, *, longest: int | None = None, error: type[TurnoutError] = InvalidInput, **fields: Any
) -> str:
    """Returns the text; raises an error that names the field if a database cannot store it.

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
    return shown if len(shown) <= MAX_SHOWN else f"{shown[:MAX_SHOWN]}…"


_BIDIRECTIONAL = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
"""Characters that change the order in which a terminal shows the text around them."""
_SEPARATORS = "\u2028\u2029"
_UNSAFE = re.compile(f"[\x00-\x08\x0b-\x1f\x7f-\x9f{_BIDIRECTIONAL}{_SEPARATORS}]")
"""Every control character except the newline and the tab, those of C1 included."""
_UNSAFE_IN_LINE = re.compile(f"[\x00-\x1f\x7f-\x9f{_BIDIRECTIONAL}{_SEPARATORS}]")
_SHORT = {"\t": "\\t", "\n": "\\n", "\r": "\\r"}


def printable(text: str) -> str:
    r"""Returns the text with control characters escaped, except newlines and tabs. Escaping twice changes nothing.

    >>> print(printable("\x1b[31mred\x07"))
    \x1b[31mred\x07
    """
    return _UNSAFE.sub(_escape, text)


def printable_line(text: str) -> str:
    r"""Returns the same for text on one line, such as the cell of a table.

    >>> print(printable_line("two\nlines"))
    two\nlines
    """
    return _UNSAFE_IN_LINE.sub(_escape, text)


def _escape(found: re.Match[str]) -> str:
    character = found[0]
    code = ord(character)
    return _SHORT.get(character) or (f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}")


def json_text(value: Any, *, indent: int | None = None) -> str:
    r"""Returns the value as readable JSON without control characters: in strings they are written ``\u009b``.

    >>> print(json_text({"café": "\x9b31m"}))
    {"café": "\u009b31m"}
    """
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
