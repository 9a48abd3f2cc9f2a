"""Translates errors of PostgreSQL: what is retried, what was wrong with the data, what an operator has to fix."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg import errors as pg

from turnout.errors import StoreError, StoreFull, StoreReadOnly, StoreRejected, StoreUnreachable, StoreUnusable

_REFUSED = (
    psycopg.DataError,
    psycopg.IntegrityError,
    psycopg.NotSupportedError,
    pg.RaiseException,
    pg.ProgramLimitExceeded,
    pg.StatementTooComplex,
)

_SCHEMA = "create the schema, or correct search_path in the URL"
_TABLES = (
    "open it with a Runner or `turnout orchestrate` first, which make the tables, or correct search_path in the URL"
)
_DATABASE = "create it (createdb), or correct the URL"
_ACCESS = "correct the user and password in the URL, or let the server (pg_hba.conf) accept them"
_PRIVILEGE = (
    "the user of the URL needs CONNECT on the database, and USAGE and CREATE on the schema or to own its tables"
)

DIRECT = "set direct_database (TURNOUT_DIRECT_DATABASE) to the URL of the server itself"
NO_DIRECT_DATABASE = "no_direct_database"

_UNUSABLE: tuple[tuple[type[psycopg.Error], str, str], ...] = (
    (pg.InvalidSchemaName, "schema_missing", _SCHEMA),
    (pg.UndefinedTable, "tables_missing", _TABLES),
    (pg.UndefinedColumn, "tables_missing", _TABLES),
    (pg.InvalidCatalogName, "database_missing", _DATABASE),
    (pg.InvalidPassword, "access_denied", _ACCESS),
    (pg.InvalidAuthorizationSpecification, "access_denied", _ACCESS),
    (pg.InsufficientPrivilege, "no_privilege", _PRIVILEGE),
)

# A server that refuses a connection sends no code, only text.
_TURNED_DOWN: tuple[tuple[str, str, str], ...] = (
    (r'database ".*" does not exist', "database_missing", _DATABASE),
    (r'role ".*" does not exist', "access_denied", _ACCESS),
    (r"authentication failed", "access_denied", _ACCESS),
    (r"no password supplied", "access_denied", _ACCESS),
    (r"no pg_hba\.conf entry", "access_denied", _ACCESS),
    (r"permission denied for", "no_privilege", _PRIVILEGE),
    # PgBouncer, and Amazon's RDS Proxy.
    (r"unsupported startup parameter", NO_DIRECT_DATABASE, f"it is a pooler: {DIRECT}"),
    (r"command-line options", NO_DIRECT_DATABASE, f"it is a pooler: {DIRECT}"),
    (r"no such database", "database_missing", _DATABASE),
)


@contextmanager
def translated() -> Iterator[None]:
    """Raises PostgreSQL's exceptions as StoreErrors. Messages never hold the connection string."""
    try:
        yield
    except psycopg.Error as error:
        raise meaning(error) from error
    except UnicodeEncodeError as error:
        raise StoreRejected("the data holds a lone surrogate, which is not text") from error


def meaning(error: psycopg.Error) -> StoreError:
    """Returns the exception as a StoreError."""
    text = error.diag.message_primary or (str(error).strip() or type(error).__name__).splitlines()[0]
    if isinstance(error, pg.ReadOnlySqlTransaction):
        return StoreReadOnly(f"the database is read-only: {text}")
    if isinstance(error, pg.DiskFull):
        return StoreFull(f"there is no room left for the database: {text}")
    for kind, code, advice in _UNUSABLE:
        if isinstance(error, kind):
            return StoreUnusable(f"the database cannot be used: {text}; {advice}", code=code, sqlstate=error.sqlstate)
    if isinstance(error, _REFUSED):
        return StoreRejected(f"the database refused the data: {text}", sqlstate=error.sqlstate)
    if isinstance(error, psycopg.OperationalError) and error.sqlstate is None:
        text_of_server = str(error)
        for pattern, code, advice in _TURNED_DOWN:
            if found := re.search(rf"(FATAL:|fe_sendauth:).*{pattern}[^\n]*", text_of_server):
                return StoreUnusable(f"the database cannot be used: {found[0]}; {advice}", code=code)
    # The rest does not concern the data: a lost connection, a shutdown, a deadlock, a timeout.
    return StoreUnreachable(f"the database cannot be reached or did not answer: {text}", sqlstate=error.sqlstate)
