"""Opens connections to PostgreSQL: to the server, or through a pooler that keeps a session for one transaction only."""

from __future__ import annotations

from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg.types.string import TextLoader

from turnout.errors import InvalidSetting
from turnout.store.postgres.errors import translated
from turnout.store.postgres.pool import Connection
from turnout.store.postgres.settings import PostgresSettings


class Connector:
    """Opens connections with the timeouts and planner settings.

    With a ``direct_url`` the other URL is that of a pooler in transaction mode. Each transaction may get another
    session of the server there: options and prepared statements would be lost or refused, so the settings go with every
    transaction. What needs a session of its own uses the direct URL."""

    def __init__(self, url: str, direct_url: str | None, settings: PostgresSettings) -> None:
        self._given = _parsed(url, "the PostgreSQL URL")
        self._direct = None if direct_url is None else _parsed(direct_url, "direct_database")
        if self._direct is not None and self._given.get("options"):
            raise InvalidSetting(
                "the URL of a pooler in transaction mode cannot have options: set them for the role instead, as in "
                "ALTER ROLE turnout SET search_path = flows",
                code="bad_database_url",
            )
        self._settings = settings
        self.settings_of_transaction = None if self._direct is None else settings.for_transaction()
        """The statement that has to precede others in each transaction; None where connections have the settings."""

    @property
    def pooled(self) -> bool:
        """True if connections keep nothing from one transaction to the next."""
        return self._direct is not None

    def connect(self) -> Connection:
        """Returns a new connection for transactions."""
        if self._direct is not None:
            return self._opened(self._given, prepare_threshold=None)
        options = f"{self._given.get('options') or ''} {self._settings.options()}".strip()
        return self._opened({**self._given, "options": options}, prepare_threshold=0)

    def session(self) -> Connection:
        """Returns a new connection that keeps its session."""
        if self._direct is None:
            return self.connect()
        # The address may be that of a primary that has become a standby, where nothing is notified.
        return self._opened({"target_session_attrs": "read-write", **self._direct}, prepare_threshold=None)

    def _opened(self, given: dict[str, Any], prepare_threshold: int | None) -> Connection:
        with translated():
            arguments: dict[str, Any] = {**self._settings.connection(), **given}
            connection = psycopg.connect(autocommit=True, prepare_threshold=prepare_threshold, **arguments)
            connection.adapters.register_loader("uuid", TextLoader)
            return connection


def _parsed(url: str, what: str) -> dict[str, Any]:
    try:
        return dict(conninfo_to_dict(url))
    except psycopg.ProgrammingError:
        # libpq quotes the part that it cannot parse, which may be half of the password.
        raise InvalidSetting(
            f"{what} cannot be read: write postgresql://user:password@host:5432/database, "
            "with special characters in the password as %XX",
            code="bad_database_url",
        ) from None
