"""Makes and reads the cursors of lists: opaque texts, each valid for one list with one filter."""

from __future__ import annotations

import binascii
import hashlib
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Any

import msgspec

from turnout.errors import RequestError

MAX_CURSOR_LENGTH = 512


class _Cursor(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    kind: str
    digest: str
    """Of the filter that the list was asked for with."""
    last: str
    """The last entry of the page before."""


_decode = msgspec.json.Decoder(_Cursor).decode


def cursor_of(kind: str, wanted: Any, last: str) -> str:
    """Returns the cursor of the page behind the entry ``last``, in the list ``kind`` with the filter ``wanted``."""
    text = msgspec.json.encode(_Cursor(kind, _digest(wanted), last))
    return urlsafe_b64encode(text).rstrip(b"=").decode()


def last_entry(cursor: str | None, kind: str, wanted: Any) -> str | None:
    """Returns the entry that a cursor stands for; None without a cursor.

    Raises RequestError if it is no cursor (``invalid_cursor``), or that of another list or filter (``foreign_cursor``).
    """
    if cursor is None:
        return None
    found = _decoded(cursor)
    if found.kind != kind or found.digest != _digest(wanted):
        raise RequestError(
            "this cursor belongs to another list, or to the same list with another filter: repeat the request that it "
            "came from with its cursor, or start without one",
            code="foreign_cursor",
            field="cursor",
        )
    return found.last


def _decoded(cursor: str) -> _Cursor:
    try:
        if len(cursor) > MAX_CURSOR_LENGTH:
            raise ValueError(len(cursor))
        padded = cursor.encode("ascii") + b"=" * (-len(cursor) % 4)
        return _decode(urlsafe_b64decode(padded))
    except (ValueError, binascii.Error, msgspec.MsgspecError) as error:
        raise RequestError(
            f"{cursor[:60]!a} is no cursor: take the value of `next` of the page before",
            code="invalid_cursor",
            field="cursor",
        ) from error


def _digest(wanted: Any) -> str:
    return hashlib.sha256(msgspec.json.encode(wanted, order="deterministic")).hexdigest()[:16]
