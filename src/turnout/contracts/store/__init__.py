"""Declares the store of runs, by role: each part of the program names the role that it uses.

SQLite and PostgreSQL implement all of them; one conformance suite holds both to it.

Every method is one transaction, blocks, and may be called from any thread (each thread uses its own connection, so
callers that must not block run it in a thread). Driver exceptions never leave: they become the StoreErrors of
``turnout.errors``. All leases, ages and waits are computed by the database's clock, never the caller's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from turnout.contracts.store.access import AccessStore
from turnout.contracts.store.definitions import DefinitionStore, RoutingStore
from turnout.contracts.store.ledger import LedgerStore
from turnout.contracts.store.limits import LimitStore
from turnout.contracts.store.logs import LogStore
from turnout.contracts.store.messages import MessageStore
from turnout.contracts.store.ownership import OwnershipStore
from turnout.contracts.store.retention import RetentionStore
from turnout.contracts.store.run_queries import ChangeStore, FigureStore, ReadStore
from turnout.contracts.store.schedules import ScheduleStore
from turnout.contracts.store.task_lists import TaskListStore
from turnout.contracts.store.triggers import TriggerStore
from turnout.contracts.store.webhooks import WebhookStore
from turnout.model.rows import (
    StoreUse,
)

__all__ = [
    "AccessStore",
    "ChangeStore",
    "DefinitionStore",
    "FigureStore",
    "LedgerStore",
    "LimitStore",
    "LogStore",
    "MessageStore",
    "OwnershipStore",
    "ReadStore",
    "RetentionStore",
    "RoutingStore",
    "ScheduleStore",
    "Store",
    "TaskListStore",
    "TriggerStore",
    "WebhookStore",
]


class Store(
    LedgerStore,
    OwnershipStore,
    MessageStore,
    ReadStore,
    TaskListStore,
    ChangeStore,
    LogStore,
    RetentionStore,
    AccessStore,
    DefinitionStore,
    RoutingStore,
    ScheduleStore,
    WebhookStore,
    TriggerStore,
    FigureStore,
    LimitStore,
    Protocol,
):
    """All roles of one database, and how it is opened and closed."""

    url: str

    def open(self) -> None:
        """Connects and migrates, under a lock. Raises StoreUnreachable, StoreReadOnly, SchemaTooNew, …"""
        ...

    def close(self) -> None: ...

    def listen(self, on_wake: Callable[[str], None]) -> Callable[[], None]:
        """Calls ``on_wake(topic)`` from a background thread when another process may have changed something: topic is
        ``runs``, ``commands``, ``inbox``, ``ready``, ``finished``, ``sessions``, ``definitions``, ``schedules``,
        ``queued``, ``limits`` (PostgreSQL), or ``any`` (SQLite, which only sees that the file changed; PostgreSQL after
        a reconnect). Returns the function that stops it. A call is a hint."""
        ...

    def use(self) -> StoreUse:
        """Returns the use of its connections, and the share of time that callers waited for one since the last call."""
        ...
