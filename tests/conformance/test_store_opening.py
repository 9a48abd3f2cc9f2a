"""Opening a store migrates it, under a lock, or says clearly why it cannot be used."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from tests.conformance.store_rows import begin, insert, new_run
from turnout.contracts.store import Store
from turnout.errors import (
    InvalidSetting,
    MigrationMismatch,
    SchemaTooNew,
    StoreFull,
    StoreReadOnly,
    StoreUnreachable,
    StoreUnusable,
)
from turnout.store import connect
from turnout.store.migrations import migrations
from turnout.store.sqlite import SqliteStore

pytestmark = pytest.mark.empty_database

OPEN_TOGETHER = """
import sys, pathlib
from turnout.store import connect
print("ready", flush=True)
sys.stdin.readline()
store = connect(sys.argv[1])
store.open()
store.put_workflow(sys.argv[2], "public::embedded::w", "{}")
store.close()
"""


def execute(url: str, statement: str) -> None:
    """Something done to the database behind the store's back."""
    if url.startswith("sqlite"):
        with sqlite3.connect(url.removeprefix("sqlite:///")) as connection:
            connection.execute(statement)
        connection.close()
    else:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(statement.encode())


def test_two_processes_that_start_at_once_on_an_empty_database_both_succeed(store_url: str) -> None:
    children = [
        subprocess.Popen(
            [sys.executable, "-c", OPEN_TOGETHER, store_url, f"v{number}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={"PYTHONPATH": ":".join(sys.path)},
        )
        for number in range(4)
    ]
    for child in children:
        assert child.stdout is not None and child.stdout.readline() == "ready\n"
    for child in children:
        assert child.stdin is not None
        child.stdin.write("go\n")
        child.stdin.flush()
    errors = [child.communicate(timeout=60)[1] for child in children]
    assert [child.returncode for child in children] == [0] * 4, errors
    store = connect(store_url)
    store.open()
    assert [store.workflow(f"v{number}") for number in range(4)] == ["{}"] * 4
    store.close()


def test_opening_again_keeps_everything(store: Store, store_url: str) -> None:
    begin(store)
    write = new_run()
    insert(store, write)
    again = connect(store_url)
    again.open()
    assert again.run(write.run_id) is not None
    again.close()


def test_a_newer_schema_is_refused(store: Store, store_url: str) -> None:
    execute(store_url, "insert into migration values (999, 'x', 0.0)")
    again = connect(store_url)
    with pytest.raises(SchemaTooNew) as caught:
        again.open()
    again.close()
    assert caught.value.code == "schema_too_new"
    assert caught.value.fields["found"] == 999


def test_a_changed_migration_is_refused(store: Store, store_url: str) -> None:
    execute(store_url, "update migration set checksum = 'other' where number = 1")
    again = connect(store_url)
    with pytest.raises(MigrationMismatch) as caught:
        again.open()
    again.close()
    assert caught.value.code == "migration_mismatch"


def test_migrations_have_the_same_ascending_numbers_in_both_dialects() -> None:
    numbers = [[migration.number for migration in migrations(dialect)] for dialect in ("sqlite", "postgres")]
    assert numbers[0] == numbers[1] == sorted(set(numbers[0]))
    assert numbers[0][0] == 1


def test_a_closed_store_says_so(store_url: str) -> None:
    store = connect(store_url)
    store.open()
    store.close()
    with pytest.raises(StoreUnreachable, match="closed"):
        store.runs()
    store.close()


@pytest.mark.parametrize("url", ["mysql://x", "sqlite://", "sqlite:///", "nonsense"])
def test_a_url_of_no_known_database_is_refused(url: str) -> None:
    with pytest.raises(InvalidSetting):
        connect(url)


# -- PostgreSQL -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("host", ["127.0.0.1:1", "no-such-host.invalid"])
def test_an_unreachable_server_is_a_clear_error_without_the_password(host: str) -> None:
    store = connect(f"postgresql://someone:hunter2@{host}/turnout")
    with pytest.raises(StoreUnreachable) as caught:
        store.open()
    assert caught.value.code == "store_unreachable"
    assert "hunter2" not in str(caught.value)


def test_a_read_only_postgres_is_a_clear_error(postgres_url: str) -> None:
    name = postgres_url.rpartition("/")[2]
    execute(postgres_url, f"alter database {name} set default_transaction_read_only = on")
    store = connect(postgres_url)
    with pytest.raises(StoreReadOnly) as caught:
        store.open()
    store.close()
    assert caught.value.code == "store_read_only"


def test_a_postgres_that_becomes_read_only_refuses_commits_clearly(postgres_url: str) -> None:
    opened = connect(postgres_url)
    opened.open()
    opened.close()
    execute(postgres_url, f"alter database {postgres_url.rpartition('/')[2]} set default_transaction_read_only = on")
    store = connect(postgres_url)
    with pytest.raises(StoreReadOnly):
        store.commit([new_run()])
    store.close()


# -- SQLite -----------------------------------------------------------------------------------------------------------
def test_the_directory_of_a_sqlite_file_is_made(tmp_path: Path) -> None:
    store = connect(f"sqlite:///{tmp_path}/a/b/turnout.db")
    store.open()
    store.close()
    assert (tmp_path / "a/b/turnout.db").exists()


def test_a_directory_that_cannot_be_made_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "file" / "turnout.db", tmp_path):
        with pytest.raises(StoreUnreachable) as caught:
            connect(f"sqlite:///{path}").open()
        assert str(tmp_path) in str(caught.value)


def test_a_file_that_is_no_database_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "x.db").write_text("this is not a database, but it is long enough to be taken for one" * 20)
    with pytest.raises(StoreUnusable, match="not a usable") as refused:
        connect(f"sqlite:///{tmp_path}/x.db").open()
    assert refused.value.code == "store_damaged"


def test_a_read_only_sqlite_file_is_a_clear_error(sqlite_url: str) -> None:
    first = connect(sqlite_url)
    first.open()
    store = connect(f"{sqlite_url}?mode=ro")
    with pytest.raises(StoreReadOnly) as caught:
        store.open()
    assert caught.value.code == "store_read_only"
    with pytest.raises(StoreReadOnly):
        store.commit([new_run()])
    store.close()
    first.close()


def test_a_full_disk_is_a_clear_error_and_leaves_nothing_half_written(sqlite_url: str) -> None:
    store = connect(sqlite_url)
    assert isinstance(store, SqliteStore)
    store.open()
    begin(store)
    connection = store._sqlite.connection()  # pyright: ignore[reportPrivateUsage]
    pages = connection.execute("pragma page_count").fetchone()[0]
    connection.execute(f"pragma max_page_count = {pages + 2}")
    small, big = new_run(), new_run(input='"' + "x" * 100_000 + '"')
    with pytest.raises(StoreFull) as caught:
        store.commit([small, big])
    assert caught.value.code == "store_full"
    assert store.runs() == []
    connection.execute("pragma max_page_count = 1000000")
    insert(store, small, big)
    store.close()
