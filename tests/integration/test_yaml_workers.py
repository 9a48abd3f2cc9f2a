"""Steps of workflow files on a worker: everything is resolved there, and nothing of it here."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from kit.waiting import until

from turnout import Runner
from turnout.authoring.yaml.compiler import compile_file
from turnout.executors.workers.settings import HubSettings
from turnout.worker import Handlers, Worker, WorkerSettings

QUICK = HubSettings(address="tcp://127.0.0.1:0", heartbeat=0.2, lease=1.0, resend=0.2)
FLOW = """
workerSelector: {disk: "true"}
params: {DAY: monday}
dotenv: DIR/there.env
env: [{WHERE: "${THERE}/${DAY}"}]
secrets: [{name: TOKEN, provider: file, key: DIR/token}]
steps:
  - {name: about, command: 'echo "$WHERE $TOKEN $DAG_NAME"; test -n "$TOKEN"', output: ABOUT}
  - {name: skipped, preconditions: "test -f DIR/no-such-file", command: echo never, continue_on: skipped}
  - {name: each, parallel: "${ABOUT}", command: "echo item ${ITEM}", output: ITEMS}
  - name: again
    command: echo x >> DIR/count; wc -l < DIR/count | tr -d ' '
    output: COUNT
    repeat_policy: {repeat: until, condition: "${COUNT}", expected: "2", interval_sec: 0.01}
  - {name: tolerated, command: exit 3, continue_on: {exit_code: 3}}
  - {name: unresolved, command: "echo ${about.exit_code}", output: LAST}
handler_on: {exit: "echo left ${ABOUT}"}
"""


@contextmanager
def running(worker: Worker) -> Iterator[None]:
    thread = threading.Thread(target=worker.run, daemon=True)
    thread.start()
    try:
        yield
    finally:
        worker.stop()
        thread.join(20)


def test_a_workflow_file_runs_on_a_worker_that_resolves_everything_itself(sqlite_url: str, tmp_path: Path) -> None:
    (tmp_path / "there.env").write_text("THERE=on-the-worker\n")
    (tmp_path / "token").write_text("t0ken-of-the-worker\n")
    [flow] = compile_file(FLOW.replace("DIR", str(tmp_path)), name="flow").workflows
    with Runner(sqlite_url, hub=QUICK, workflows=[flow], handle_sigterm=False, config=False) as runner:
        settings = WorkerSettings(connect=(str(runner.hub),), labels={"disk": "true"}, concurrency=4)
        with running(Worker(Handlers(), settings)):
            run = runner.submit(flow)
            assert run.wait(60) == "completed", [(each.name, each.error) for each in run.tasks()]
            result = run.result()
            tasks = {each.name: each for each in run.tasks()}
            assert {each.executor for each in tasks.values() if each.attempt and not each.group} >= {"workers"}
            assert result["ABOUT"] == "on-the-worker/monday ******* flow"
            assert result["ITEMS"] == ["item on-the-worker/monday", "item *******", "item flow"]
            assert (result["COUNT"], result["LAST"]) == ("2", "0")
            assert tasks["skipped"].reason == f"precondition:test -f {tmp_path}/no-such-file failed"
            assert (str(tasks["tolerated"].state), tasks["tolerated"].reason) == ("failed", "continue_on")
            until(lambda: any(line.text.startswith("left on-the-worker") for line in run.logs()))
            assert not [line for line in run.logs() if "t0ken" in line.text]


PROGRAM = """
import sys
from turnout import Runner
from turnout.authoring.yaml.compiler import compile_file
url, text, start = sys.argv[1:]
workflows = compile_file(open(text).read(), name="nightly").workflows
with Runner(url, workflows=workflows, config=False) as runner:
    if start == "start":
        print(runner.submit(workflows[0]).id, flush=True)
    import threading
    threading.Event().wait()
"""
NIGHTLY = """
steps:
  - {name: first, command: "echo x >> DIR/first; echo one", output: ONE}
  - {name: slow, command: "touch DIR/waiting; while [ ! -e DIR/go ]; do sleep 0.05; done; echo ${ONE}", output: TWO}
  - {name: sub, call: child, params: {V: "${TWO}"}, output: SUB}
