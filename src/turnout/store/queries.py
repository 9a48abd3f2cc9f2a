"""Loads named blocks of SQL, by dialect, from the ``-- name: …`` lines of the files in ``sql/``.

``sql/shared`` serves both dialects; a dialect's own folder adds to it. Shared SQL is written as for SQLite:

- ``:name`` is a parameter; ``:now`` and ``:lease_now`` are the database's clock (PostgreSQL: an expression);
- ``{name}`` or ``{name uuid}`` is the set of values in a parameter that holds a JSON array;
- ``<name>`` is the text under ``-- part: name`` in the same file;
- ``/*pg … */`` and ``/*sqlite … */`` are there for one dialect only, and comments for the other.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Literal, TypeAlias

Dialect: TypeAlias = Literal["sqlite", "postgres"]

_HEADING = re.compile(r"^-- (name|part): (\w+)$", re.MULTILINE)
_PART = re.compile(r"<([a-z_]+)>")
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
    found = _HEADING.split(text)[1:]
    bodies: dict[str, dict[str, str]] = {"name": {}, "part": {}}
    for kind, name, body in zip(found[::3], found[1::3], found[2::3], strict=True):
        bodies[kind][name] = _COMMENT.sub("", body).strip()
    translate = _postgres if dialect == "postgres" else _sqlite
    parts = bodies["part"]
    return {name: translate(_PART.sub(lambda part: parts[part[1]], body)) for name, body in bodies["name"].items()}


def _sqlite(sql: str) -> str:
    sql = _SQLITE_ONLY.sub(r"\1", _POSTGRES_ONLY.sub("", sql))
    return _SET.sub(r"(select value from json_each(:\1))", sql)


def _postgres(sql: str) -> str:
    sql = _POSTGRES_ONLY.sub(r"\1", _SQLITE_ONLY.sub("", sql)).replace("%", "%%")
    sql = _SET.sub(
        lambda found: f"(select v::{found[2] or 'text'} from json_array_elements_text(:{found[1]}::json) v)", sql
    )
    return _PARAMETER.sub(lambda found: _CLOCK if found[1] in ("now", "lease_now") else f"%({found[1]})s", sql)
