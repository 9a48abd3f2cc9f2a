"""How does a command get at the database without driving anything?"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from turnout.contracts.store import Store
from turnout.errors import DatabaseNotFound
from turnout.model.driver import Driver
from turnout.runner.drivers import drivers_of
from turnout.runner.settings import configuration, database_url
from turnout.store import connect

LOOKED_AT = 1_000
"""Runs that have not ended, the latest, that are looked at for one workflow."""


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


def not_driven(database: str | None, workflow: str) -> int:
    """How many of this workflow's runs that have not ended nobody drives; the latest of them are looked at."""
    with store_if_there(database, configured=False) as store:
        if store is None:
            return 0
        runs = [run for run in store.open_runs(LOOKED_AT) if run.new.workflow == workflow]
        return drivers_of(store, runs).count(Driver.NOT_DRIVEN)