---
name: child
params: {V: none}
steps:
  - {command: "echo child ${V}", output: TEXT}
"""


def test_a_run_of_a_file_goes_on_after_its_program_was_killed(sqlite_url: str, tmp_path: Path) -> None:
    text = tmp_path / "nightly.yaml"
    text.write_text(NIGHTLY.replace("DIR", str(tmp_path)))

    def program(start: str) -> subprocess.Popen[bytes]:
        argv = [sys.executable, "-c", PROGRAM, sqlite_url, str(text), start]
        return subprocess.Popen(argv, stdout=subprocess.PIPE, cwd=tmp_path)

    first = program("start")
    second = None
    try:
        assert first.stdout is not None
        run_id = first.stdout.readline().decode().strip()
        until(lambda: (tmp_path / "waiting").exists())
        first.send_signal(signal.SIGKILL)
        first.wait()
        (tmp_path / "go").touch()
        second = program("resume")
        with Runner(sqlite_url, workflows=[], config=False, drives=False) as looking:
            handle = looking.get(run_id)
            assert handle.wait(60) == "completed", [(each.name, each.error) for each in handle.tasks()]
            assert handle.result() == {"ONE": "one", "TWO": "one", "SUB": {"outputs": {"TEXT": "child one"}}}
        assert (tmp_path / "first").read_text() == "x\n", "what was done is not done again"
    finally:
        for each in (first, second):
            if each is not None:
                each.kill()
                each.communicate()


def test_a_cancelled_run_of_a_file_calls_its_cancel_handler(sqlite_url: str, tmp_path: Path) -> None:
    text = f"""
steps: [{{name: slow, command: "touch {tmp_path}/waiting; sleep 60", signal_on_stop: SIGINT}}]
handler_on: {{cancel: "echo undone $DAG_RUN_STATUS", success: echo never, exit: echo left}}
"""
    [flow] = compile_file(text, name="flow").workflows
    with Runner(sqlite_url, workflows=[flow], config=False) as runner:
        run = runner.submit(flow)
        until(lambda: (tmp_path / "waiting").exists())
        run.cancel()
        assert run.wait(60) == "cancelled"
        states = {each.name: str(each.state) for each in run.tasks()}
        assert states == {
            "slow": "cancelled",
            "on_success.success": "skipped",
            "on_cancel.cancel": "completed",
            "on_exit.exit": "completed",
        }
        until(lambda: "undone cancelled" in [line.text for line in run.logs()])


def test_a_rerun_of_a_file_takes_over_what_was_done(sqlite_url: str, tmp_path: Path) -> None:
    text = f"""
steps:
  - {{name: once, command: "echo x >> {tmp_path}/once; echo done", output: ONCE}}
  - {{name: fails, command: "test -e {tmp_path}/fixed && echo ${{ONCE}}", output: TWICE}}
"""
    [flow] = compile_file(text, name="flow").workflows
    with Runner(sqlite_url, workflows=[flow], config=False) as runner:
        run = runner.submit(flow)
        assert run.wait(60) == "failed"
        (tmp_path / "fixed").touch()
        again = run.rerun()
        assert again.result(60) == {"ONCE": "done", "TWICE": "done"}
        assert (tmp_path / "once").read_text() == "x\n"


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:1/", "http://localhost/", "http://[::1]/", "http://169.254.169.254/"]
)
def test_a_request_that_may_only_reach_public_addresses_is_refused_where_it_is_made(
    sqlite_url: str, tmp_path: Path, url: str
) -> None:
    folder = tmp_path / "request"
    folder.mkdir()
    document: dict[str, Any] = {"url": url, "method": "GET", "headers": {}, "body": None, "expected": []}
    (folder / "request.json").write_text(json.dumps({**document, "public_only": True}))
    import turnout.runtime.supervised_process as runtime

    argv = [sys.executable, "-I", runtime.HTTP_REQUEST, str(folder)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, env={**os.environ})
    assert done.returncode == 8 and "a private address" in done.stderr
    assert not (folder / "request.json").exists(), "it may have secrets"
