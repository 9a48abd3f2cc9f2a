"""An orchestrator that has nothing to do asks little of its database, and still notices what it must."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from tests.kit.api import running_api
from tests.postgres import GivenServer, OwnServer
from turnout import Runner, task, workflow
from turnout.model.states import RunState

pytestmark = pytest.mark.timeout(90)

STATEMENT = re.compile(r"LOG:  (?:statement|execute [^:]*): ")
LOOKED = 6.0
"""Seconds for which statements are counted: three sweeps."""
MOST_PER_SECOND = 3.0
MOST_PER_SECOND_OF_A_SERVER = 5.0


@task
def nothing() -> None: ...


@workflow
def idle_work() -> None:
    nothing()


def test_an_idle_orchestrator_makes_few_statements(
    postgres_server: GivenServer, postgres_url: str, make_sqlite_runner: Callable[..., Runner]
) -> None:
    log_statements(postgres_server, postgres_url)
    runner = make_sqlite_runner(postgres_url, workflows=[idle_work])
    runner.run(idle_work)
    assert 0 < statements_per_second(postgres_server) < MOST_PER_SECOND


def test_an_idle_server_makes_few_statements(postgres_server: GivenServer, postgres_url: str) -> None:
    log_statements(postgres_server, postgres_url)
    with running_api(postgres_url, workflows=[idle_work]) as api:
        assert api.client("viewer").get("/api/v1/session").status_code == 200
        assert 0 < statements_per_second(postgres_server) < MOST_PER_SECOND_OF_A_SERVER


def log_statements(server: GivenServer, url: str) -> None:
    if not isinstance(server, OwnServer):
        pytest.skip("the log of a given server cannot be read")
    name = url.rpartition("/")[2]
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        connection.execute(f"alter database {name} set log_statement = 'all'")


def statements_per_second(server: GivenServer) -> float:
    """How many statements are made while nobody asks for anything."""
    assert isinstance(server, OwnServer)
    log = server.log

    def statements() -> int:
        return len(STATEMENT.findall(log.read_text(errors="replace")))

    before, began = statements(), time.monotonic()
    assert before > 5, "statements are not logged"
    time.sleep(LOOKED)
    made, took = statements() - before, time.monotonic() - began
    print(f"{made} statements in {took:.1f} s: {made / took:.2f} a second")
    return made / took


def test_a_command_for_a_run_that_has_ended_is_closed(
    runner: Runner, store_url: str, query: Any, change: Any, until: Any
) -> None:
    run = runner.submit(idle_work)
    assert run.wait(20) is RunState.COMPLETED
    runner.core.store.add_command(run.id, "cancel", "too late")
    assert query(store_url, "select count(*) from command where done_at is null") == [(0,)]
    # As if it had come between the run's last turn and its end.
    change(store_url, "update command set done_at = null")
    until(lambda: query(store_url, "select count(*) from command where done_at is null") == [(0,)])
