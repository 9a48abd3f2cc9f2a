"""Text from outside made safe for a terminal: control characters and bidirectional overrides as visible escapes.

The store keeps text as it came. Whatever writes to a terminal, a pipe or a log file passes it through here.
"""

from __future__ import annotations

import json
import re
from typing import Any

_BIDIRECTIONAL = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
"""Marks that change the order in which a terminal shows what surrounds them."""
_SEPARATORS = "\u2028\u2029"
_UNSAFE = re.compile(f"[\x00-\x08\x0b-\x1f\x7f-\x9f{_BIDIRECTIONAL}{_SEPARATORS}]")
"""Every control character but the newline and the tab, those of C1 included."""
_UNSAFE_IN_LINE = re.compile(f"[\x00-\x1f\x7f-\x9f{_BIDIRECTIONAL}{_SEPARATORS}]")
_SHORT = {"\t": "\\t", "\n": "\\n", "\r": "\\r"}


def printable(text: str) -> str:
    r"""The text with what would steer a terminal escaped; newlines and tabs stay. Escaping twice changes nothing.

    >>> print(printable("\x1b[31mred\x07"))
    \x1b[31mred\x07
    """
    return _UNSAFE.sub(_escape, text)


def printable_line(text: str) -> str:
    r"""The same for text that must stay on one line, as the cell of a table.

    >>> print(printable_line("two\nlines"))
    two\nlines
    """
    return _UNSAFE_IN_LINE.sub(_escape, text)


def _escape(found: re.Match[str]) -> str:
    character = found[0]
    code = ord(character)
    return _SHORT.get(character) or (f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}")


def json_text(value: Any, *, indent: int | None = None) -> str:
    r"""The value as JSON that is readable and holds no such character: they stand in strings only, as ``\u009b``.

    >>> print(json_text({"café": "\x9b31m"}))
    {"café": "\u009b31m"}
    """
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
