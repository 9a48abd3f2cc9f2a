"""RFC 010's matrix through every path that starts a run: real server, hub and worker processes.

Each step returns the name of its process. Where it ran and the reason that is stored must be those of the matrix,
whether the run came from the API, the command line, a parent run, or was repeated.
"""

from __future__ import annotations

import json
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest
from kit.waiting import until

from tests.acceptance.command import PATIENCE, Project
from tests.acceptance.test_cli_orchestrate import Processes
from turnout import Runner

pytestmark = pytest.mark.timeout(900)

FLOWS = """
import os
import time
from pathlib import Path

from turnout import task, workflow

DISK = {"disk": "true"}


@task
def where(broken: str = "") -> str:
    if broken and Path(broken).exists():
        raise ValueError("not yet")
    return os.environ["WHO"]


@task
def block(file: str) -> str:
    Path(f"{file}.{os.environ['WHO']}").touch()
    while not Path(file).exists():
        time.sleep(0.01)
    return os.environ["WHO"]


@workflow
def plain(broken: str = "") -> str:
    return where(broken)


@workflow(worker_selector="local")
def pinned(broken: str = "") -> str:
    return where(broken)


@workflow(worker_selector=DISK)
def labelled(broken: str = "") -> str:
    return where(broken)


@workflow(worker_selector=DISK)
def pinned_task(broken: str = "") -> str:
    return where.options(worker_selector="local")(broken)


@workflow(worker_selector="local")
def labelled_task(broken: str = "") -> str:
    return where.options(worker_selector=DISK)(broken)


@workflow
def family() -> list[str]:
    return [plain(), pinned(), labelled(), pinned_task(), labelled_task()]


@workflow(worker_selector=DISK)
def blocked(file: str) -> str:
    return block(file)
"""

FILE = """
params:
  - DISK: "true"
workerSelector:
  disk: ${DISK}
steps:
  - command: echo one
  - command: echo two
  - command: echo three
  - command: echo here
    workerSelector: local
"""

NO_HUB = ", but no hub is configured"


class Row(NamedTuple):
    """One workflow of the matrix: the reason with a hub, and whether it goes to workers then."""

    workflow: str
    reason: str
    labels: bool

    def expected(self, hub: bool, mode: str) -> tuple[bool, str]:
        """Whether it runs on the worker, and the reason that is stored."""
        if self.workflow == "plain":
            remote = hub and mode == "distributed"
            return remote, "defaultExecutionMode distributed → workers" if remote else "default executor"
        return self.labels and hub, self.reason if hub or not self.labels else f"{self.reason}{NO_HUB}"


