"""Workflow files on the command line: run by path, by name and by position, drawn and explained."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.acceptance.command import Project

pytestmark = pytest.mark.timeout(300)

GREETING = """
params:
  - NAME: world
  - {name: COUNT, type: integer, default: 1, maximum: 3}
steps:
  - {name: greet, command: 'for i in $(seq ${COUNT}); do echo "hello ${NAME}"; done', output: GREETING}
  - {name: report, call: report, params: {TEXT: "${GREETING}"}, output: REPORT}
  - {name: half, python: "flows:halve", params: {number: 8}, output: HALF}
"""
REPORT = """
params: {TEXT: none}
steps:
  - {name: count, command: 'echo "${TEXT}" | wc -l | tr -d " "', output: LINES}
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    project = Project(tmp_path_factory.mktemp("yaml"))
    folder = project.folder / "nightly"
    folder.mkdir()
    (folder / "greeting.yaml").write_text(GREETING)
    (folder / "report.yml").write_text(REPORT)
    (folder / "base.yaml").write_text("env: {FROM_BASE: base}\n")
    config = project.folder / "turnout.toml"
    config.write_text(config.read_text().replace('["flows.py"]', '["flows.py", "nightly"]'))
    return project


def test_a_file_is_run_with_parameters_by_name_and_by_position(project: Project) -> None:
    done = project.run("run", "nightly/greeting.yaml", "--json", "-p", "COUNT=2", "--", "it's Ada")
    assert done.code == 0, done
    assert done.json["result"] == {
        "GREETING": "hello it's Ada\nhello it's Ada",
        "REPORT": {"outputs": {"LINES": "2"}},
        "HALF": 4,
    }
    [shown] = [project.run("runs", "show", "last", "--json")]
    assert shown.json["workflow"] == "public::embedded::greeting"


def test_a_file_of_a_configured_folder_is_run_by_its_name(project: Project) -> None:
    done = project.run("run", "report", "--json", "--", "TEXT=one")
    assert (done.code, done.json["result"]) == (0, {"LINES": "1"}), done


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["nightly/greeting.yaml", "-p", "COUNT=9"], "invalid_parameter"),
        (["nightly/greeting.yaml", "-p", "COUNT=many"], "invalid_parameter"),
        (["nightly/greeting.yaml", "-p", "LD_PRELOAD=x"], "unknown_parameter"),
        (["nightly/greeting.yaml", "--", "a", "2", "c"], "unknown_parameter"),
        (["nightly/missing.yaml"], "no_such_file"),
        (["nightly/greeting.yaml:other"], "no_such_workflow"),
    ],
)
def test_wrong_input_is_refused_and_nothing_is_stored(project: Project, arguments: list[str], code: str) -> None:
    done = project.run("run", arguments[0], "--json", *arguments[1:])
    assert done.code == 2 and done.error["code"] == code, done


def test_a_file_with_errors_is_not_run_and_all_of_them_are_named(project: Project, tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text("steps:\n  - call: nowhere\n  - python: os:system\n  - echo ${a.b}\n")
    done = project.run("run", str(tmp_path / "bad.yaml"))
    assert done.code == 2 and "3 errors" in done.err, done
    for place in ("bad.yaml:2:11", "bad.yaml:3:13", "bad.yaml:4:5"):
        assert place in done.err
    assert not list(tmp_path.glob("*.db"))


def test_files_that_call_one_another_are_refused(project: Project, tmp_path: Path) -> None:
    (tmp_path / "one.yaml").write_text("steps: [{call: two}]\n")
    (tmp_path / "two.yaml").write_text("steps: [{call: one}]\n")
    done = project.run("run", str(tmp_path / "one.yaml"))
    assert done.code == 2 and "one → two → one" in done.err, done


def test_a_file_is_drawn_and_explained(project: Project) -> None:
    graph, explained = (
        project.run("graph", "nightly/greeting.yaml", "--json"),
        project.run("explain", "greeting", "--json"),
    )
    assert [each["name"] for each in graph.json["tasks"]] == ["greet", "report.params", "report", "half"]
    assert [(each["task"], each["executor"]) for each in explained.json] == [
        ("greet", "shell"),
        ("report.params", "shell"),
        ("report", "child"),
        ("half", "default"),
    ]


def test_a_run_of_commands_is_rerun_without_its_file(project: Project, tmp_path: Path) -> None:
    file = tmp_path / "commands.yaml"
    file.write_text(f"steps:\n  - {{name: a, command: echo a, output: A}}\n  - test -e {tmp_path}/fixed\n")
    assert project.run("run", str(file)).code == 1
    file.unlink()
    (tmp_path / "fixed").touch()
    again = project.run("runs", "rerun", "last", "--json")
    assert (again.code, again.json["result"]) == (0, {"A": "a"}), again


def test_a_broken_file_of_a_configured_folder_does_not_take_the_others_with_it(project: Project) -> None:
    broken = project.folder / "nightly" / "broken.yaml"
    broken.write_text("steps: [{comand: x}]\n")
    try:
        done = project.run("run", "report", "--json")
        assert (done.code, done.json["result"]) == (0, {"LINES": "1"}), done
        assert "broken.yaml is left out" in done.err
    finally:
        broken.unlink()
