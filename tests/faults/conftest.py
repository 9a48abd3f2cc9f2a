"""Databases and processes for the fault tests; whatever a test does, the history must be lawful afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.children import Children
from tests.faults.guarantees import check_history
from tests.faults.languages import Program, programs
from tests.faults.scale import TIMEOUT
from tests.postgres import NoPostgres, OwnServer, server

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.faults)
            item.add_marker(pytest.mark.timeout(TIMEOUT))


@pytest.fixture
def restarted_server() -> Iterator[OwnServer]:
    """A server of the test's own, to be stopped and started."""
    try:
        found = server()
    except NoPostgres as error:
        pytest.skip(str(error))
    if not isinstance(found, OwnServer):
        pytest.skip("a server that is given cannot be restarted")
    yield found
    found.destroy()


@pytest.fixture(scope="session")
def languages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Program]:
    """The workers' programs of the languages that there are here."""
    return programs(tmp_path_factory.mktemp("languages"))


@pytest.fixture
def children(store_url: str, tmp_path: Path) -> Iterator[Children]:
    """Processes on a database of each kind."""
    yield from _children(store_url, tmp_path)


@pytest.fixture
def sqlite_children(sqlite_url: str, tmp_path: Path) -> Iterator[Children]:
    yield from _children(sqlite_url, tmp_path)


@pytest.fixture
def postgres_children(postgres_url: str, tmp_path: Path) -> Iterator[Children]:
    yield from _children(postgres_url, tmp_path)


@pytest.fixture
def restarted_children(restarted_server: OwnServer, tmp_path: Path) -> Iterator[Children]:
    with restarted_server.database(empty=True) as url:
        yield from _children(url, tmp_path)


def _children(url: str, folder: Path) -> Iterator[Children]:
    children = Children(url, folder)
    try:
        yield children
    finally:
        children.end()
    # A test that skipped before it started a process has left no tables to check.
    if children.started:
        check_history(url)