ROWS = (
    Row("plain", "", labels=False),
    Row("pinned", "worker_selector local on the workflow", labels=False),
    Row("labelled", "worker_selector {disk=true} on the workflow → workers", labels=True),
    Row("pinned_task", "worker_selector local on the task", labels=False),
    Row("labelled_task", "worker_selector {disk=true} on the task → workers", labels=True),
)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Site(Processes):
    """A project with a server and, if it has a hub, a worker; the command line has a hub of its own."""

    def __init__(self, folder: Path, *, hub: bool, mode: str) -> None:
        super().__init__(Project(folder))
        (folder / "where.py").write_text(FLOWS)
        (folder / "nightly.yaml").write_text(FILE)
        self.hub, self.mode = hub, mode
        address = f'hub = "tcp://127.0.0.1:{free_port()}"\n' if hub else ""
        config = f'workflows = ["where.py", "nightly.yaml"]\ndefaultExecutionMode = "{mode}"\n{address}'
        (folder / "turnout.toml").write_text(config)
        extra = ["--hub", "tcp://127.0.0.1:0"] if hub else []
        server = self.start("server", "--json", "--port", "0", *extra, WHO="server")
        assert server.stdout is not None and server.stderr is not None
        line = server.stdout.readline()
        assert line, server.stderr.read()
        self.ready = json.loads(line)
        secret = (folder / ".turnout" / "turnout-admin-token").read_text().strip()
        self.api = httpx.Client(
            base_url=f"{self.ready['url']}/api/v1", headers={"Authorization": f"Bearer {secret}"}, timeout=PATIENCE
        )
        self._reader = Runner(self.project.database, config=False, workflows=(), drives=False)
        if hub:
            self.first_worker = self.worker("worker", address.partition('"')[2].rstrip('"\n'))

    def worker(self, who: str, *more: str) -> subprocess.Popen[str]:
        """A worker that is connected to the server's hub, and looks for others."""
        addresses = [option for hub in (self.ready["hub"], *more) for option in ("--connect", hub)]
        process = self.start("worker", *addresses, "--import", "where", "--label", "disk=true", "--name", who, WHO=who)
        until(lambda: any(each["name"] == who for each in self.api.get("/workers").json()["workers"]))
        return process

    def end(self) -> None:
        self.api.close()
        self._reader.close()
        super().end()

    # -- the paths ----------------------------------------------------------------------------------------------
    def answer(self, workflow: str, **options: Any) -> dict[str, Any]:
        answer = self.api.post("/runs", json={"workflow": workflow}, **options)
        assert answer.status_code == 201, answer.text
        return answer.json()

    def api_start(self, workflow: str) -> str:
        return self.answer(workflow)["run"]["id"]

    def api_start_and_wait(self, workflow: str) -> str:
        answer = self.answer(workflow, params={"wait": 60})
        assert answer["ended"] and answer["result"] in ("server", "worker"), answer
        return answer["run"]["id"]

    def api_enqueue(self, workflow: str) -> str:
        answer = self.api.post("/runs/enqueue", json={"workflow": workflow})
        assert answer.status_code == 201 and answer.json()["run"]["state"] in ("pending", "running", "completed")
        return answer.json()["run"]["id"]

    def api_retry(self, workflow: str) -> str:
        broken = self.project.folder / f"{workflow}.broken"
        broken.touch()
        first = self.api.post(
            "/runs", json={"workflow": workflow, "input": {"broken": str(broken)}}, params={"wait": 60}
        ).json()
        assert first["run"]["state"] == "failed", first
        broken.unlink()
        return self.repeated(self.api.post(f"/runs/{first['run']['id']}/retry"))

    def api_restart(self, workflow: str) -> str:
        first = self.api_start_and_wait(workflow)
        return self.repeated(self.api.post(f"/runs/{first}/rerun", json={"from_task": "where"}))

    def repeated(self, answer: httpx.Response) -> str:
        assert answer.status_code == 201, answer.text
        return answer.json()["run"]["id"]

    def cli_enqueue(self, workflow: str) -> str:
        done = self.project.run("enqueue", workflow, "--quiet", WHO="command")
        assert done.code == 0, done
        return done.out.strip()

    def cli_rerun(self, workflow: str) -> str:
        first = self.api_start_and_wait(workflow)
        done = self.project.run("runs", "rerun", first, "--from", "where", "--no-wait", "--json", WHO="command")
        assert done.code == 0, done
        return done.json["run_id"]

    def cli_run(self, workflow: str) -> str:
        done = self.project.run("run", workflow, "--json", WHO="command")
        assert done.code == 0, done
        return done.json["run_id"]

    # -- what is stored -----------------------------------------------------------------------------------------
    def check(self, run_id: str, row: Row, home: str = "server") -> None:
        remote, reason = row.expected(self.hub, self.mode)
        handle = self._reader.get(run_id)
        assert handle.result(PATIENCE) == ("worker" if remote else home), (row.workflow, handle.attempts())
        (attempt,) = handle.attempts()
        assert attempt.executor == ("workers" if remote else "default")
        assert str(attempt.decision).startswith(reason), (row.workflow, attempt.decision)
        assert (NO_HUB in str(attempt.decision)) is (row.labels and not self.hub)


PATHS = ("api_start", "api_start_and_wait", "api_enqueue", "api_retry", "api_restart", "cli_enqueue", "cli_rerun")


@pytest.fixture(params=[(hub, mode) for hub in (True, False) for mode in ("local", "distributed")], ids=str)
def site(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Site]:
    hub, mode = request.param
    made = Site(tmp_path, hub=hub, mode=mode)
    yield made
    made.end()


