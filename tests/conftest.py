"""What tests share: a real PostgreSQL server, and stores on both dialects."""

from __future__ import annotations

import gc
import os
import shutil
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests.pgbouncer import NoPgBouncer, Pooled, pooled
from tests.postgres import GivenServer, NoPostgres, server
from turnout.authoring.workflow import _defined, defined_workflows
from turnout.contracts.store import Store
from turnout.store import connect

# TURNOUT_EXAMPLES says with how many examples a property is tried: "few" in make check, "many" in make faults.
# How long an example takes says nothing on a busy machine. In CI the examples are always the same: a change is judged
# by what it changes, and the search for new examples goes on everywhere else.
for name, count in {"few": 20, "usual": 40, "many": 500}.items():
    settings.register_profile(
        name,
        max_examples=count,
        deadline=None,
        derandomize="CI" in os.environ,
        suppress_health_check=[HealthCheck.too_slow],
    )
settings.load_profile(os.environ.get("TURNOUT_EXAMPLES", "usual"))

# The tests start a thousand programs, and each would compile all that it imports anew.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# Whoever starts the tests in the background of a shell without job control hands them an interrupt that is ignored,
# and every program that they start inherits it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> object:
    """With ``--dist loadfile``, a schedule that a process which dies does not bring to a halt."""
    if config.getvalue("dist") != "loadfile":
        return None
    from tests.kit.file_schedule import FileSchedule

    return FileSchedule(config, log)


def pytest_collection_finish() -> None:
    """What the tests consist of stays to the end: the garbage collector need not look at it again and again."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def local_workflows_end_with_their_test() -> Iterator[None]:
    """A Runner that is not told which takes all workflows that are defined, and when the garbage collector comes by
    those of an earlier test is nobody's business."""
    before = set(defined_workflows())
    yield
    for workflow in defined_workflows():
        if workflow not in before and "<locals>" in (workflow.source.ref or ""):
            _defined.discard(workflow)


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[GivenServer]:
    try:
        found = server(in_memory=True)
    except NoPostgres as error:
        print(error)
        pytest.skip(str(error))
    yield found
    found.destroy()


@pytest.fixture
def postgres_url(postgres_server: GivenServer, request: pytest.FixtureRequest) -> Iterator[str]:
    """A database of the test's own; with the mark ``empty_database``, one without tables."""
    empty = request.node.get_closest_marker("empty_database") is not None
    with postgres_server.database(empty=empty) as url:
        yield url


@pytest.fixture
def pooled_database(postgres_url: str) -> Iterator[Pooled]:
    """The same database through PgBouncer in transaction mode, with fewer connections to the server than one Runner
    opens."""
    try:
        with pooled(postgres_url) as found:
            yield found
    except NoPgBouncer as error:
        print(error)
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def migrated_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A SQLite database to be copied: to make the tables takes five times as long."""
    file = tmp_path_factory.mktemp("migrated") / "turnout.db"
    store = connect(f"sqlite:///{file}")
    store.open()
    store.close()
    return file


@pytest.fixture
def sqlite_url(tmp_path: Path, migrated_file: Path, request: pytest.FixtureRequest) -> str:
    """A database of the test's own; with the mark ``empty_database``, one that has yet to be made."""
    if request.node.get_closest_marker("empty_database") is None:
        shutil.copy(migrated_file, tmp_path / "turnout.db")
    return f"sqlite:///{tmp_path}/turnout.db"


@pytest.fixture(params=["sqlite", "postgres"])
def store_url(request: pytest.FixtureRequest) -> str:
    return str(request.getfixturevalue(f"{request.param}_url"))


@pytest.fixture
def store(store_url: str) -> Iterator[Store]:
    opened = connect(store_url)
    opened.open()
    yield opened
    opened.close()
