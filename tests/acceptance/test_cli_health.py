"""``turnout health``, ``metrics`` and ``top``: how orchestrators are, seen from another process and at a terminal."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.command import PATIENCE, Project
from tests.acceptance.terminal import CTRL_C, Terminal

pytestmark = pytest.mark.timeout(900)

POOLS = ["task_request_processor", "task_claimer", "step_enqueuer", "step_result_processor", "task_finalizer"]
SHOW, LEAVE = "\x1b[?1049h", "\x1b[?1049l"
"""To the other screen of the terminal, and back."""


@pytest.fixture
def quiet(tmp_path: Path) -> Project:
    """A project in which nothing has ever run."""
    return Project(tmp_path)


@pytest.fixture(scope="module")
def busy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    """A project with an orchestrator that works, and has said how it is."""
    project = Project(tmp_path_factory.mktemp("busy"))
    process = project.start("run", "flows.py:waiting", "-p", "file=go")
    try:
        deadline = time.monotonic() + PATIENCE
        while not works(project):
            assert time.monotonic() < deadline and process.poll() is None, "no status was stored"
        yield project
        (project.folder / "go").touch()
        assert project.finish(process).code == 0
    finally:
        process.kill()
        process.wait()


def works(project: Project) -> bool:
    """Whether its orchestrator has said that it runs a task. What it says is some seconds old."""
    statuses = [one["status"] for one in project.run("top", "--json").json]
    return any(status["owned_runs"] and status["executors"]["default"]["active"] for status in statuses)


def shape(value: Any) -> Any:
    return {name: shape(each) for name, each in value.items()} if isinstance(value, dict) else type(value)


SHAPE = {
    "status": str,
    "coordinator": {"running": bool, "uptime_seconds": int},
    "executor_pools": {name: {"healthy": int, "unhealthy": int, "throughput": float} for name in POOLS},
    "database": {"pool_size": int, "active_connections": int, "saturation": float},
    "runs": {"unfinished": int, "not_driven": int},
}


def test_with_nobody_alive_it_is_down_and_looking_makes_nothing(quiet: Project) -> None:
    down, text, metrics, top = quiet.run_all([["health", "--json"], ["health"], ["metrics"], ["top"]])
    assert down.code == text.code == 1
    assert shape(down.json) == SHAPE
    assert (down.json["status"], down.json["coordinator"]["running"]) == ("down", False)
    assert text.out == "✗ down  no orchestrator is alive\n"
    assert (metrics.code, metrics.out.splitlines()[-1]) == (0, "turnout_orchestrators 0")
    assert (top.code, top.out.splitlines()[-1]) == (0, "no orchestrator is alive")
    assert not (quiet.folder / ".turnout").exists()


def test_a_database_that_cannot_be_reached_has_its_own_exit_code(quiet: Project) -> None:
    gone = ["-d", "postgresql://a@127.0.0.1:1/x"]
    for done in quiet.run_all([["health", "--json", *gone], ["metrics", *gone], ["top", *gone]]):
        assert done.code == 5 and "store_unreachable" in done.err and not done.out, done


def test_an_orchestrator_is_seen_from_another_process(busy: Project) -> None:
    document, text, metrics, top, every = busy.run_all(
        [["health", "--json"], ["health"], ["metrics"], ["top", "--once"], ["top", "--json"]]
    )
    assert shape(document.json) == SHAPE
    for done in (document, text):
        # What is seen of it may change from one moment to the next on a machine that is very busy.
        assert done.code in (0, 1) and not done.err
    assert document.code == (document.json["status"] != "healthy")
    assert document.json["coordinator"]["running"] is True
    assert all(pool["healthy"] for pool in document.json["executor_pools"].values())
    for name in POOLS:
        assert f"\n{name} " in text.out and f"\n{name} " in top.out
        assert f'pool="{name}"' in metrics.out
    assert text.code == (not text.out.startswith("✓ healthy"))
    assert metrics.code == top.code == every.code == 0
    assert "turnout_orchestrators 1\n" in metrics.out and "\x1b" not in top.out
    [one] = every.json
    assert one["status"]["owned_runs"] == 1 and one["status"]["executors"]["default"]["active"] == 1
    assert f"{one['host']}:{one['pid']}" in top.out


@pytest.mark.parametrize("colours", [True, False])
def test_at_a_terminal_top_is_live_until_q(busy: Project, colours: bool) -> None:
    environment = busy.environment() | ({} if colours else {"NO_COLOR": "1"})
    columns = 110 if colours else 60
    terminal = Terminal(["top"], busy.folder, environment, columns=columns)
    terminal.until("task_finalizer")
    terminal.until("saturation")
    # It draws again and again.
    while terminal.text.count("turnout top") < 3:
        terminal.more()
    terminal.press(b"q")
    assert terminal.end() == 0
    assert terminal.raw.count(SHOW) == terminal.raw.count(LEAVE) == 1 and terminal.raw.rstrip().endswith(LEAVE)
    assert terminal.restored
    assert ("\x1b[32m" in terminal.raw) is colours
    for frame in terminal.frames:
        assert max(map(len, frame.split("\n"))) <= columns


@pytest.mark.parametrize("leaving", ["ctrl-c", "terminate"])
def test_top_waits_for_an_orchestrator_and_leaves_by_the_door(quiet: Project, leaving: str) -> None:
    terminal = Terminal(["top"], quiet.folder, quiet.environment())
    terminal.until("no orchestrator is alive: waiting for one")
    process = quiet.start("run", "flows.py:waiting", "-p", "file=go")
    try:
        terminal.until("step_result_processor")
        if leaving == "ctrl-c":
            terminal.press(CTRL_C)
        else:
            terminal.terminate()
        assert terminal.end() == (0 if leaving == "ctrl-c" else 143)
        assert terminal.raw.rstrip().endswith(LEAVE) and terminal.restored
        (quiet.folder / "go").touch()
        assert quiet.finish(process).code == 0
    finally:
        process.kill()
        process.wait()
