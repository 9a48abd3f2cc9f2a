"""Labels that are asked for where no hub is configured: said by every command, and refused if that is wanted."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.acceptance.command import Project

pytestmark = pytest.mark.timeout(600)

FLOWS = """
from turnout import task, workflow


@task(worker_selector={"gpu": "true"})
def render(scene: str) -> str:
    return scene.upper()


@task
def plain(scene: str) -> str:
    return scene


@workflow
def film(scene: str = "dusk") -> str:
    return plain(render(scene))
"""
REASON = "worker_selector {gpu=true} on the task → workers, but no hub is configured"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = Project(tmp_path)
    (tmp_path / "film.py").write_text(FLOWS)
    (tmp_path / "turnout.toml").write_text('workflows = ["film.py"]\n')
    return made


def test_labels_without_a_hub_are_warned_about_and_the_reason_is_stored(project: Project) -> None:
    ran, as_json, explained, document, validated, checked = project.run_all(
        [["run", "film.py"], ["run", "film.py", "--json"], ["explain", "film.py"], ["explain", "film.py", "--json"],
         ["validate"], ["config", "check", "--json"]]
    )  # fmt: skip
    assert all(done.code == 0 for done in (ran, as_json, explained, document, validated, checked))
    warning = f'task "public::embedded::film::render" runs locally, in executor "default": {REASON}'
    assert f"warning: {warning}" in ran.err and ran.out.endswith("DUSK\n")
    assert len(as_json.json["warnings"]) == 1 and as_json.json["warnings"][0].startswith(warning)
    assert as_json.err == "", "standard error is for errors then"
    assert f"warning: {warning}" in explained.out and explained.out.count("warning") == 1
    assert [each["warning"] is None for each in document.json] == [False, True]
    assert f"warning: {warning}" in validated.out
    assert checked.json["warnings"] == as_json.json["warnings"]
    shown = project.run("runs", "show", "last")
    assert REASON.partition(", ")[0] in shown.out, shown


def test_strict_selectors_refuse_it_before_anything_runs(project: Project) -> None:
    (project.folder / "turnout.toml").write_text('workflows = ["film.py"]\nstrict_selectors = true\n')
    commands = {"run film.py": 5, "validate": 2}
    for command, code in commands.items():
        done = project.run(*command.split())
        assert done.code == code and "error[selector_without_hub]" in done.err + done.out, done
        assert REASON in done.err + done.out and "configure a hub" in done.err + done.out
    for done in project.run_all([["explain", "film.py"], ["config", "check"]]):
        assert done.code == 0 and "are refused: worker_selector {gpu=true}" in done.out
    assert not (project.folder / ".turnout").exists()
    enqueued = project.run("enqueue", "film.py", "--json")
    assert (enqueued.code, enqueued.error["code"]) == (5, "selector_without_hub")
    assert project.run("runs", "ls", "--json").json == []
    by_variable = project.run("run", "film.py", "--json", TURNOUT_STRICT_SELECTORS="true")
    assert by_variable.error["code"] == "selector_without_hub"
    assert project.run("run", "film.py", TURNOUT_STRICT_SELECTORS="false").code == 0
