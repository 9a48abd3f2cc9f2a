"""How does a command get at the database without driving anything?"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from turnout.contracts.store import Store
from turnout.errors import RunNotFound
from turnout.runner.settings import database_url
from turnout.store import connect
from turnout.store.urls import shown_url

_SQLITE = "sqlite:///"


def is_there(database: str | None) -> bool:
    """Whether there is a database to look into. One on a server is only known by asking."""
    url = database_url(database)
    return not url.startswith(_SQLITE) or Path(url.removeprefix(_SQLITE).partition("?")[0]).is_file()


@contextmanager
def open_store(database: str | None) -> Iterator[Store]:
    """The store, opened for looking; a file that does not exist is not made."""
    url = database_url(database)
    if not is_there(database):
        raise RunNotFound(
            f"there is no run: the database {shown_url(url)} does not exist yet",
            hint="`turnout run` makes it; --database or TURNOUT_DATABASE names another",
        )
    store = connect(url)
    try:
        store.open()
        yield store
    finally:
        store.close()
