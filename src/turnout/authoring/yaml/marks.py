"""Holds the places of the values of a document, so that later stages can report where a value was written."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

import msgspec

_LAST_PART = re.compile(r"(?:\.[^.\[\]]+|\[[^\[\]]*\]|^[^.\[\]]+)$")


class Mark(NamedTuple):
    """A place in a text; both numbers count from 1."""

    line: int
    column: int


class Marks(msgspec.Struct, frozen=True):
    """The places of one document's values by their paths: ``steps[2].retry_policy.limit``, ``env.PATH_PREFIX``."""

    places: Mapping[str, Mark]

    def at(self, path: str) -> Mark:
        """Returns the place of the value, or of the nearest value around it that was written in this file."""
        while path not in self.places and path:
            path = _LAST_PART.sub("", path)
        return self.places.get(path, Mark(1, 1))
