"""Holds environment variables as a workflow file declares them."""

from __future__ import annotations

import msgspec


class Variable(msgspec.Struct, frozen=True):
    """One entry of ``env``. Entries are evaluated in order, so a value may use the names before it."""

    name: str
    value: str
    """The text as it was written, with its ``${…}``."""
