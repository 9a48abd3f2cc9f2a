"""``turnout orchestrate``: real orchestrators, a real worker, and signals."""

from __future__ import annotations

import ctypes
import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kit.waiting import until

from tests.acceptance.command import PATIENCE, Project
from turnout import Runner

pytestmark = pytest.mark.timeout(900)

REMOTE = '''
"""A workflow whose bodies are elsewhere."""

from turnout import remote, shell, workflow

ship = remote("ship", handler="Orders::Ship", config={"carrier": "sea"})
note = shell("printf noted", name="note")


@workflow
def shipping(order: str = "42") -> object:
    return ship.after(note())(order=order)
'''

HANDLERS = '''
"""What a worker has."""

from turnout.worker import Step, handler


@handler("Orders::Ship")
def ship(order: str, step: Step) -> str:
    return f"order {order} by {step.handler_config['carrier']}"
'''


class Processes:
    """Processes of a test, which do not outlive it."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.started: list[subprocess.Popen[str]] = []

    def start(self, *arguments: str, **more: str) -> subprocess.Popen[str]:
        process = self.project.start(*arguments, **more)
        self.started.append(process)
        return process

    def orchestrate(self, *arguments: str, **more: str) -> tuple[subprocess.Popen[str], dict[str, Any]]:
        """An orchestrator that is ready, and what it said then."""
        process = self.start("orchestrate", "--json", *arguments, **more)
        assert process.stdout is not None and process.stderr is not None
        line = process.stdout.readline()
        assert line, process.stderr.read()
        return process, json.loads(line)

    def end(self) -> None:
        for process in self.started:
            process.kill()
            process.communicate()


@pytest.fixture
def project(tmp_path: Path) -> Project:
    project = Project(tmp_path)
    (tmp_path / "remote_flows.py").write_text(REMOTE)
    (tmp_path / "handlers.py").write_text(HANDLERS)
    return project


@pytest.fixture
def processes(project: Project) -> Iterator[Processes]:
    running = Processes(project)
    yield running
    running.end()


def until_said(process: subprocess.Popen[str], text: str) -> None:
    """Wait for a line on its standard error."""
    said = process.stderr
    assert said is not None
    until(lambda: text in said.readline())


def result_of(project: Project, run_id: str) -> object:
    """What the run returns, driven by others."""
    with Runner(project.database, config=False, workflows=(), drives=False) as watching:
        return watching.get(run_id).result(PATIENCE)


def test_an_orchestrator_without_any_code_drives_stored_runs_of_handlers_and_commands(
    project: Project, processes: Processes
) -> None:
    (project.folder / "turnout.toml").write_text('hub = "tcp://127.0.0.1:0"')
    orchestrator, ready = processes.orchestrate()
    assert ready["workflows"] == [] and ready["public_key"] is None
    assert ready["database"] == project.database
    worker = processes.start("worker", "--connect", str(ready["hub"]), "--import", "handlers.py")
    submitted = project.run("run", "remote_flows.py", "-p", "order=7", "--no-wait", "--json")
    run_id = submitted.json["run_id"]
    assert result_of(project, run_id) == "order 7 by sea"
    orchestrator.send_signal(signal.SIGTERM)
    assert project.finish(orchestrator).code == 0
    worker.send_signal(signal.SIGTERM)
    assert project.finish(worker).code == 0


def test_a_run_is_handed_over_at_sigterm_and_another_orchestrator_goes_on_with_it(
    project: Project, processes: Processes
) -> None:
    first, ready = processes.orchestrate()
    assert ready["hub"] is None and "public::embedded::waiting" in ready["workflows"]
    run_id = project.run("run", "flows.py:waiting", "-p", "file=go", "--no-wait", "--json").json["run_id"]
    until((project.folder / "go.waiting").exists)
    first.send_signal(signal.SIGTERM)
    until_said(first, "handing over")
    # The body runs in its grace, and what follows it is left to others.
    (project.folder / "go").touch()
    assert project.finish(first).code == 0
    processes.orchestrate()
    assert result_of(project, run_id) == "came"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_second_signal_ends_it_at_once(project: Project, processes: Processes, number: signal.Signals) -> None:
    process, _ = processes.orchestrate(TURNOUT_ORCHESTRATION__STOP_GRACE="10m")
    project.run("run", "flows.py:waiting", "-p", "file=never", "--no-wait")
    until((project.folder / "never.waiting").exists)
    process.send_signal(number)
    until_said(process, "handing over")
    process.send_signal(number)
    assert project.finish(process).code == 130


def to_another_thread(process: subprocess.Popen[str], number: signal.Signals) -> None:
    """Send a signal in such a way that nothing wakes the main thread, as one does that comes right before it sleeps."""
    others = [int(each.name) for each in Path(f"/proc/{process.pid}/task").iterdir() if each.name != str(process.pid)]
    assert ctypes.CDLL(None).tgkill(process.pid, max(others), int(number)) == 0


@pytest.mark.skipif(sys.platform != "linux", reason="signals for one thread of another process are Linux's")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_is_heard_also_while_its_main_thread_sleeps(
    project: Project, processes: Processes, number: signal.Signals
) -> None:
    orchestrator, _ = processes.orchestrate()
    to_another_thread(orchestrator, number)
    assert project.finish(orchestrator).code == 0


def test_it_says_in_one_plain_line_that_it_is_ready(project: Project, processes: Processes) -> None:
    process = processes.start("orchestrate", "flows.py", "--hub", "tcp://127.0.0.1:0")
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line.startswith("ready: orchestrator ") and "hub tcp://127.0.0.1:" in line and "\x1b" not in line
    process.send_signal(signal.SIGINT)
    assert project.finish(process).code == 0


def test_what_cannot_work_is_refused_with_a_code(project: Project, processes: Processes) -> None:
    (project.folder / "turnout.toml").write_text("")
    done = project.run("orchestrate", "--json")
    assert (done.code, done.error["code"]) == (2, "nothing_to_drive")
    done = project.run("orchestrate", "--json", "--hub", "tcp://0.0.0.0:0")
    assert (done.code, done.error["code"]) == (2, "hub_without_keys")
    assert "turnout keys generate" in done.error["hint"]
    _, ready = processes.orchestrate("flows.py", "--hub", "tcp://127.0.0.1:0")
    done = project.run("orchestrate", "flows.py", "--json", "--hub", str(ready["hub"]))
    assert (done.code, done.error["code"]) == (5, "hub_unavailable")
    assert "another address with --hub" in done.error["hint"]
    for wrong in ("tcp://127.0.0.1:70000", "127.0.0.1:5890", "tcp://127.0.0.1"):
        done = project.run("orchestrate", "flows.py", "--json", "--hub", wrong)
        assert (done.code, done.error["code"]) == (2, "bad_setting") and repr(wrong) in done.error["message"]


def test_a_local_run_leaves_the_hub_to_the_orchestrator_that_has_it(project: Project, processes: Processes) -> None:
    _, ready = processes.orchestrate("--hub", "tcp://127.0.0.1:0")
    done = project.run("run", "flows.py:doubling", "--json", TURNOUT_HUB=str(ready["hub"]))
    assert (done.code, done.json["result"]) == (0, "it is 42")
    done = project.run("run", "remote_flows.py", "--json", TURNOUT_HUB=str(ready["hub"]))
    assert (done.code, done.error["code"]) == (5, "hub_unavailable")
    assert "--no-wait" in done.error["hint"]


def test_a_run_in_a_pipe_says_that_it_waits_for_a_worker_that_is_not_there(project: Project) -> None:
    done = project.run("run", "remote_flows.py", "--timeout", "4s", TURNOUT_HUB="tcp://127.0.0.1:0")
    assert done.code == 4
    waiting, remedy = (line for line in done.out.splitlines() if "no_worker_matches" in line)
    assert waiting.startswith("… ") and remedy.startswith("  no_worker_matches: Start a worker"), done


def test_a_run_that_waits_is_shown_with_what_ends_the_wait(project: Project, processes: Processes) -> None:
    processes.orchestrate("remote_flows.py", "--hub", "tcp://127.0.0.1:0")
    run_id = project.run("run", "remote_flows.py", "--no-wait", TURNOUT_HUB="tcp://127.0.0.1:0").out.strip()
    until(lambda: "  no_worker_matches: Start a worker" in project.run("runs", "show", run_id).out)
    assert project.run("runs", "cancel", run_id).code == 0
    assert "Start a worker" not in project.run("runs", "show", run_id).out


def test_keys_are_made_once_and_shown(project: Project) -> None:
    made = project.run("keys", "generate", "hub.key")
    public = made.out.strip()
    file = project.folder / "hub.key"
    assert made.code == 0 and len(public) == 40 and f'key = "{public}"' in made.err
    assert file.stat().st_mode & 0o777 == 0o600
    again = project.run("keys", "generate", "hub.key", "--json")
    assert (again.code, again.error["code"]) == (2, "key_file_exists")
    assert project.run("keys", "show", "hub.key").out.strip() == public
    shown = project.run("keys", "show", "hub.key", "--env", "--json").json["variables"]
    assert shown["TURNOUT_CURVE_PUBLIC_KEY"] == public and len(shown["TURNOUT_CURVE_SECRET_KEY"]) == 40
    forced = project.run("keys", "generate", "hub.key", "--force", "--json").json["public_key"]
    assert forced != public == made.out.strip() and project.run("keys", "show", "hub.key").out.strip() == forced
    assert file.stat().st_mode & 0o777 == 0o600 and list(project.folder.glob(".hub.key*")) == []
    assert project.run("keys", "show", "nowhere.key").code == 2


def test_a_hub_and_a_worker_with_keys_made_by_the_command_line(project: Project, processes: Processes) -> None:
    hub_key = project.run("keys", "generate", "hub.key").out.strip()
    worker_key = project.run("keys", "generate", "box.key").out.strip()
    listed = project.folder / "workers.toml"
    listed.write_text("")
    (project.folder / "turnout.toml").write_text(
        '[hub]\naddress = "tcp://127.0.0.1:0"\nkey_file = "hub.key"\nworkers_file = "workers.toml"\n'
        f'[worker]\nserver_key = "{hub_key}"\nkey_file = "box.key"\nimport = ["handlers.py"]\n'
    )
    assert project.run("config", "check").code == 0
    orchestrator, ready = processes.orchestrate()
    assert ready["public_key"] == hub_key
    connect = ("worker", "--connect", str(ready["hub"]))
    refused = project.finish(processes.start(*connect))
    assert refused.code == 1 and "key_refused" in refused.err
    until_said(orchestrator, f"its key {worker_key[:8]}… is not listed")
    fresh = listed.with_suffix(".fresh")
    fresh.write_text(f'[[worker]]\nname = "box"\nkey = "{worker_key}"\n')
    fresh.replace(listed)
    until_said(orchestrator, "keys listed: 1")
    labelled = project.finish(processes.start(*connect, "--label", "gpu=true"))
    assert labelled.code == 1 and "labels_refused: key 'box' allows no label gpu" in labelled.err
    worker = processes.start(*connect)
    run_id = project.run("run", "remote_flows.py", "--no-wait", "--json").json["run_id"]
    assert result_of(project, run_id) == "order 42 by sea"
    listed.write_text("")
    revoked = project.finish(worker)
    assert revoked.code == 1 and "key_refused" in revoked.err


PEEPING = '''
"""A command that says what it finds in its environment."""

from turnout import shell, workflow

peep = shell("printenv TURNOUT_CURVE_PUBLIC_KEY TURNOUT_CURVE_SECRET_KEY || true", name="peep", parse="lines")


@workflow
def peeping() -> object:
    return peep()
'''


def test_commands_that_a_worker_runs_do_not_find_its_secret_key(project: Project, processes: Processes) -> None:
    """They may print their environment, and what they print is kept."""
    hub_key, worker_key = (project.run("keys", "generate", name).out.strip() for name in ("hub.key", "box.key"))
    (project.folder / "workers.toml").write_text(f'[[worker]]\nname = "box"\nkey = "{worker_key}"\n')
    (project.folder / "peeping.py").write_text(PEEPING)
    (project.folder / "turnout.toml").write_text(
        '[hub]\naddress = "tcp://127.0.0.1:0"\nkey_file = "hub.key"\nworkers_file = "workers.toml"\n'
        '[[routing.rules]]\npattern = "**"\nexecutor = "workers"\n'
    )
    _, ready = processes.orchestrate()
    variables = project.run("keys", "show", "box.key", "--env", "--json").json["variables"]
    processes.start("worker", "--connect", str(ready["hub"]), TURNOUT_CURVE_SERVER_KEY=hub_key, **variables)
    run_id = project.run("run", "peeping.py", "--no-wait", "--json").json["run_id"]
    assert result_of(project, run_id) == [worker_key]
