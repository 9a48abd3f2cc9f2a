"""What do the parts of a store ask of their database? The one small interface that both dialects fill in."""

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

_NUL = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")
"""The escape of a NUL; not a backslash before the letters u0000, which is text in a text."""


class Database(Protocol):
    """Named blocks of SQL, executed on the calling thread's own connection."""

    @property
    def dialect(self) -> Dialect: ...

    def read(self, block: str, **params: Any) -> Rows:
        """One SELECT; tried once more on a fresh connection if the old one was broken."""
        ...

    def write(self, block: str, *, wake: str | None = None, **params: Any) -> Rows:
        """One statement as a transaction of its own; ``wake`` is notified with it."""
        ...

    def write_apart(self, block: str, **params: Any) -> Rows:
        """One statement as a transaction of its own, on the connection that nothing else uses."""
        ...

    def transaction(self) -> AbstractContextManager[Execute]:
        """Several statements that hold together; the writer's lock is taken at the start where there is only one."""
        ...

    def transaction_apart(self) -> AbstractContextManager[Execute]:
        """The same on the connection that nothing else uses, so that no queue delays it."""
        ...


def json_list(values: Sequence[Any]) -> str:
    """How a set of values is handed to a block."""
    text = json_text(values)
    if "\\u0000" in text and _NUL.search(text):
        raise StoreRejected("the data holds a NUL character")
    return text


def json_text(value: Any) -> str:
    """The value as JSON; StoreRejected if it holds text that is none."""
    try:
        return msgspec.json.encode(value).decode()
    except UnicodeEncodeError as error:
        raise StoreRejected("the data holds a lone surrogate, which is not text") from error
