"""A notification survives the death of its server: another one delivers it, signed, under the same id."""

from __future__ import annotations

import json
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.command import Project
from tests.acceptance.test_cli_orchestrate import Processes
from tests.kit.http_target import Received, Target, http_target
from turnout.model.webhook_signature import verify

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
NIGHTLY = """
notify:
  url: env:NOTIFY_URL
  on: [success]
  secret: env:NOTIFY_SECRET
  interval_sec: 0.2
steps:
  - echo done
"""
CONFIG = """
workflows = ["nightly.yaml"]

[notifications]
private_hosts = ["127.0.0.1"]
"""


@pytest.fixture
def target() -> Iterator[Target]:
    with http_target() as made:
        yield made


def test_a_notification_survives_kill_9_of_its_server(target: Target, tmp_path: Path) -> None:
    project = Project(tmp_path)
    (tmp_path / "nightly.yaml").write_text(NIGHTLY)
    (tmp_path / "turnout.toml").write_text(CONFIG)
    processes, go = Processes(project), threading.Event()
    variables = {"NOTIFY_URL": f"{target.url}/hooks", "NOTIFY_SECRET": SECRET}

    def start() -> subprocess.Popen[str]:
        process = processes.start("server", "--json", "--port", "0", **variables)
        assert process.stdout is not None and process.stderr is not None
        line = process.stdout.readline()
        assert line and json.loads(line)["url"], process.stderr.read()
        return process

    def hang(request: Received) -> int:
        go.wait(60)
        return 500

    target.answer = hang
    try:
        first = start()
        assert project.run("enqueue", "nightly.yaml").code == 0
        [lost] = target.wait()
        first.kill()
        first.wait(30)
        target.answer = lambda request: 200
        go.set()
        start()
        *_, again = target.wait(2)
        verify("standard", SECRET, again.headers, again.body, time.time())
        assert again.path == "/hooks" and again.json["type"] == "run.completed"
        assert (again.headers["webhook-id"], again.body) == (lost.headers["webhook-id"], lost.body)
        run = project.run("runs", "show", again.json["data"]["run_id"], "--json").json
        assert run["state"] == "completed", "the end of the run did not wait for its notification"
    finally:
        go.set()
        processes.end()
