"""Defines what the parts of a store ask of their database: the one interface that both dialects fill in."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol, TypeAlias

import msgspec

from turnout.errors import StoreRejected
from turnout.store.queries import Dialect

Rows: TypeAlias = list[tuple[Any, ...]]
Execute: TypeAlias = Callable[..., Rows]
"""``execute("block", name=value, …)`` within a transaction."""

LONE_SURROGATE = "the data holds a lone surrogate, which is not text"
NUL = "the data holds a NUL character"

_encoder = msgspec.json.Encoder()
_NUL = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")
"""The escape of a NUL; not a backslash before the letters u0000, which is text in a text."""
_USER_INFO = re.compile(r"(?<=://)([^/@:]*):([^@]*)@")
_PARAMETER = re.compile(r"(?i)\b(password|sslpassword|passfile)=('[^']*'|[^\s&]*)")


class Database(Protocol):
    """Named blocks of SQL, executed on the calling thread's own connection."""

    @property
    def dialect(self) -> Dialect: ...

    def read(self, block: str, **params: Any) -> Rows:
        """Runs one SELECT; retried once on a new connection if the old one was broken."""
        ...

    def write(self, block: str, *, wake: str | None = None, **params: Any) -> Rows:
        """Runs one statement as a transaction; the topic ``wake`` is notified with it."""
        ...

    def write_apart(self, block: str, **params: Any) -> Rows:
        """Runs one statement as a transaction, on the connection that is reserved for the lease."""
        ...

    def transaction(self) -> AbstractContextManager[Execute]:
        """Runs several statements as a transaction; with one writer, its lock is taken at the start."""
        ...

    def transaction_apart(self) -> AbstractContextManager[Execute]:
        """Runs several statements on the connection that is reserved for the lease, so that no queue delays them."""
        ...


def json_list(values: Sequence[Any]) -> str:
    """Returns a set of values as the parameter of a block."""
    return _without_nul(json_text(values))


def json_text(value: Any) -> str:
    """Returns the value as JSON. Raises StoreRejected if it holds invalid text."""
    try:
        return _encoder.encode(value).decode()
    except UnicodeEncodeError as error:
        raise StoreRejected(LONE_SURROGATE) from error


def json_lines(values: Sequence[Any]) -> list[str]:
    """Returns each value as JSON. Raises StoreRejected if one holds invalid text."""
    try:
        text = _encoder.encode_lines(values).decode()
    except UnicodeEncodeError as error:
        raise StoreRejected(LONE_SURROGATE) from error
    # JSON escapes the line ends within strings, and the last line has one too.
    return _without_nul(text).split("\n")[:-1]


def _without_nul(text: str) -> str:
    if "\\u0000" in text and _NUL.search(text):
        raise StoreRejected(NUL)
    return text


def shown_url(url: str) -> str:
    """Returns the URL without secrets.

    >>> shown_url("postgresql://ada:s3cret@db.example/turnout?sslmode=require")
    'postgresql://ada:***@db.example/turnout?sslmode=require'
    >>> shown_url("sqlite:///.turnout/turnout.db")
    'sqlite:///.turnout/turnout.db'
    """
    return _PARAMETER.sub(r"\1=***", _USER_INFO.sub(r"\1:***@", url))
