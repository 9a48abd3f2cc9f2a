"""The example of a service of functions: it runs, and a function goes on while its orchestrator is killed."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

import pytest

from tests.kit.forked import Forked, run_forked
from tests.kit.waiting import PATIENCE, until
from turnout import Runner

pytestmark = pytest.mark.timeout(280)

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples/serverless"

PROGRAM = """
import sys

from http_function import HttpFunctionExecutor

from turnout import RoutingConfig, RoutingRule, Runner, remote, workflow

resize = remote("resize", handler="resize_slowly", at_most_once=True)


@workflow
def held(until: str) -> str:
    return resize(picture="lake.png", width=100, until=until)


routing = RoutingConfig("default").with_rule(RoutingRule("**", "functions"))
functions = HttpFunctionExecutor(sys.argv[1])
with Runner("sqlite:///runs.db", executors={"functions": functions}, routing=routing) as runner:
    run = runner.submit(held, sys.argv[2]) if len(sys.argv) == 3 else runner.get(sys.argv[3])
    print(run.id, flush=True)
    if sys.argv[2] == "cancel":
        run.cancel()
        print(run.wait(), flush=True)
        sys.exit()
    print(run.wait(), run.result(), flush=True)
"""


@pytest.fixture
def functions() -> Iterator[str]:
    server = subprocess.Popen(
        [sys.executable, str(EXAMPLE / "function_server.py"), "0"], stdout=subprocess.PIPE, text=True
    )
    try:
        assert server.stdout is not None
        with server.stdout:
            yield server.stdout.readline().split()[-1]
    finally:
        server.kill()
        server.wait()


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{EXAMPLE}"}


def invoked(functions: str) -> dict[str, str]:
    with urllib.request.urlopen(functions, timeout=30) as answer:
        return json.loads(answer.read())


def test_the_example_does_what_its_readme_says(functions: str, tmp_path: Path) -> None:
    code, out, err = run_forked([str(EXAMPLE / "pictures.py"), functions], cwd=tmp_path, env=environment(), timeout=100)
    assert (code, out) == (0, "lake.png at 100 px, lake.png at 800 px\n"), err
    assert out.strip() in (EXAMPLE / "README.md").read_text()
    assert len(invoked(functions)) == 2


def test_the_executor_has_about_a_hundred_lines() -> None:
    lines = (EXAMPLE / "http_function.py").read_text().splitlines()
    assert len([line for line in lines if line.strip()]) <= 120


@pytest.mark.parametrize("done_before", [False, True])
def test_a_function_is_invoked_once_although_its_orchestrator_is_killed(
    functions: str, tmp_path: Path, done_before: bool
) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    gate = tmp_path / "open"
    first = Forked(["program.py", functions, str(gate)], cwd=tmp_path, env=environment())
    with first:
        assert first.stdout is not None
        run_id = first.stdout.readline().strip()
        until(lambda: invoked(functions), "the function was not invoked")
        first.kill()
        first.wait()
    if done_before:
        gate.touch()
        until(lambda: "completed" in invoked(functions).values(), "the function did not end")
    second = Forked(["program.py", functions, "-", run_id], cwd=tmp_path, env=environment())
    with second:
        assert second.stdout is not None
        assert second.stdout.readline().strip() == run_id
        gate.touch()
        assert second.stdout.readline() == "completed lake.png at 100 px\n"
        assert second.wait(60) == 0
    assert list(invoked(functions).values()) == ["completed"], "one invocation, of one attempt"


def test_an_invocation_that_is_not_known_is_lost_and_the_task_is_retried(functions: str, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM.replace(", at_most_once=True", ""))
    gate = tmp_path / "open"
    gate.touch()
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with Forked(["program.py", address, str(gate)], cwd=tmp_path, env=environment()) as first:
            assert first.stdout is not None
            run_id = first.stdout.readline().strip()
            silent.settimeout(PATIENCE)
            connection, _ = silent.accept()
            with connection:
                connection.settimeout(PATIENCE)
                asked = connection.recv(65_536).decode().split()[1]
                first.kill()
                first.wait()
    unknown = unquote(asked.removeprefix("/invocations/"))
    with Forked(["program.py", functions, "-", run_id], cwd=tmp_path, env=environment()) as second:
        assert second.stdout is not None
        assert second.stdout.readline().strip() == run_id
        assert second.stdout.readline() == "completed lake.png at 100 px\n"
        assert second.wait(60) == 0
    (invoked_name,) = invoked(functions)
    assert unknown.rpartition(":")[0] == invoked_name.rpartition(":")[0], "it is the same task"
    assert int(invoked_name.rpartition(":")[2]) > int(unknown.rpartition(":")[2]), "in another attempt"
    with Runner(f"sqlite:///{tmp_path}/runs.db", workflows=()) as runner:
        (lost,) = [each for each in runner.get(run_id).attempts() if each.outcome == "lost"]
    assert lost.attempt == int(unknown.rpartition(":")[2])


def test_a_cancelled_run_stops_its_function(functions: str, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    with Forked(["program.py", functions, str(tmp_path / "never")], cwd=tmp_path, env=environment()) as first:
        assert first.stdout is not None
        run_id = first.stdout.readline().strip()
        until(lambda: invoked(functions), "the function was not invoked")
        first.kill()
        first.wait()
    with Forked(["program.py", functions, "cancel", run_id], cwd=tmp_path, env=environment()) as second:
        assert second.stdout is not None
        assert second.stdout.readline().strip() == run_id
        assert second.stdout.readline() == "cancelled\n"
        assert second.wait(60) == 0
    assert list(invoked(functions).values()) == ["cancelled"]


def test_the_doctor_says_whether_the_endpoint_can_be_reached(functions: str, tmp_path: Path) -> None:
    for url, code in ((functions, 0), ("http://127.0.0.1:1", 5)):
        (tmp_path / "turnout.toml").write_text(
            f'[executors.functions]\nuse = "http_function:HttpFunctionExecutor"\nurl = "{url}"\n'
        )
        found, out, err = run_forked(["-m", "turnout", "doctor"], cwd=tmp_path, env=environment(), timeout=100)
        assert found == code, out + err
        assert (f"{url} does not answer: " in out) == bool(code)
