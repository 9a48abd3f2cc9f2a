"""How does a command get at the database without driving anything?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

import msgspec

from turnout.contracts.store import Store
from turnout.errors import DatabaseNotFound
from turnout.model.driver import Driver
from turnout.model.health import Orchestrator
from turnout.runner.drivers import NONE_OPEN, OpenCounts, drivers_of, open_counts
from turnout.runner.open_runs import NO_RUNS, OpenRuns, open_runs
from turnout.runner.orchestrators import live_orchestrators
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


class Picture(msgspec.Struct, frozen=True):
    """What ``turnout top`` shows."""

    orchestrators: Sequence[Orchestrator]
    runs: OpenRuns = NO_RUNS


class Source:
    """The orchestrators on a database; the project's own may not be there yet."""

    def __init__(self, database: str | None) -> None:
        self._database = database
        self._store: Store | None = None
        self._open = ExitStack()

    def look(self) -> list[Orchestrator]:
        if self._store is None:
            self._store = self._open.enter_context(store_if_there(self._database))
            if self._store is None:
                self._open.close()
        return [] if self._store is None else live_orchestrators(self._store)

    def picture(self) -> Picture:
        """The orchestrators, and the runs that have not ended."""
        found = self.look()
        return Picture(found, NO_RUNS if self._store is None else open_runs(self._store))

    def counts(self) -> OpenCounts:
        """The runs that have not ended, by what is known of their drivers; to be asked after a look."""
        return NONE_OPEN if self._store is None else open_counts(self._store)

    def close(self) -> None:
        self._open.close()
