"""Workflow folders of real servers: they survive a kill, drive open YAML runs on, and reload in ``turnout dev``."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import httpx
import pytest
from kit.waiting import until

from tests.acceptance.command import Project
from tests.acceptance.terminal import CTRL_C, Terminal
from tests.acceptance.test_cli_server import Servers, project, servers  # noqa: F401 - fixtures

pytestmark = pytest.mark.timeout(600)

LOCAL = ("--insecure-local",)


def write(folder: Path, name: str, text: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(text)


def call(url: str, method: str, path: str, **more: Any) -> httpx.Response:
    return httpx.request(method, f"{url}/api/v1{path}", timeout=20, **more)


def test_a_killed_server_keeps_its_definitions_and_drives_open_yaml_runs_on(
    project: Project,  # noqa: F811
    servers: Servers,  # noqa: F811
) -> None:
    flows = project.folder / "flows"
    wait = "while [ ! -e go ]; do sleep 0.05; done"
    write(flows, "child.yaml", "steps: [{name: say, command: printf child, output: SAID}]")
    write(
        flows,
        "held.yaml",
        f"steps: [{{name: a, command: 'touch a.waiting; {wait}'}}, {{name: b, call: child}}, "
        "{name: c, command: printf end, output: END}]",
    )
    first, ready = servers.serve("flows", *LOCAL, TURNOUT_SERVER__ALLOW_LOCAL_EXECUTION="true")
    url = ready["url"]
    made = call(url, "PUT", "/workflows/uploaded", json={"text": "steps: [echo up]"}, headers={"If-None-Match": "*"})
    assert made.status_code == 201, made.text
    run = call(url, "POST", "/runs", json={"workflow": "held"}).json()["run"]["id"]
    until((project.folder / "a.waiting").exists)
    first.send_signal(signal.SIGKILL)
    first.wait()
    (flows / "held.yaml").unlink()
    (project.folder / "go").touch()
    _, ready = servers.serve("flows", *LOCAL, TURNOUT_SERVER__ALLOW_LOCAL_EXECUTION="true")
    url = ready["url"]
    names = [each["name"] for each in call(url, "GET", "/workflows").json()["workflows"]]
    assert names == ["child", "uploaded"], "what was removed meanwhile takes no new runs"
    until(lambda: call(url, "GET", f"/runs/{run}").json()["state"] == "completed")
    assert call(url, "GET", f"/runs/{run}/result").json()["result"]["END"] == "end"
    assert call(url, "POST", "/runs", json={"workflow": "held"}).status_code == 404


def test_orchestrators_drive_what_a_server_has_stored(
    project: Project,  # noqa: F811
    servers: Servers,  # noqa: F811
) -> None:
    write(project.folder / "flows", "greet.yaml", "steps: [{name: say, command: printf $PPID, output: SAID}]")
    first, ready = servers.serve("flows", *LOCAL)
    assert ready["workflows"] == ["public::embedded::greet"]
    first.send_signal(signal.SIGTERM)
    project.finish(first)
    _, ready = servers.orchestrate("--database", project.database)
    assert "public::embedded::greet" in ready["workflows"]


def test_commands_find_the_workflows_of_the_servers_folders_by_name(project: Project) -> None:  # noqa: F811
    write(project.folder / "flows", "greet.yaml", "steps: [{name: say, command: printf hi, output: SAID}]")
    write(
        project.folder / "flows",
        "watch_folder.py",
        "from turnout import trigger\n@trigger(every='1h', workflow='greet')\ndef watch():\n    return []\n",
    )
    folders = {"TURNOUT_SERVER__WORKFLOW_FOLDERS": "flows"}
    done = project.run("run", "greet", "--json", **folders)
    assert (done.code, done.json["result"]) == (0, {"SAID": "hi"}), done
    # A trigger of one file may name the workflow of another.
    assert project.run("validate", "flows/watch_folder.py", **folders).code == 0
    assert "greet" in project.run("validate", **folders).out


def test_a_configured_folder_that_does_not_exist_is_named(project: Project) -> None:  # noqa: F811
    done = project.run("server", "--port", "0", "--json", TURNOUT_SERVER__WORKFLOW_FOLDERS="nowhere")
    assert (done.code, done.error["code"]) == (2, "no_such_folder")


def test_dev_takes_changed_files_at_once_those_in_python_too(project: Project) -> None:  # noqa: F811
    flows = project.folder / "live"
    write(flows, "greet.yaml", "steps: [{name: say, command: printf one, output: SAID}]")
    python = (
        "from turnout import task, workflow\n@task\ndef n():\n    return {}\n@workflow\ndef number():\n    return n()\n"
    )
    write(flows, "numbers_live.py", python.format(1))
    terminal = Terminal(["dev", "live", "--port", "0", "--no-worker"], project.folder, project.environment())
    try:
        terminal.until("ready: ")
        write(flows, "greet.yaml", "steps: [{name: say, command: printf two, output: SAID}]")
        terminal.until("greet: version 2 is in force")
        write(flows, "numbers_live.py", python.format(2))
        os.utime(flows / "numbers_live.py", ns=(1, 1))
        terminal.until("number: version 2 is in force")
    finally:
        terminal.press(CTRL_C)
