"""Databases and processes for the fault tests; whatever a test does, the history must be lawful afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import postgres
import pytest

from faults.children import Children
from faults.guarantees import check_history
from faults.scale import TIMEOUT

HERE = Path(__file__).parent


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "faults: processes and databases are killed, stopped and restarted")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.faults)
            item.add_marker(pytest.mark.timeout(TIMEOUT))


@pytest.fixture(scope="session")
def fault_server() -> Iterator[postgres.GivenServer]:
    yield from _server()


@pytest.fixture
def restarted_server() -> Iterator[postgres.OwnServer]:
    """A server of the test's own, to be stopped and started."""
    for server in _server():
        if not isinstance(server, postgres.OwnServer):
            pytest.skip("a server that is given cannot be restarted")
        yield server


def _server() -> Iterator[postgres.GivenServer]:
    try:
        server = postgres.server()
    except postgres.NoPostgres as error:
        pytest.skip(str(error))
    try:
        yield server
    finally:
        if isinstance(server, postgres.OwnServer):
            server.destroy()


@pytest.fixture
def postgres_url(fault_server: postgres.GivenServer) -> Iterator[str]:
    with fault_server.database() as url:
        yield url


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'turnout.db'}"


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest) -> str:
    """A fresh database, once of each kind."""
    return request.getfixturevalue(f"{request.param}_url")


@pytest.fixture
def children(url: str, tmp_path: Path) -> Iterator[Children]:
    """Processes on a database of each kind."""
    yield from _children(url, tmp_path)


@pytest.fixture
def sqlite_children(sqlite_url: str, tmp_path: Path) -> Iterator[Children]:
    yield from _children(sqlite_url, tmp_path)


@pytest.fixture
def postgres_children(postgres_url: str, tmp_path: Path) -> Iterator[Children]:
    yield from _children(postgres_url, tmp_path)


@pytest.fixture
def restarted_children(restarted_server: postgres.OwnServer, tmp_path: Path) -> Iterator[Children]:
    with restarted_server.database() as url:
        yield from _children(url, tmp_path)


def _children(url: str, folder: Path) -> Iterator[Children]:
    children = Children(url, folder)
    try:
        yield children
    finally:
        children.end()
    check_history(url)
