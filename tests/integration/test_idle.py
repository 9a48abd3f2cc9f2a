"""An orchestrator that has nothing to do asks little of its database, and still notices what it must."""

from __future__ import annotations

import re
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.kit.api import running_api
from tests.postgres import GivenServer, OwnServer
from turnout import Runner, task, workflow
from turnout.model.states import RunState
from turnout.runner.definitions.settings import DefinitionSettings

pytestmark = pytest.mark.timeout(90)

STATEMENT = re.compile(r"LOG:  (?:statement|execute [^:]*): ")
LOOKED = 6.0
"""Seconds for which statements are counted: three sweeps."""
MOST_PER_SECOND = 3.0
MOST_PER_SECOND_OF_A_SERVER = 5.0
MOST_PER_SECOND_ON_SQLITE = 4.7
"""Below what it is if the renewal of the own lease is looked into topic by topic."""


FILES = 20


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with workflow files, for a server to watch."""
    made = tmp_path / "flows"
    made.mkdir()
    for number in range(FILES):
        (made / f"flow_{number}.yaml").write_text(f"steps: [{{name: say, command: echo {number}}}]\n")
    return made


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


def test_an_idle_server_makes_few_statements(postgres_server: GivenServer, postgres_url: str, folder: Path) -> None:
    log_statements(postgres_server, postgres_url)
    definitions = DefinitionSettings(folders=(folder,))
    with running_api(postgres_url, workflows=[idle_work], definitions=definitions) as api:
        assert len(api.client("viewer").get("/api/v1/workflows").json()["workflows"]) == FILES + 1
        assert 0 < statements_per_second(postgres_server) < MOST_PER_SECOND_OF_A_SERVER


def test_an_idle_server_makes_few_statements_on_sqlite(
    sqlite_url: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []
    connect = sqlite3.connect

    def traced(*args: Any, **kwargs: Any) -> sqlite3.Connection:
        connection = connect(*args, **kwargs)
        connection.set_trace_callback(made.append)
        return connection

    monkeypatch.setattr(sqlite3, "connect", traced)
    with running_api(sqlite_url, workflows=[idle_work], definitions=DefinitionSettings(folders=(folder,))) as api:
        assert len(api.client("viewer").get("/api/v1/workflows").json()["workflows"]) == FILES + 1
        before, began = len(made), time.monotonic()
        time.sleep(LOOKED)
        took = time.monotonic() - began
        # The file is watched by a look at a number in shared memory.
        statements = [text for text in made[before:] if text != "pragma data_version"]
        print(f"{len(statements)} statements in {took:.1f} s: {len(statements) / took:.2f} a second")
        assert 0 < len(statements) / took < MOST_PER_SECOND_ON_SQLITE


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
