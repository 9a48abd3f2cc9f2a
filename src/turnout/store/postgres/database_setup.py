"""Checks that a database can be used, and makes or migrates its tables."""

from __future__ import annotations

from collections.abc import Sequence

from turnout.errors import StoreReadOnly, StoreUnusable
from turnout.store.migrations import Migration, outstanding
from turnout.store.postgres.errors import DIRECT, NO_DIRECT_DATABASE
from turnout.store.postgres.pool import Connection
from turnout.store.postgres.settings import GENERIC_PLANS, PLAN_CACHE_MODE

MIGRATION_LOCK = 7_355_608_001


def check_server(connection: Connection, *, settings_sent: bool) -> None:
    """Raises what keeps the database from being used. ``settings_sent``: the connection began with the settings."""
    read_only, encoding, plans = _row(
        connection,
        "select current_setting('transaction_read_only'), current_setting('server_encoding'),"
        f" current_setting('{PLAN_CACHE_MODE}')",
    )
    if read_only == "on":
        raise StoreReadOnly("the database is read-only")
    if encoding != "UTF8":
        raise StoreUnusable(
            f"the database is encoded in {encoding}, which cannot keep every text: make one with createdb -E UTF8 -T "
            "template0",
            code="wrong_encoding",
            encoding=encoding,
        )
    if settings_sent and plans != GENERIC_PLANS:
        raise StoreUnusable(
            f"the database cannot be used: a pooler drops the settings of connections; {DIRECT}",
            code=NO_DIRECT_DATABASE,
        )


def check_same_database(pooled: Connection, direct: Connection) -> None:
    """Raises StoreUnusable if the two lead to different tables, or if the direct one does not keep its session."""
    query = "select current_database(), current_schema(), pg_postmaster_start_time()::text, pg_backend_pid()"
    *there, session = _row(direct, query)
    *here, other = _row(pooled, query)
    if here != there:
        names = [
            f"{database}, schema {schema}, of the server started at {at}" for database, schema, at in (here, there)
        ]
        raise StoreUnusable(
            f"database and direct_database do not lead to the same tables: {names[0]}, and {names[1]}",
            code="other_direct_database",
        )
    if session == other:
        raise StoreUnusable(
            f"direct_database is a pooler in transaction mode, which keeps no session; {DIRECT}",
            code=NO_DIRECT_DATABASE,
        )


def has_tables(connection: Connection) -> bool:
    """True if a store has been opened in this database before, in the search path."""
    return _row(connection, "select to_regclass('migration') is not null and to_regclass('run') is not null") == (True,)


def migrate(connection: Connection, lock_timeout_ms: int) -> None:
    """Applies the migrations that are missing, in one transaction. Processes that start at once wait for the first."""
    with connection.transaction():
        connection.execute("select set_config('lock_timeout', %s, true)", (str(lock_timeout_ms),))
        connection.execute("set local statement_timeout = 0")
        connection.execute("select pg_advisory_xact_lock(%s)", (MIGRATION_LOCK,))
        connection.execute(
            "create table if not exists migration (number integer primary key, checksum text not null,"
            " applied_at double precision not null)"
        )
        applied = connection.execute("select number, checksum from migration").fetchall()
        _apply(connection, outstanding("postgres", ((number, checksum) for number, checksum in applied)))


def _apply(connection: Connection, missing: Sequence[Migration]) -> None:
    """Applies migrations, in two round trips however many they are."""
    if not missing:
        return
    connection.execute("".join(f"{migration.text}\n;\n" for migration in missing).encode(), prepare=False)
    connection.execute(
        "insert into migration select number, checksum, extract(epoch from clock_timestamp())"
        " from unnest(%s::integer[], %s::text[]) as applied (number, checksum)",
        ([migration.number for migration in missing], [migration.checksum for migration in missing]),
    )


def _row(connection: Connection, query: str) -> tuple[object, ...]:
    found = connection.execute(query.encode()).fetchone()
    assert found is not None
    return found
