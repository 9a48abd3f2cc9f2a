"""How does a command get at the database without driving anything?"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from turnout.contracts.store import Store
from turnout.errors import DatabaseNotFound
from turnout.runner.settings import configuration, database_url
from turnout.store import connect


@contextmanager
def open_store(database: str | None) -> Iterator[Store]:
    """The store, opened for looking: a database that does not exist is not made, but DatabaseNotFound is raised."""
    store = connect(database_url(database), create=False)
    try:
        store.open()
        yield store
    finally:
        store.close()


@contextmanager
def store_if_there(database: str | None, *, configured: bool = True) -> Iterator[Store | None]:
    """The store; None in place of the project's own database, which the first run makes, while it does not exist.

    A database that was named and does not exist is a mistake. With ``configured=False`` that counts only if it was
    named in the command, for commands that can do without.
    """
    with ExitStack() as stack:
        try:
            store = stack.enter_context(open_store(database))
        except DatabaseNotFound:
            if database is not None or (configured and configuration().get("database") is not None):
                raise
            store = None
        yield store