def test_every_path_decides_as_the_matrix_says(site: Site) -> None:
    for row in ROWS:
        for path in PATHS:
            site.check(getattr(site, path)(row.workflow), row)
        site.check(site.cli_run(row.workflow), row, home="command")
    # A sub-workflow decides by its own selectors.
    parent = site.answer("family", params={"wait": 60})
    children = site.api.get(f"/runs/{parent['run']['id']}/children").json()["runs"]
    assert parent["run"]["state"] == "completed" and len(children) == len(ROWS)
    for row in ROWS:
        site.check(next(each["id"] for each in children if each["name"] == row.workflow), row)
    warned = [row.labels and not site.hub for row in ROWS]
    assert [bool(site.answer(row.workflow)["warnings"]) for row in ROWS] == warned


def test_a_step_whose_worker_is_lost_goes_to_another_by_the_stored_decision(tmp_path: Path) -> None:
    site = Site(tmp_path, hub=True, mode="local")
    try:
        file = tmp_path / "go"
        run_id = site.api.post("/runs", json={"workflow": "blocked", "input": {"file": str(file)}}).json()["run"]["id"]
        until((tmp_path / "go.worker").exists)
        second = site.worker("second")
        site.first_worker.send_signal(signal.SIGKILL)
        until((tmp_path / "go.second").exists)
        file.touch()
        with Runner(site.project.database, config=False, workflows=(), drives=False) as reader:
            handle = reader.get(run_id)
            assert handle.result(PATIENCE) == "second"
            attempts = handle.attempts()
        assert [each.worker for each in attempts] == ["worker", "second"] and second.poll() is None
        assert len({each.decision for each in attempts}) == 1, "the decision of the first attempt is kept"
        there = ["--server", site.ready["url"], "--token-file", str(tmp_path / ".turnout" / "turnout-admin-token")]
        listed = site.project.run("workers", "ls", "--json", *there)
        assert [each["name"] for each in listed.json] == ["second"], listed
        drained = site.project.run("workers", "drain", "second", "--wait", "--json", *there)
        assert (drained.code, drained.json["left"]) == (0, True), drained
        assert site.project.finish(second).code == 0
    finally:
        site.end()


def test_the_steps_of_a_workflow_file_stay_on_one_worker_with_labels_of_its_parameters(tmp_path: Path) -> None:
    site = Site(tmp_path, hub=True, mode="local")
    try:
        site.worker("second")
        reason = "worker_selector {disk=true} on the workflow → workers, one worker for the run"
        for _ in range(3):
            answer = site.answer("nightly", params={"wait": 60})
            assert answer["run"]["state"] == "completed", answer
            with Runner(site.project.database, config=False, workflows=(), drives=False) as reader:
                *steps, last = reader.get(answer["run"]["id"]).attempts()
            assert len(steps) == 3 and len({each.worker for each in steps}) == 1
            assert {each.decision for each in steps} == {reason} and last.worker is None
    finally:
        site.end()


def test_a_hub_that_cannot_be_opened_stops_the_command_with_exit_code_5_and_starts_nothing(tmp_path: Path) -> None:
    project = Project(tmp_path)
    (tmp_path / "where.py").write_text(FLOWS)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        (tmp_path / "turnout.toml").write_text(
            f'workflows = ["where.py"]\nhub = "tcp://127.0.0.1:{taken.getsockname()[1]}"\n'
        )
        for command in (["run", "labelled"], ["server", "--port", "0"], ["orchestrate"]):
            done = project.run(*command, "--json", WHO="command")
            assert (done.code, done.error["code"]) == (5, "hub_unavailable"), done
        enqueued = project.run("enqueue", "labelled", "--json", WHO="command")
        assert (enqueued.code, enqueued.error["code"]) == (5, "hub_unavailable"), enqueued
        assert "the hub is not up" in enqueued.error["message"]
        assert project.run("runs", "--json").json == []
        assert project.run("run", "pinned", "--json", WHO="command").json["result"] == "command"
