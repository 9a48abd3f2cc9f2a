"""The store on PostgreSQL, for orchestrators on several machines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing

from turnout.contracts.store.ledger import CommitChannel
from turnout.errors import DatabaseNotFound
from turnout.model.rows import RunWrite, StoreUse, WriteOutcome
from turnout.store.access import AccessTables
from turnout.store.database import Database, shown_url
from turnout.store.definitions import Definitions
from turnout.store.figures import Figures
from turnout.store.limit_declarations import LimitDeclarations
from turnout.store.limits import Limits
from turnout.store.logs import Logs
from turnout.store.messages import Messages
from turnout.store.ownership import Ownership
from turnout.store.postgres.commit_channel import PostgresCommitChannel
from turnout.store.postgres.connection import PostgresDatabase
from turnout.store.postgres.database_setup import check_same_database, check_server, has_tables, migrate
from turnout.store.postgres.errors import translated
from turnout.store.postgres.ledger import PostgresLedger
from turnout.store.postgres.listener import Listener
from turnout.store.postgres.settings import PostgresSettings
from turnout.store.retention import RetentionOfRuns
from turnout.store.routing import Routing
from turnout.store.run_changes import RunChanges
from turnout.store.run_lists import RunLists
from turnout.store.run_queries import RunQueries
from turnout.store.schedules import Schedules
from turnout.store.task_lists import TaskLists
from turnout.store.triggers import Triggers
from turnout.store.webhooks import Webhooks


class PostgresStore(
    Ownership,
    Messages,
    RunQueries,
    RunLists,
    TaskLists,
    RunChanges,
    Logs,
    RetentionOfRuns,
    AccessTables,
    Definitions,
    Routing,
    Schedules,
    LimitDeclarations,
    Limits,
    Webhooks,
    Triggers,
    Figures,
):
    """The store on PostgreSQL."""

    _database: Database

    def __init__(
        self,
        url: str,
        settings: PostgresSettings | None = None,
        *,
        direct_url: str | None = None,
        create: bool = True,
    ) -> None:
        self.url = url
        self._create = create
        self._settings = settings or PostgresSettings()
        self.lanes = self._settings.lanes
        self._postgres = PostgresDatabase(url, self._settings, direct_url)
        self._database = self._postgres
        self._ledger = PostgresLedger(self._postgres)
        self._channels: set[PostgresCommitChannel] = set()

    def open(self) -> None:
        with translated(), self._postgres.pool.lend() as lent, ExitStack() as stack:
            connection = lent.connection
            if self._postgres.pooled:
                # A pooler may end a migration that takes long.
                connection = stack.enter_context(closing(self._postgres.session()))
                check_same_database(lent.connection, connection)
            check_server(connection, settings_sent=not self._postgres.pooled)
            if not self._create and not has_tables(connection):
                raise DatabaseNotFound(f"the database {shown_url(self.url)} has no tables of Turnout", url=self.url)
            migrate(connection, self._settings.migration_lock_timeout_ms)

    def close(self) -> None:
        self._postgres.close()
        for channel in tuple(self._channels):
            channel.close()

    def use(self) -> StoreUse:
        return self._postgres.pool.waits.look()

    def commit(self, writes: Sequence[RunWrite], *, wake: frozenset[str] = frozenset()) -> list[WriteOutcome]:
        return self._ledger.commit(writes, wake)

    def commit_channel(self) -> CommitChannel | None:
        """Opens a channel over the calling thread's connection for commits. None with a pooler, whose connections need
        the settings with every transaction."""
        if self._postgres.pooled:
            return None
        connection = self._postgres.take_own("ledger")
        channel = PostgresCommitChannel(connection, self._postgres.statements, self._channels.discard)
        self._channels.add(channel)
        return channel

    def listen(self, on_wake: Callable[[str], None]) -> Callable[[], None]:
        return Listener(self._postgres.session, on_wake).stop
