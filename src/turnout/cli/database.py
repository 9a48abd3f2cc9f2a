"""Access to the database for commands that read: it is never created, and no run is driven."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import msgspec

from turnout.contracts.store import Store
from turnout.errors import DatabaseNotFound
from turnout.model.driver import Driver
from turnout.model.health import Orchestrator
from turnout.runner.live_sessions import live_orchestrators
from turnout.runner.open_runs import NO_RUNS, NONE_OPEN, OpenCounts, OpenRuns, drivers_of, open_counts, open_runs
from turnout.runner.settings import configuration, database_url, direct_database_url
from turnout.store import connect

DEFAULT_FOLDER = ".turnout"
"""The folder of a project's default database."""
FOLDER_HINT = "make the folder, or correct --database or TURNOUT_DATABASE"
MAX_RUNS_CHECKED = 1_000
"""The latest open runs that are checked for one workflow."""


@contextmanager
def open_store(database: str | None) -> Iterator[Store]:
    """Yields the open store. Raises DatabaseNotFound if the database does not exist."""
    url = database_url(database)
    store = connect(url, direct_url=direct_database_url(database), create=False)
    try:
        try:
            store.open()
        except DatabaseNotFound as error:
            if missing_folder(url) is not None:
                error.fields["hint"] = FOLDER_HINT
            raise
        yield store
    finally:
        store.close()


@contextmanager
def store_if_there(database: str | None, *, configured: bool = True) -> Iterator[Store | None]:
    """Yields the open store, or None while the project's default database does not exist yet.

    Raises DatabaseNotFound if a database that was named does not exist; with ``configured=False`` only if the command
    named it, not the configuration.
    """
    with ExitStack() as stack:
        try:
            store = stack.enter_context(open_store(database))
        except DatabaseNotFound:
            if database is not None or (configured and configuration().get("database") is not None):
                raise
            store = None
        yield store


def check_folder(url: str) -> None:
    """Raises DatabaseNotFound if the folder of an SQLite database does not exist. ``.turnout`` is made by Turnout."""
    folder = missing_folder(url)
    if folder is not None:
        file = _sqlite_file(url)
        raise DatabaseNotFound(
            f"there is no folder {folder} for the database {file.name}", path=str(file), hint=FOLDER_HINT
        )


def missing_folder(url: str) -> Path | None:
    """Returns the folder of an SQLite database if it does not exist and Turnout does not make it; else None."""
    if not url.startswith("sqlite:///") or ":memory:" in url:
        return None
    folder = _sqlite_file(url).absolute().parent
    if folder.is_dir() or (folder.name == DEFAULT_FOLDER and folder.parent.is_dir()):
        return None
    return folder


def _sqlite_file(url: str) -> Path:
    return Path(url.removeprefix("sqlite:///").partition("?")[0])


def count_not_driven(database: str | None, workflow: str) -> int:
    """Returns how many of the workflow's latest open runs have no driver."""
    with store_if_there(database, configured=False) as store:
        if store is None:
            return 0
        runs = [run for run in store.open_runs(MAX_RUNS_CHECKED) if run.new.workflow == workflow]
        return drivers_of(store, runs).count(Driver.NOT_DRIVEN)


class Snapshot(msgspec.Struct, frozen=True):
    """The orchestrators and the open runs, as ``turnout top`` shows them."""

    orchestrators: Sequence[Orchestrator]
    runs: OpenRuns = NO_RUNS


class StatusReader:
    """Reads the statuses of the orchestrators on a database; the project's default one may not exist yet."""

    def __init__(self, database: str | None) -> None:
        self._database = database
        self._store: Store | None = None
        self._open = ExitStack()

    def orchestrators(self) -> list[Orchestrator]:
        if self._store is None:
            self._store = self._open.enter_context(store_if_there(self._database))
            if self._store is None:
                self._open.close()
        return [] if self._store is None else live_orchestrators(self._store)

    def snapshot(self) -> Snapshot:
        found = self.orchestrators()
        return Snapshot(found, NO_RUNS if self._store is None else open_runs(self._store))

    def run_counts(self) -> OpenCounts:
        """Returns the number of open runs by their drivers. Valid after ``orchestrators`` was called."""
        return NONE_OPEN if self._store is None else open_counts(self._store)

    def close(self) -> None:
        self._open.close()
