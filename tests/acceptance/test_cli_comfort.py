"""What people expect of a command line without reading about it."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.acceptance.command import Project
from tests.acceptance.terminal import Terminal

pytestmark = pytest.mark.timeout(600)

GROUPS = ("", "runs", "workers", "config", "keys")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    made = Project(tmp_path_factory.mktemp("comfort"))
    assert made.run("run", "flows.py:doubling", "-p", "number=4").code == 0
    return made


def test_a_new_project_says_where_to_go_and_keeps_its_runs_out_of_git(tmp_path: Path) -> None:
    project = Project(tmp_path)
    made = project.run("init", "my shop")
    assert made.out.endswith("next:\n  cd 'my shop'\n  turnout run flows.py -p name=Ada\n"), made
    inside = Project.__new__(Project)
    inside.folder = tmp_path / "my shop"
    here = inside.run("init")
    assert here.out.endswith("next:\n  turnout run flows.py -p name=Ada\n")
    assert inside.run("run", "flows.py").code == 0
    for command in ("init --quiet", "add --all"):
        subprocess.run(["git", *command.split()], cwd=inside.folder, check=True, capture_output=True)
    listed = subprocess.run(["git", "ls-files"], cwd=inside.folder, check=True, capture_output=True, text=True)
    assert listed.stdout.split() == [".gitignore", "README.md", "flows.py", "test_flows.py", "turnout.toml"]


def test_bare_groups_list(project: Project) -> None:
    bare, listed, as_json, some, workers, before = project.run_all(
        [["runs"], ["runs", "ls"], ["runs", "--json"], ["runs", "--state", "failed"], ["workers"],
         ["runs", "--json", "show", "last"]]
    )  # fmt: skip
    assert bare.code == 0 and bare.out == listed.out and "doubling" in bare.out
    assert [run["workflow"] for run in as_json.json] == ["public::embedded::doubling"]
    assert (some.code, some.out, workers.out) == (0, "no runs\n", "no workers\n")
    assert before.code == 2 and "options go after the command: turnout runs show" in before.err


def test_a_configured_workflow_runs_by_its_name(project: Project) -> None:
    inner = project.folder / "inner"
    inner.mkdir()
    away = Project.__new__(Project)
    away.folder = inner
    ran, explained, drawn, wrong = away.run_all(
        [["run", "doubling", "-p", "number=2"], ["explain", "doubling"], ["graph", "doubling"], ["run", "dubling"]]
    )
    assert ran.code == 0 and "it is 4" in ran.out, ran
    assert "small" in explained.out and "double" in drawn.out
    assert away.run("runs", "rerun", "last", "--from", "tell", "--target", "doubling").code == 0
    assert (
        wrong.code == 2
        and "no configured workflow and no module is named 'dubling': did you mean 'doubling'?" in wrong.err
    )


def test_input_may_be_the_json_itself(project: Project) -> None:
    given, broken, list_, missing = project.run_all(
        [["run", "doubling", "--input", value] for value in ('{"number": 3}', '{"number": 3', "[1]", "number=3")]
    )
    assert given.code == 0 and "it is 6" in given.out, given
    for done in (broken, list_, missing):
        assert done.code == 2 and "error[bad_input_file]" in done.err, done
        assert """or the JSON itself: --input '{"name": "Ada"}'""" in done.err, done
    assert "--input is not JSON" in broken.err and "number=3 cannot be read" in missing.err


def test_a_week_is_a_duration(project: Project) -> None:
    done = project.run("prune", "--older-than", "1w", "--dry-run")
    assert (done.code, done.out) == (0, "0 runs would be deleted\n")


@pytest.mark.parametrize("columns", ["80", "50"])
def test_one_line_helps_are_not_cut_off(project: Project, columns: str) -> None:
    for group in GROUPS:
        shown = project.run(*group.split(), "--help", COLUMNS=columns, TERMINAL_WIDTH=columns)
        commands = shown.out.partition("Commands:\n")[2]
        assert commands and "..." not in commands, shown
        if columns == "80":
            lines = commands.splitlines()
            assert all(re.match(r"  [a-z]+ +[A-Z].*\.$", line) for line in lines), lines


def test_deleting_asks_a_person_and_no_script(project: Project) -> None:
    first = project.run("run", "doubling", "--json").json["run_id"]
    for command in (["runs", "delete", first], ["prune", "--older-than", "0s"]):
        asked = Terminal(command, project.folder, project.environment())
        asked.until("? [y/N]: ")
        asked.press(b"n\n")
        assert asked.end() == 1 and "nothing was deleted" in asked.text
    assert project.run("runs", "show", first).code == 0
    yes = Terminal(["runs", "delete", first], project.folder, project.environment())
    yes.until("of doubling, completed? [y/N]: ")
    yes.press(b"y\n")
    assert yes.end() == 0 and f"deleted run {first}" in yes.text
    unasked = Terminal(["prune", "--older-than", "0s", "--yes"], project.folder, project.environment())
    assert unasked.end() == 0 and re.search(r"\d runs? deleted", unasked.text) and "[y/N]" not in unasked.text
    script = project.run("run", "doubling", "--json").json["run_id"]
    assert project.run("runs", "delete", script).code == 0
