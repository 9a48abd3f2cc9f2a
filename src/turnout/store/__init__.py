"""Connects to the store that a URL names: SQLite or PostgreSQL."""

from __future__ import annotations

from urllib.parse import parse_qs

from turnout.contracts.store import Store
from turnout.errors import InvalidSetting
from turnout.model.extras import optional_packages
from turnout.store.database import shown_url


def connect(
    url: str, *, direct_url: str | None = None, lanes: int = 8, connections: int = 10, create: bool = True
) -> Store:
    """Returns the store for ``sqlite:///relative/path``, ``sqlite:////absolute/path``, ``sqlite:///:memory:`` or
    ``postgresql://user@host/database``. It is not opened yet. Raises InvalidSetting for any other URL.

    With ``create=False`` opening it creates nothing: it raises DatabaseNotFound if there is no store.

    ``direct_url`` is for PostgreSQL behind a pooler in transaction mode, whose URL is the first: the same database
    without the pooler.

    ``lanes`` and ``connections`` are for PostgreSQL: commits in flight at once, and connections for the rest. SQLite
    has one writer."""
    scheme = url.partition("://")[0]
    if direct_url is not None and scheme == "sqlite":
        raise InvalidSetting("direct_database is for PostgreSQL, and the database is SQLite", code="bad_database_url")
    if scheme == "sqlite":
        from turnout.store.sqlite import SqliteStore

        path, _, query = url.removeprefix("sqlite:///").partition("?")
        if not url.startswith("sqlite:///") or not path:
            raise InvalidSetting(
                f"{url!r} names no database: write sqlite:///path/to/turnout.db", code="bad_database_url"
            )
        return SqliteStore(url, path, read_only=parse_qs(query).get("mode") == ["ro"], create=create)
    if scheme in ("postgresql", "postgres"):
        with optional_packages():
            from turnout.store.postgres import PostgresStore
            from turnout.store.postgres.settings import PostgresSettings

        settings = PostgresSettings(lanes=lanes, pool_size=connections)
        return PostgresStore(url, settings, direct_url=direct_url, create=create)
    raise InvalidSetting(
        f"{shown_url(url)!r} is not a database that Turnout knows: write sqlite:///path or postgresql://user@host/name",
        code="bad_database_url",
    )
