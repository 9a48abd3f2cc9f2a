"""Where is it kept when several machines share it? The store on PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from turnout.errors import StoreReadOnly
from turnout.model.rows import RunWrite, WriteOutcome
from turnout.store.messages import Messages
from turnout.store.migrations import outstanding
from turnout.store.ownership import Ownership
from turnout.store.postgres.connection import PostgresDatabase, translated
from turnout.store.postgres.ledger import PostgresLedger
from turnout.store.postgres.listening import Listener
from turnout.store.postgres.settings import PostgresSettings
from turnout.store.reading import Reading

MIGRATION_LOCK = 7_355_608_001


class PostgresStore(Ownership, Messages, Reading):
    """The store on PostgreSQL."""

    def __init__(self, url: str, settings: PostgresSettings | None = None) -> None:
        self.url = url
        self._settings = settings or PostgresSettings()
        self.lanes = self._settings.lanes
        self._database: PostgresDatabase = PostgresDatabase(url, self._settings)
        self._ledger = PostgresLedger(self._database)

    def open(self) -> None:
        connection = self._database.connection()
        with translated():
            if connection.execute("show transaction_read_only").fetchone() == ("on",):
                raise StoreReadOnly("the database is read-only")
            with connection.transaction():
                connection.execute(f"set local lock_timeout = {self._settings.migration_lock_timeout_ms}")
                connection.execute("set local statement_timeout = 0")
                connection.execute("select pg_advisory_xact_lock(%s)", (MIGRATION_LOCK,))
                connection.execute(
                    "create table if not exists migration (number integer primary key, checksum text not null,"
                    " applied_at double precision not null)"
                )
                applied = connection.execute("select number, checksum from migration").fetchall()
                for migration in outstanding("postgres", ((number, checksum) for number, checksum in applied)):
                    connection.execute(migration.text, prepare=False)  # pyright: ignore[reportArgumentType]
                    connection.execute(
                        "insert into migration values (%s, %s, extract(epoch from clock_timestamp()))",
                        (migration.number, migration.checksum),
                    )

    def close(self) -> None:
        self._database.close()

    def commit(self, writes: Sequence[RunWrite], *, wake: frozenset[str] = frozenset()) -> list[WriteOutcome]:
        return self._ledger.commit(writes, wake)

    def listen(self, on_wake: Callable[[str], None]) -> Callable[[], None]:
        return Listener(self._database, on_wake).stop
