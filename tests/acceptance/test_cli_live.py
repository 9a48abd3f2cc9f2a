"""A run as it is watched: progress, countdowns, who is waited for, why nothing starts, and what Ctrl-C leaves."""

from __future__ import annotations

import re
import sqlite3
import time
from pathlib import Path

import pytest
from kit.waiting import until

from tests.acceptance.command import Project
from tests.acceptance.terminal import CTRL_C, Terminal

pytestmark = pytest.mark.timeout(600)

FLOWS = """
from turnout import TaskInfo, injected, task, workflow


@task
def copy(info: TaskInfo = injected()) -> int:
    info.progress(3, 10, "three files")
    info.wait_cancelled(300)
    return 1


@task(retries=3, retry_delay="4m", jitter=0.0)
def fetch() -> int:
    raise ConnectionError("the server is away")


@task
def join(a: int, b: int) -> int:
    return a + b


@workflow
def busy() -> int:
    return join(copy(), fetch())


@task
def copy_one(number: int, info: TaskInfo = injected()) -> int:
    if number:
        info.progress(number, 4, f"part {number}")
        info.wait_cancelled(300)
    return number


@workflow
def many() -> list[int]:
    return copy_one.map([0, 0, 1, 2])


@task
def first() -> int:
    return 1


@workflow
def full() -> int:
    return first()
"""
FULL = """
import asyncio

from turnout.dispatcher import ExecutorMetrics


class Full:
    local = True
    kinds = frozenset({"python"})
    name = "full"

    def bind(self, loader): ...

    def has_capacity(self):
        return False

    def metrics(self):
        return ExecutorMetrics()

    async def execute(self, event):
        await asyncio.Event().wait()
"""
CONFIG = """
workflows = ["live.py", "flows.py"]

[executors.full]
use = "full_executor:Full"

[[routing.rules]]
pattern = "**::full::*"
executor = "full"
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    made = Project(tmp_path_factory.mktemp("live"))
    (made.folder / "live.py").write_text(FLOWS)
    (made.folder / "full_executor.py").write_text(FULL)
    (made.folder / "turnout.toml").write_text(CONFIG)
    return made


@pytest.mark.parametrize("columns", [80, 120])
def test_the_tree_shows_progress_countdown_and_who_is_waited_for(project: Project, columns: int) -> None:
    terminal = Terminal(["run", "busy"], project.folder, project.environment(), columns=columns)
    terminal.until("3 of 10, three files")
    terminal.until("waits for copy, fetch")
    terminal.until("will be retried in ")
    while len(set(re.findall(r"retried in (\w+)", terminal.text))) < 2:
        terminal.more()
    terminal.press(CTRL_C)
    assert terminal.end() == 3
    assert "cancelling; press Ctrl-C once more" in terminal.text
    screen = terminal.screen
    assert terminal.cursor_shown and terminal.restored
    assert sum(line.startswith("busy  run ") for line in screen) == 1, "nothing of the display is left twice"
    assert not any("^C" in line or "cancelling" in line for line in screen), screen
    assert [line for line in screen if line][-1].startswith("hint: ") and screen[-1] == ""


def test_a_mapped_task_shows_how_far_its_items_are_live_and_when_it_is_shown(project: Project) -> None:
    terminal = Terminal(["run", "many"], project.folder, project.environment(), columns=120)
    terminal.until("2/4 · 2 running · 68 %")
    terminal.until("1 of 4, part 1")
    terminal.until("2 of 4, part 2")
    until(lambda: "68 %" in project.run("runs", "show", "last").out)
    shown = project.run("runs", "show", "last").out
    assert "2/4 · 2 running · 68 %" in shown
    assert re.search(r"▶ copy_one\[3\] .* 2 of 4, part 2", shown)
    known = {task["name"]: task.get("progress") for task in project.run("runs", "show", "last", "--json").json["tasks"]}
    assert (known["copy_one[2]"], known["copy_one[1]"]) == ("1 of 4, part 1", None)
    terminal.press(CTRL_C)
    assert terminal.end() == 3


def test_a_second_ctrl_c_gives_the_cursor_back_and_starts_a_line(project: Project) -> None:
    terminal = Terminal(["run", "full"], project.folder, project.environment())
    terminal.until("waits for a free slot (no_capacity)")
    terminal.press(CTRL_C)
    terminal.press(CTRL_C)
    code = terminal.end()
    assert code in (3, 130), "whether the second came before the end"
    assert terminal.cursor_shown and terminal.raw.endswith("\n")


def test_a_pipe_is_told_within_moments_why_nothing_starts(project: Project) -> None:
    process = project.start("run", "full")
    assert process.stdout is not None
    assert process.stdout.readline().startswith("run ")
    began = time.monotonic()
    line = process.stdout.readline()
    assert "first" in line and "waits for a free slot (no_capacity)" in line
    assert time.monotonic() - began < 15, "two seconds on a machine that has nothing else to do"
    process.send_signal(2)
    assert project.finish(process).code == 3


def test_a_paused_run_says_so(project: Project) -> None:
    stored = project.run("run", "doubling", "--key", "once", "--no-wait")
    run_id = stored.out.split()[0]
    assert project.run("runs", "pause", run_id).code == 0
    process = project.start("run", "doubling", "--key", "once")
    assert process.stdout is not None
    assert process.stdout.readline().startswith("run ")
    said = process.stdout.readline()
    assert "nothing starts: the run is paused; `turnout runs resume" in said
    assert project.run("runs", "resume", run_id).code == 0
    assert project.finish(process).code == 0


def test_a_database_that_is_locked_is_named_while_it_is_waited_for(tmp_path: Path) -> None:
    project = Project(tmp_path)
    assert project.run("run", "flows.py:doubling").code == 0
    lock = sqlite3.connect(tmp_path / ".turnout" / "turnout.db", isolation_level=None)
    lock.execute("begin immediate")
    process = project.start("run", "flows.py:doubling")
    assert process.stderr is not None
    assert "nothing starts yet: waiting for the database sqlite:///" in process.stderr.readline()
    lock.execute("rollback")
    lock.close()
    assert project.finish(process).code == 0
