"""After the only orchestrator was killed, every command says the same of the run that it drove."""

from __future__ import annotations

from pathlib import Path

import pytest
from waiting import until

from tests.acceptance.command import PATIENCE, Project
from turnout import Runner

pytestmark = pytest.mark.timeout(900)

SAID = "not driven: start `turnout orchestrate`, or `turnout runs resume RUN --here`"


def test_all_commands_agree_on_a_run_whose_orchestrator_was_killed(tmp_path: Path) -> None:
    project = Project(tmp_path)
    orchestrator = project.start("orchestrate", "--json")
    try:
        assert orchestrator.stdout is not None
        assert orchestrator.stdout.readline()
        run_id = project.run("run", "flows.py:waiting", "-p", "file=go", "--no-wait", "--json").json["run_id"]
        until((tmp_path / "go.waiting").exists)
        assert project.run("runs", "ls", "--json").json[0]["driver"] == "driven"
    finally:
        orchestrator.kill()
        orchestrator.communicate()

    for command in (("doctor",), ("health",), ("runs", "ls"), ("runs", "show", run_id), ("runs", "resume", run_id)):
        assert SAID in project.run(*command).out, command
    assert project.run("runs", "ls", "--json").json[0]["driver"] == "not_driven"
    with Runner(project.database, config=False, workflows=(), drives=False) as watching:
        assert watching.get(run_id).driver() == "not_driven"

    (tmp_path / "go").touch()
    here = project.run("runs", "resume", run_id, "--here", "--target", "flows.py")
    assert here.code == 0, here
    with Runner(project.database, config=False, workflows=(), drives=False) as watching:
        assert watching.get(run_id).result(PATIENCE) == "came"
        assert watching.get(run_id).driver() == "not_needed"
