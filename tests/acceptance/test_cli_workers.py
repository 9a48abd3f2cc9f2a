"""``turnout workers``, and what other commands say of workers: real processes, seen from others."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from kit.waiting import until

from tests.acceptance.command import Project

pytestmark = pytest.mark.timeout(900)

ORCHESTRATOR = '''
"""An orchestrator with a hub, until its standard input ends."""

import sys

import flows

from turnout import RoutingConfig, RoutingRule, Runner
from turnout.executors.workers.settings import HubSettings
from turnout.runner import EngineSettings

lively = EngineSettings(heartbeat=0.5)
hub = HubSettings(address="tcp://127.0.0.1:0", heartbeat=1.0, lease=60.0)
routing = RoutingConfig("default", (RoutingRule("**", "workers"),))
with Runner(
    sys.argv[1], hub=hub, routing=routing, settings=lively, workflows=[flows.waiting], config=False
) as runner:
    print(runner.hub, flush=True)
    for line in sys.stdin:
        runner.submit(flows.waiting, line.strip())
'''


class Yard(Project):
    """A project with an orchestrator that has a hub, and workers that come and go."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        (folder / "orchestrator.py").write_text(ORCHESTRATOR)
        self.orchestrator = subprocess.Popen(
            [sys.executable, "orchestrator.py", self.database],
            cwd=folder,
            env=self.environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert self.orchestrator.stdout is not None
        self.hub = self.orchestrator.stdout.readline().strip()

    def submit(self, file: str) -> None:
        assert self.orchestrator.stdin is not None
        self.orchestrator.stdin.write(f"{file}\n")
        self.orchestrator.stdin.flush()

    def worker(self, name: str, *options: str) -> subprocess.Popen[str]:
        return self.start(
            "worker", "--connect", self.hub, "--import", "flows", "--name", name, "--grace", "10m", *options
        )

    def workers(self) -> dict[str, Any]:
        return {one["name"]: one for one in self.run("workers", "ls", "--json").json}


def is_draining(yard: Yard, worker: str) -> bool:
    """Whether its hub has told it, rather than that somebody has asked for it."""
    lines = yard.run("metrics").out.splitlines()
    return any(line.startswith("turnout_worker_draining") and f'"{worker}"}} 1' in line for line in lines)


@pytest.fixture
def yard(tmp_path: Path) -> Iterator[Yard]:
    (tmp_path / ".turnout").mkdir()
    made = Yard(tmp_path)
    yield made
    made.orchestrator.kill()
    made.orchestrator.communicate()


@pytest.fixture
def start(yard: Yard) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    started: list[subprocess.Popen[str]] = []

    def begin(name: str, *options: str) -> subprocess.Popen[str]:
        started.append(yard.worker(name, *options))
        return started[-1]

    yield begin
    for worker in started:
        if worker.poll() is None:
            worker.kill()
        worker.communicate()


def test_workers_are_seen_drained_and_named_on_what_they_did(
    yard: Yard, start: Callable[..., subprocess.Popen[str]]
) -> None:
    first = start("gpu-1", "--label", "gpu=true", "--concurrency", "2")
    until(lambda: "gpu-1" in yard.workers())
    yard.submit("go")
    until((yard.folder / "go.waiting").exists)
    until(lambda: yard.workers()["gpu-1"]["in_flight"] == 1)

    ls, text, show, shown, metrics, top, nobody = yard.run_all(
        [
            ["workers", "ls", "--json"],
            ["workers", "ls"],
            ["workers", "show", "gpu-1", "--json"],
            ["workers", "show", "gpu-1"],
            ["metrics"],
            ["top", "--once"],
            ["workers", "show", "gpu-9", "--json"],
        ]
    )
    [one] = ls.json
    assert (one["name"], one["labels"], one["language"], one["pid"]) == ("gpu-1", {"gpu": "true"}, "python", first.pid)
    assert one["hubs"] == [yard.hub] and one["breaker"] == "closed" and not one["draining"]
    assert "flows:wait_for" in one["handlers"]
    assert text.out.splitlines()[1].split()[0] == "gpu-1" and "gpu=true" in text.out
    [held] = show.json["held"]
    assert (held["task"], held["attempt"]) == ("wait_for", 1)
    assert "wait_for" in shown.out and str(first.pid) in shown.out
    assert 'worker="gpu-1"' in metrics.out and "gpu-1" in top.out
    assert nobody.code == 2 and nobody.error["code"] == "worker_not_found" and "gpu-1" in nobody.error["message"]

    drained = yard.run("workers", "drain", "gpu-1", "--reason", "deploy", "--json")
    assert (drained.code, drained.json["left"]) == (0, False)
    assert yard.workers()["gpu-1"]["drain_reason"] == "deploy"
    until(lambda: is_draining(yard, "gpu-1"))
    (yard.folder / "go").touch()
    assert yard.finish(first).code == 0
    until(lambda: "gpu-1" not in yard.workers())

    second = start("gpu-2")
    until(lambda: yard.run("runs", "ls", "--json").json[0]["state"] == "completed")
    waited = yard.run("workers", "drain", "gpu-2", "--wait")
    assert (waited.code, waited.out) == (0, "worker gpu-2 has left\n")
    assert yard.finish(second).code == 0

    document, told = yard.run_all([["runs", "show", "last", "--json"], ["runs", "show", "last"]])
    attempts = [attempt for task in document.json["tasks"] for attempt in task["attempts"]]
    ended = [(one["task"], one["worker"]) for one in attempts if one["outcome"] == "completed"]
    assert ended == [("wait_for", "gpu-1"), ("after", "gpu-2")]
    assert {one["executor"] for one in attempts} == {"workers"} and all("**" in one["decision"] for one in attempts)
    assert "gpu-1" in told.out and "gpu-2" in told.out and "**" in told.out


def test_without_workers_or_a_database_it_says_so_and_makes_nothing(tmp_path: Path) -> None:
    quiet = Project(tmp_path)
    none, as_json, unknown, away = quiet.run_all(
        [
            ["workers", "ls"],
            ["workers", "ls", "--json"],
            ["workers", "drain", "gpu-1", "--json"],
            ["workers", "ls", "-d", "postgresql://a@127.0.0.1:1/x"],
        ]
    )
    assert (none.code, none.out) == (0, "no workers\n")
    assert (as_json.code, as_json.json) == (0, [])
    assert unknown.code == 2 and unknown.error["code"] == "worker_not_found"
    assert away.code == 5 and "store_unreachable" in away.err
    assert not (tmp_path / ".turnout").exists()


DISTRIBUTED = """
workflows = ["flows.py"]
default_execution_mode = "distributed"

[hub]
address = "tcp://127.0.0.1:0"
"""


def test_the_wire_of_an_orchestrator_can_be_followed_and_explain_names_who_could_run_a_task(tmp_path: Path) -> None:
    project = Project(tmp_path)
    (tmp_path / "turnout.toml").write_text(DISTRIBUTED)
    orchestrator = project.start("orchestrate", "--trace-wire", "--json")
    workers: list[subprocess.Popen[str]] = []
    try:
        assert orchestrator.stdout is not None
        hub = json.loads(orchestrator.stdout.readline())["hub"]
        workers.append(project.start("worker", "--connect", hub, "--import", "flows.py", "--name", "one"))
        until(lambda: [view["name"] for view in project.run("workers", "ls", "--json").json] == ["one"])
        project.run("run", "flows.py:doubling", "-p", "number=4567891", "-p", "limit=99999999", "--no-wait")
        until(lambda: project.run("runs", "ls", "--json").json[0]["state"] == "completed")
        document, text = project.run_all(
            [["explain", "flows.py:doubling", "--json"], ["explain", "flows.py:doubling", "tell"]]
        )
        orchestrator.send_signal(signal.SIGTERM)
        done = project.finish(orchestrator)
    finally:
        for process in (orchestrator, *workers):
            process.kill()
            process.communicate()
    assert done.code == 0
    needs = {one["task"]: one["workers"] for one in document.json}
    assert needs["double"] == {"handler": "flows:double", "labels": {}, "matching": ["one"], "connected": 1}
    assert "needs handler flows:tell: 1 of 1 connected workers match: one" in text.out
    wire = "\n".join(line for line in done.err.splitlines() if "turnout.wire" in line)
    for said in ("← hello", "→ welcome", "one → steps", "one ← results", "one ← log"):
        assert said in wire, said
    assert "4567891" not in wire and "9135782" not in wire


def test_figures_of_a_hub_that_was_killed_are_marked(yard: Yard, start: Callable[..., subprocess.Popen[str]]) -> None:
    start("gpu-1")
    until(lambda: "gpu-1" in yard.workers())
    # On a busy machine a hub may be late with its figures, and counts as gone until they come.
    until(lambda: "hub gone" not in yard.run("workers", "ls").out)
    yard.orchestrator.kill()
    yard.orchestrator.wait()
    listed, shown = yard.run_all([["workers", "ls"], ["workers", "show", "gpu-1"]])
    assert "! hub gone: the figures are those that the hub reported last" in listed.out, listed
    assert "! hub gone gpu-1  the figures are those that the hub reported last" in shown.out, shown


def test_explain_tells_of_a_hub_that_is_there_but_not_configured(tmp_path: Path) -> None:
    project = Project(tmp_path)
    orchestrator = project.start("orchestrate", "flows.py", "--hub", "tcp://127.0.0.1:0", "--json")
    try:
        assert orchestrator.stdout is not None
        hub = json.loads(orchestrator.stdout.readline())["hub"]
        until(lambda: f"not configured here: --hub {hub}" in project.run("explain", "flows.py:doubling").out)
        assert "not configured" not in project.run("explain", "flows.py:doubling", "--hub", hub).out
    finally:
        orchestrator.kill()
        orchestrator.communicate()


def test_without_a_hub_there_is_no_wire_to_follow(tmp_path: Path) -> None:
    done = Project(tmp_path).run("orchestrate", "--trace-wire", "--json")
    assert done.code == 2 and done.error["code"] == "no_hub"
