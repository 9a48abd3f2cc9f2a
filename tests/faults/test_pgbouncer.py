"""Orchestrators behind PgBouncer in transaction mode die, and start on an empty database at once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.faults.children import Child, Children, eventually
from tests.faults.guarantees import check_history
from tests.faults.outcomes import all_completed
from tests.faults.scale import scaled
from tests.pgbouncer import Pooled

RUNS = scaled(40, 500)
SECONDS = 0.2
PROCESSES = 4


class PooledChildren:
    """Starts processes that reach the database through PgBouncer, as a deployment does: by two variables."""

    def __init__(self, database: Pooled, folder: Path) -> None:
        self._children = Children(database.url, folder)
        self._environment = {"TURNOUT_DIRECT_DATABASE": database.direct_url}
        self.executions = self._children.executions

    def start(self, mode: str, **options: Any) -> Child:
        return self._children.start(mode, environment=self._environment, **options)

    def end(self) -> None:
        self._children.end()


@pytest.fixture
def pooled_children(pooled_database: Pooled, tmp_path: Path) -> Iterator[PooledChildren]:
    children = PooledChildren(pooled_database, tmp_path)
    try:
        yield children
    finally:
        children.end()
    check_history(pooled_database.direct_url)


def test_a_survivor_adopts_the_runs_of_a_killed_orchestrator(
    pooled_children: PooledChildren, pooled_database: Pooled
) -> None:
    executions = pooled_children.executions
    survivor = pooled_children.start("serve")
    survivor.wait_for("ready")
    victim = pooled_children.start("submit", runs=RUNS, seconds=SECONDS, settings={"sweep": 60.0})
    eventually("the victim has accepted all", lambda: len(victim.said("accepted")) == RUNS)
    eventually("the victim runs bodies", lambda: executions.by(victim.pid))
    victim.kill()
    eventually("the survivor runs bodies", lambda: executions.by(survivor.pid))
    again = pooled_children.start("submit", runs=RUNS, seconds=SECONDS)
    assert again.finished() == {"completed": RUNS}
    all_completed(pooled_database.direct_url, executions, RUNS, kills=1)


@pytest.mark.empty_database
def test_processes_that_start_on_an_empty_database_at_once_all_find_its_tables(
    pooled_children: PooledChildren,
) -> None:
    for process in [pooled_children.start("serve") for _ in range(PROCESSES)]:
        process.wait_for("ready")
    assert pooled_children.start("submit", runs=5, seconds=0.01).finished() == {"completed": 5}
