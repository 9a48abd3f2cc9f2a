"""After the only orchestrator was killed, every command says the same of the run that it drove."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest
from kit.waiting import until

from tests.acceptance.command import PATIENCE, Project
from turnout import AsyncRunner, Runner

pytestmark = pytest.mark.timeout(900)

SAID = (
    "not driven: start the program again, or `turnout orchestrate FILE`, "
    "or `turnout runs resume RUN --here --target FILE`"
)


SCRIPT = """
import os
from pathlib import Path
from turnout import Runner, task, workflow

@task
def die_once() -> str:
    if not Path("died").exists():
        Path("died").touch()
        os._exit(9)
    return "lives"

@workflow
def job() -> str:
    return die_once()

if __name__ == "__main__":
    with Runner() as runner:
        runner.run(job)
"""


async def driver_awaited(url: str, run_id: str) -> str:
    async with AsyncRunner(url, config=False, workflows=(), drives=False) as watching:
        return await (await watching.get(run_id)).driver()


def test_all_commands_agree_on_a_run_whose_orchestrator_was_killed(tmp_path: Path) -> None:
    project = Project(tmp_path)
    orchestrator = project.start("orchestrate", "--json")
    try:
        assert orchestrator.stdout is not None
        assert orchestrator.stdout.readline()
        stored = project.run("run", "flows.py:waiting", "-p", "file=go", "--no-wait")
        assert stored.err == "stored; a live orchestrator starts it if it has this workflow\n", stored
        run_id = stored.out.strip()
        until((tmp_path / "go.waiting").exists)
        assert project.run("runs", "ls", "--json").json[0]["driver"] == "driven"
        assert project.run("health", "--json").json["runs"] == {"unfinished": 1, "not_driven": 0}
        for looking in (("top", "--once"), ("explain", "flows.py:waiting"), ("health",), ("doctor",)):
            assert "not driven" not in project.run(*looking).out, looking
    finally:
        orchestrator.kill()
        orchestrator.communicate()

    looking = [("doctor",), ("health",), ("top", "--once"), ("explain", "flows.py:waiting"), ("runs", "ls")]
    for command in (*looking, ("runs", "show", run_id), ("runs", "resume", run_id)):
        assert SAID in project.run(*command, COLUMNS="200").out, command
    assert "! not driven" in project.run("top", "--once").out, "in the line of the run"
    assert project.run("runs", "ls", "--json").json[0]["driver"] == "not_driven"
    shown = project.run("runs", "show", run_id, "--json").json
    assert (shown["driver"], shown["driven"]) == ("not_driven", False)
    assert project.run("health", "--json").json["runs"] == {"unfinished": 1, "not_driven": 1}
    assert {one["runs_not_driven"] for one in project.run("explain", "flows.py:waiting", "--json").json} == {1}
    with Runner(project.database, config=False, workflows=(), drives=False) as watching:
        assert watching.get(run_id).driver() == "not_driven"
        assert watching.health()["runs"] == {"unfinished": 1, "not_driven": 1}
    assert asyncio.run(driver_awaited(project.database, run_id)) == "not_driven"

    (tmp_path / "go").touch()
    here = project.run("runs", "resume", run_id, "--here", "--target", "flows.py")
    assert here.code == 0, here
    with Runner(project.database, config=False, workflows=(), drives=False) as watching:
        assert watching.get(run_id).result(PATIENCE) == "came"
        assert watching.get(run_id).driver() == "not_needed"
    again = project.run("runs", "resume", run_id, "--here", "--target", "flows.py")
    assert again.code == 2 and "error[run_ended]" in again.err and "completed already" in again.err, again


def test_the_advice_for_a_run_that_is_not_driven_works_for_a_script(tmp_path: Path) -> None:
    project = Project(tmp_path)
    (tmp_path / "turnout.toml").unlink()
    (tmp_path / "job.py").write_text(SCRIPT)
    command = [sys.executable, "job.py"]
    died = subprocess.run(command, cwd=tmp_path, env=project.environment(), timeout=PATIENCE, check=False)
    assert died.returncode == 9
    assert SAID in project.run("runs", "ls", COLUMNS="250").out
    here = project.run("runs", "resume", "last", "--here", "--target", "job.py", "--json")
    assert here.code == 0 and here.json["result"] == "lives", here
