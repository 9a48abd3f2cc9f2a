"""Loads named blocks of SQL, by dialect, from the ``-- name: …`` lines of the files in ``sql/``.

``sql/shared`` serves both dialects; a dialect's own folder adds to it. Shared SQL is written as for SQLite:

- ``:name`` is a parameter; ``:now`` and ``:lease_now`` are the database's clock (PostgreSQL: an expression);
- ``{name}`` or ``{name uuid}`` is the set of values in a parameter that holds a JSON array;
- ``/*pg … */`` and ``/*sqlite … */`` are there for one dialect only, and comments for the other.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Literal, TypeAlias

Dialect: TypeAlias = Literal["sqlite", "postgres"]

_NAME = re.compile(r"^-- name: (\w+)$", re.MULTILINE)
_PARAMETER = re.compile(r"(?<!:):([a-z_]+)")
_SET = re.compile(r"\{(\w+)(?: (\w+))?\}")
_POSTGRES_ONLY = re.compile(r"/\*pg (.*?)\*/", re.DOTALL)
_SQLITE_ONLY = re.compile(r"/\*sqlite (.*?)\*/", re.DOTALL)
_COMMENT = re.compile(r"^\s*--.*\n", re.MULTILINE)
_CLOCK = "extract(epoch from clock_timestamp())::double precision"


@cache
def load_blocks(dialect: Dialect) -> Mapping[str, str]:
    """Returns every named block of the dialect, ready to be executed."""
    blocks: dict[str, str] = {}
    for folder in ("shared", dialect):
        for file in sorted(files("turnout.store").joinpath("sql", folder).iterdir(), key=lambda file: file.name):
            if file.name.endswith(".sql"):
                blocks.update(_split(file.read_text(encoding="utf-8"), dialect))
    return blocks


def _split(text: str, dialect: Dialect) -> dict[str, str]:
    parts = _NAME.split(text)
    bodies = dict(zip(parts[1::2], parts[2::2], strict=True))
    translate = _postgres if dialect == "postgres" else _sqlite
    return {name: translate(_COMMENT.sub("", body).strip()) for name, body in bodies.items()}


def _sqlite(sql: str) -> str:
    sql = _SQLITE_ONLY.sub(r"\1", _POSTGRES_ONLY.sub("", sql))
    return _SET.sub(r"(select value from json_each(:\1))", sql)


def _postgres(sql: str) -> str:
    sql = _POSTGRES_ONLY.sub(r"\1", _SQLITE_ONLY.sub("", sql)).replace("%", "%%")
    sql = _SET.sub(
        lambda found: f"(select v::{found[2] or 'text'} from json_array_elements_text(:{found[1]}::json) v)", sql
    )
    return _PARAMETER.sub(lambda found: _CLOCK if found[1] in ("now", "lease_now") else f"%({found[1]})s", sql)
