"""A database that somebody has to mend first says so, with what to do: it is not one that will be back in a moment."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import quote

import psycopg
import pytest

from tests.postgres import GivenServer
from turnout import Runner
from turnout.errors import DatabaseNotFound, StoreUnusable
from turnout.store import connect

pytestmark = [pytest.mark.timeout(60), pytest.mark.empty_database]


def unusable(url: str, code: str, *named: str) -> None:
    with pytest.raises(StoreUnusable) as caught:
        Runner(url, workflows=(), handle_sigterm=False)
    assert caught.value.code == code
    for word in named:
        assert word in caught.value.message


@contextmanager
def role(url: str, name: str) -> Iterator[str]:
    """The URL for a user who may connect and no more."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"create role {name} login")
        connection.execute("revoke create on schema public from public")
        yield url.replace("://postgres@", f"://{name}@").replace("://postgres:", f"://{name}:")
        connection.execute(f"drop owned by {name}")
        connection.execute(f"drop role {name}")


def test_a_missing_schema_is_named_with_what_to_do(postgres_url: str) -> None:
    option = quote("-c search_path=not_there")
    unusable(f"{postgres_url}?options={option}", "schema_missing", "create the schema", "search_path")


def test_a_missing_database_is_named(postgres_url: str) -> None:
    unusable(f"{postgres_url}_not_there", "database_missing", "_not_there", "createdb")


def test_a_user_whom_the_server_does_not_let_in_is_named(postgres_url: str) -> None:
    url = postgres_url.replace("://postgres@", "://nobody_of_this_name@")
    unusable(url, "access_denied", "nobody_of_this_name")


def test_a_user_without_privileges_learns_which_are_needed(postgres_url: str) -> None:
    with role(postgres_url, "turnout_weak") as url:
        unusable(url, "no_privilege", "schema public", "CREATE")


def test_a_database_without_tables_says_who_makes_them(postgres_url: str) -> None:
    store = connect(postgres_url)
    with pytest.raises(StoreUnusable) as caught:
        store.waiting()
    assert caught.value.code == "tables_missing"
    store.close()


def test_a_database_that_cannot_keep_every_text_is_refused(postgres_server: GivenServer) -> None:
    with psycopg.connect(postgres_server.dsn, autocommit=True) as connection:
        connection.execute(
            "create database turnout_latin encoding 'LATIN1' lc_collate 'C' lc_ctype 'C' template template0"
        )
        try:
            unusable(postgres_server.url("turnout_latin"), "wrong_encoding", "LATIN1", "UTF8")
        finally:
            connection.execute("drop database turnout_latin with (force)")


# SQLite quotes the third in its complaint, which is then no text itself.
@pytest.mark.parametrize(
    "garbled",
    ["create table \\xff\\xfe (", "no statement at all", "create table run \\xff\\xfe (a)"],
    ids=["no text", "no SQL", "quoted"],
)
def test_a_file_whose_schema_is_garbled_is_damaged(tmp_path: Path, garbled: str) -> None:
    path = tmp_path / "turnout.db"
    with closing(connect(f"sqlite:///{path}")) as store:
        store.open()
    text = garbled.encode().decode("unicode_escape").encode("latin-1")
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("pragma writable_schema = on")
        connection.execute("update sqlite_master set sql = cast(? as text) where name = 'run'", (text,))
    unusable(f"sqlite:///{path}", "store_damaged", "turnout.db")


def test_a_file_of_something_else_is_not_called_a_damaged_database(tmp_path: Path) -> None:
    path = tmp_path / "orders.py"
    path.write_text("orders = []\n" * 100)
    with pytest.raises(DatabaseNotFound, match="a file of something else"):
        connect(f"sqlite:///{path}", create=False).open()
    with pytest.raises(StoreUnusable, match="it is a file of something else, or its beginning is damaged"):
        connect(f"sqlite:///{path}").open()
    assert path.read_text().startswith("orders = []"), "it is left as it was"


def test_a_text_in_a_file_that_is_none_is_damage_too(tmp_path: Path) -> None:
    path = tmp_path / "turnout.db"
    with closing(connect(f"sqlite:///{path}")) as store:
        store.open()
        store.put_workflow("v1", "public::a::b", "{}")
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("update workflow set spec = cast(x'fffe' as text)")
        with pytest.raises(StoreUnusable) as caught:
            store.workflow("v1")
    assert caught.value.code == "store_damaged"
