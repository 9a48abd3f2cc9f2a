"""Workflow files on the command line: validate with places, folders, bases, JSON, and the schema."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.acceptance.command import Project
from turnout.authoring.yaml.findings import FINDING_CODES
from turnout.authoring.yaml.schema import workflow_schema

pytestmark = pytest.mark.timeout(300)

GOOD = """\
params: {REGION: eu}
steps:
  - {command: "echo ${REGION}", output: OUT}
  - call: tidy
---
name: tidy
steps: ["true"]
"""
BAD = """\
steps:
  - comand: ./extract.sh
  - command: ./load.sh
    depends: extrat
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    project = Project(tmp_path_factory.mktemp("files"))
    folder = project.folder / "nightly"
    (folder / "below").mkdir(parents=True)
    (folder / "good.yaml").write_text(GOOD)
    (folder / "bad.yml").write_text(BAD)
    (folder / "below" / "caller.yaml").write_text("type: chain\nsteps: [make]\n")
    (folder / "base.yaml").write_text("tags: [nightly]\nqeue: slow\n")
    (folder / ".hidden.yaml").write_text("no: workflow\n")
    (folder / "turnout.yaml").write_text("database: sqlite:///x.db\n")
    alone = project.folder / "alone"
    alone.mkdir()
    (alone / "good.yaml").write_text(GOOD)
    (alone / "bad.yaml").write_text(BAD)
    (alone / "latin.yaml").write_bytes(b"description: gr\xfc\xdfe\nsteps: [make]\n")
    return project


def test_all_findings_are_printed_with_their_places(project: Project) -> None:
    good, bad, missing = project.run_all(
        [
            ["validate", "alone/good.yaml"],
            ["validate", "alone/good.yaml", "alone/bad.yaml"],
            ["validate", "alone/nowhere.yaml", "alone/latin.yaml"],
        ]
    )
    assert good.code == 0
    assert [line for line in good.out.splitlines() if not line.startswith("  warning: rule")] == [
        '✓ public::embedded::good(REGION: str = "eu")  2 tasks',
        "alone/good.yaml:3:3: note[assumed_type]: `type` is not written: chain was taken, since no step has `depends`",
        "alone/good.yaml:7:8: note[assumed_type]: `type` is not written: chain was taken, since no step has `depends`",
        "✓ public::good::tidy()  1 task",
    ]
    assert bad.code == 2
    lines = bad.out.splitlines()
    assert "✗ alone/bad.yaml: error[invalid_workflow_file]: 2 errors" in lines
    assert "alone/bad.yaml:2:5: error[unknown_key]: steps[0] has no key 'comand': did you mean 'command'?" in lines
    assert any(line.startswith("alone/bad.yaml:4:14: error[unknown_dependency]: ") for line in lines)
    assert missing.code == 2
    assert "error[no_such_file]" in missing.out and "error[unreadable_file]" in missing.out


def test_a_folder_stands_for_its_files_and_their_base(project: Project) -> None:
    [done] = project.run_all([["validate", "nightly", "--json"]])
    assert done.code == 2
    assert [each["target"] for each in done.json] == [
        "nightly/bad.yml",
        "nightly/below/caller.yaml",
        "nightly/good.yaml",
    ]
    first = done.json[0]["findings"][0]
    assert (first["file"], first["line"], first["column"]) == ("nightly/base.yaml", 2, 1)
    assert (first["severity"], first["code"], first["where"]) == ("error", "unknown_key", "qeue")
    assert {finding["code"] for each in done.json for finding in each["findings"]} <= set(FINDING_CODES)


def test_a_warning_is_printed_with_its_own_workflow_only(project: Project) -> None:
    folder = project.folder / "selectors"
    folder.mkdir()
    (folder / "gpu.yaml").write_text("worker_selector: {gpu: 'true'}\nsteps: [make]\n")
    (folder / "other.yaml").write_text("steps: [make]\n")
    [done] = project.run_all([["validate", "selectors", "--json"]])
    gpu, other = done.json
    assert any("no hub is configured" in each for each in gpu["warnings"])
    assert not any("no hub is configured" in each for each in other["warnings"])


def test_json_has_the_workflows_and_the_findings(project: Project) -> None:
    [done] = project.run_all([["validate", "alone/good.yaml", "--json"]])
    main, sub = done.json
    assert (main["ok"], main["workflow"], main["tasks"]) == (True, "public::embedded::good", ["step_1", "step_2"])
    assert main["parameters"] == [{"name": "REGION", "type": "str", "required": False, "default": "eu", "doc": ""}]
    assert [each["code"] for each in main["findings"]] == ["assumed_type", "assumed_type"]
    assert (sub["workflow"], sub["findings"]) == ("public::good::tidy", [])


def test_the_schema_is_printed_and_written(project: Project, tmp_path: Path) -> None:
    file = tmp_path / "workflow.schema.json"
    printed, written = project.run_all([["schema"], ["schema", "--output", str(file)]])
    assert (printed.code, written.code) == (0, 0)
    assert printed.json == json.loads(file.read_text(encoding="utf-8")) == workflow_schema()


def test_python_files_of_a_folder_declare_tasks_for_every_command(project: Project) -> None:
    folder = project.folder / "mixed"
    folder.mkdir()
    (folder / "mytasks.py").write_text(
        "from turnout import task\n\n\n@task\ndef score(n: int) -> int:\n    return n + 1\n"
    )
    (folder / "mixed.yaml").write_text("steps: [{name: a, python: 'mytasks:score', params: {n: 3}, output: N}]\n")
    named = project.run("validate", "mixed/")
    assert named.code == 0, named.out + named.err
    assert "mixed/mytasks.py  1 task, no workflow" in named.out and "::mixed(" in named.out
    alone = project.run("validate", "mixed/mixed.yaml")
    assert alone.code == 2 and "unknown_task" in alone.out, (
        "a module that is neither configured nor named is not imported"
    )
    for configured in ("mixed/", "mixed/mytasks.py,mixed/"):
        checked, doctor, ran = (
            project.run(*command, TURNOUT_WORKFLOWS=configured)
            for command in (("config", "check"), ("doctor",), ("run", "mixed/mixed.yaml", "--json"))
        )
        assert checked.code == 0, checked.out + checked.err
        assert (doctor.code, "no_workflow" in doctor.out) == (0, False), doctor.out
        assert ran.json["result"] == {"N": 4}
        assert project.run("validate", TURNOUT_WORKFLOWS=configured).code == 0
