"""Turnout through a real PgBouncer in transaction mode, with fewer connections to the server than one Runner opens."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from typing import Any
from urllib.parse import quote

import psycopg
import pytest

from tests.integration.test_store_postgres_races import everything_works
from tests.kit.waiting import PATIENCE, until
from tests.pgbouncer import POOL_SIZE, Pooled, pooled
from tests.postgres import GivenServer
from turnout import Runner, TaskInfo, task, workflow
from turnout.errors import InvalidSetting, RunCancelled, StoreError, StoreUnreachable, StoreUnusable
from turnout.model.rows import Session
from turnout.runner import EngineSettings
from turnout.store.postgres import PostgresStore
from turnout.store.postgres.connection import NumberedStatement
from turnout.store.postgres.settings import PostgresSettings

pytestmark = pytest.mark.timeout(2 * PATIENCE)

NEVER = 3600.0
"""Seconds between two polls, where a test shows that a notification came."""
SHOWN = (
    "statement_timeout",
    "lock_timeout",
    "idle_in_transaction_session_timeout",
    "plan_cache_mode",
    "enable_seqscan",
)


@task
def double(number: int) -> int:
    return 2 * number


@task(retries=2, retry_delay=0.01)
def fragile(number: int, info: TaskInfo) -> int:
    if info.attempt < 3:
        raise ValueError("not yet")
    return number


@task
def counted(number: int) -> list[int]:
    return list(range(number))


@task
def summed(numbers: list[int]) -> int:
    return sum(numbers)


@workflow
def chained(number: int) -> int:
    return double(double(fragile(number)))


@workflow
def fanned(number: int) -> int:
    return summed(double.map(counted(number)))


@pytest.fixture
def store(pooled_database: Pooled) -> Iterator[PostgresStore]:
    with closing(PostgresStore(pooled_database.url, direct_url=pooled_database.direct_url)) as opened:
        opened.open()
        yield opened


def opened(url: str, direct_url: str | None) -> None:
    with closing(PostgresStore(url, direct_url=direct_url)) as store:
        store.open()


# -- runs -------------------------------------------------------------------------------------------------------
def test_two_orchestrators_share_runs_of_all_kinds(pooled_database: Pooled) -> None:
    began, go_on = threading.Event(), threading.Event()

    @task
    def waits() -> None:
        began.set()
        go_on.wait(PATIENCE)

    @workflow
    def endless() -> None:
        waits()

    url, direct_url, bouncer = pooled_database
    options: dict[str, Any] = {"workflows": [chained, fanned, endless], "handle_sigterm": False}
    with (
        Runner(url, direct_database_url=direct_url, **options) as first,
        Runner(url, direct_database_url=direct_url, **options) as second,
    ):
        stopped = first.submit(endless)
        runs = [runner.submit(chained, n) for n in range(30) for runner in (first, second)]
        maps = [runner.submit(fanned, 8) for _ in range(5) for runner in (first, second)]
        assert [run.result(timeout=PATIENCE) for run in runs] == [4 * n for n in range(30) for _ in range(2)]
        assert {run.result(timeout=PATIENCE) for run in maps} == {56}
        assert began.wait(PATIENCE)
        second.get(stopped.id).cancel()
        go_on.set()
        with pytest.raises(RunCancelled):
            stopped.result(timeout=PATIENCE)
        clients = [each for each in bouncer.show("clients") if each["database"] != "pgbouncer"]
        servers = [each for each in bouncer.show("servers") if each["database"] != "pgbouncer"]
    assert len(clients) > POOL_SIZE >= len(servers)


def test_every_method_of_the_store_works(store: PostgresStore) -> None:
    everything_works(store, "pooled")


def test_notifications_arrive_through_the_direct_connection(pooled_database: Pooled) -> None:
    """Nothing polls: the driver hears of the run, and the client of its end, by notifications alone."""
    url, direct_url, _ = pooled_database
    settings = EngineSettings(sweep=NEVER, stop_grace=1.0)
    options: dict[str, Any] = {"workflows": [chained], "settings": settings, "handle_sigterm": False}
    with (
        Runner(url, direct_database_url=direct_url, **options),
        Runner(url, direct_database_url=direct_url, drives=False, **options) as client,
    ):
        for number in range(5):
            assert client.submit(chained, number).result(timeout=PATIENCE) == 4 * number


# -- settings ---------------------------------------------------------------------------------------------------
def test_settings_hold_in_every_transaction_and_reach_no_other_client(pooled_database: Pooled) -> None:
    url, direct_url, _ = pooled_database
    columns = ", ".join(f"current_setting('{name}')" for name in SHOWN)
    expected = [("30s", "10s", "30s", "force_generic_plan", "off")]
    others = [("0", "0", "0", "auto", "on")]
    with (
        closing(PostgresStore(url, direct_url=direct_url)) as store,
        closing(psycopg.connect(url, autocommit=True, prepare_threshold=None)) as other,
    ):
        database = store._postgres  # pyright: ignore[reportPrivateUsage]
        database.statements["shown"] = NumberedStatement.of(f"select {columns}")

        def in_transaction(begin: Callable[[], Any]) -> list[tuple[Any, ...]]:
            with begin() as execute:
                assert execute("shown") == expected
                return execute("shown")

        for run in (
            lambda: database.read("shown"),
            lambda: database.write("shown"),
            lambda: database.write("shown", wake="runs"),
            lambda: database.write_apart("shown"),
            lambda: database.statement("shown", {}),
            lambda: in_transaction(database.transaction),
            lambda: in_transaction(database.transaction_apart),
        ):
            assert run() == expected
            # As many at once as there are sessions of the server, so that each of them is looked at.
            with ExitStack() as stack:
                for _ in range(POOL_SIZE):
                    one = stack.enter_context(closing(psycopg.connect(url, prepare_threshold=None)))
                    assert one.execute(f"select {columns}".encode()).fetchall() == others
        assert other.execute(f"select {columns}".encode()).fetchall() == others


def test_a_statement_that_takes_too_long_is_ended_by_the_server(pooled_database: Pooled) -> None:
    settings = PostgresSettings(statement_timeout_ms=50)
    with closing(PostgresStore(pooled_database.url, settings, direct_url=pooled_database.direct_url)) as store:
        database = store._postgres  # pyright: ignore[reportPrivateUsage]
        database.statements["slow"] = NumberedStatement.of(f"select pg_sleep({NEVER})")
        for run in (database.read, database.write, database.write_apart):
            with pytest.raises(StoreUnreachable, match="statement timeout"):
                run("slow")


# -- the lease --------------------------------------------------------------------------------------------------
def test_a_full_pooler_does_not_delay_the_lease(pooled_database: Pooled, store: PostgresStore) -> None:
    store.start_session(Session(id="me"), lease=15)
    with ExitStack() as stack:
        for _ in range(POOL_SIZE):
            held = stack.enter_context(closing(psycopg.connect(pooled_database.url)))
            held.execute("select 1")
        assert store.renew_session("me", 15).held


def test_the_lease_goes_through_the_pooler_while_the_server_cannot_be_reached_directly(
    pooled_database: Pooled,
) -> None:
    with ExitStack() as stack:
        direct = stack.enter_context(pooled(pooled_database.direct_url, pool_mode="session", default_pool_size="9"))
        store = stack.enter_context(closing(PostgresStore(pooled_database.url, direct_url=direct.url)))
        store.open()
        store.start_session(Session(id="me"), lease=15)
        assert store.renew_session("me", 15).held
        direct.bouncer.destroy()
        assert store.renew_session("me", 15).held
        everything_works(store, "pooled")


def test_a_pooler_in_session_mode_can_be_the_direct_connection(pooled_database: Pooled) -> None:
    with (
        pooled(pooled_database.direct_url, pool_mode="session", default_pool_size="9") as direct,
        closing(PostgresStore(pooled_database.url, direct_url=direct.url)) as store,
    ):
        store.open()
        heard: list[str] = []
        stop = store.listen(heard.append)
        until(lambda: "any" in heard, "it does not listen")
        everything_works(store, "pooled")
        until(lambda: len(heard) > 1, "no notification came")
        stop()


# -- what is refused --------------------------------------------------------------------------------------------
def test_a_pooler_without_a_direct_connection_is_refused(pooled_database: Pooled) -> None:
    with pytest.raises(StoreUnusable, match="TURNOUT_DIRECT_DATABASE") as caught:
        opened(pooled_database.url, None)
    assert caught.value.code == "no_direct_database"


def test_a_pooler_that_drops_the_settings_is_refused(pooled_database: Pooled) -> None:
    with (
        pooled(pooled_database.direct_url, ignore_startup_parameters="options") as dropping,
        pytest.raises(StoreUnusable, match="TURNOUT_DIRECT_DATABASE") as caught,
    ):
        opened(dropping.url, None)
    assert caught.value.code == "no_direct_database"


def test_a_pooler_in_transaction_mode_is_no_direct_connection(pooled_database: Pooled) -> None:
    with pytest.raises(StoreUnusable, match="keeps no session") as caught:
        opened(pooled_database.url, pooled_database.url)
    assert caught.value.code == "no_direct_database"


def test_a_direct_connection_to_another_database_is_refused(
    pooled_database: Pooled, postgres_server: GivenServer
) -> None:
    with postgres_server.database() as other, pytest.raises(StoreUnusable) as caught:
        opened(pooled_database.url, other)
    assert caught.value.code == "other_direct_database"


def test_a_direct_connection_with_another_schema_is_refused(pooled_database: Pooled) -> None:
    with psycopg.connect(pooled_database.direct_url, autocommit=True) as connection:
        connection.execute("create schema flows")
    with pytest.raises(StoreUnusable, match="schema flows") as caught:
        opened(pooled_database.url, f"{pooled_database.direct_url}?options={quote('-csearch_path=flows')}")
    assert caught.value.code == "other_direct_database"


def test_options_in_the_url_of_a_pooler_are_refused(pooled_database: Pooled) -> None:
    with pytest.raises(InvalidSetting, match="ALTER ROLE"):
        opened(f"{pooled_database.url}?options={quote('-csearch_path=flows')}", pooled_database.direct_url)


def test_a_database_that_the_pooler_does_not_know_is_named(pooled_database: Pooled) -> None:
    with pytest.raises(StoreError) as caught:
        opened(f"{pooled_database.url}_not_there", pooled_database.direct_url)
    assert caught.value.code == "database_missing"
