"""``turnout conformance`` with real processes: a worker that keeps the protocol passes, each broken one is caught."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from acceptance.command import ROOT, Project
from conformance_defects import DEFECTS

from tests.kit.forked import Forked
from turnout.cli.conformance import conformance
from turnout.conformance import session_runner
from turnout.conformance.actions import Verdict
from turnout.conformance.program import Program
from turnout.conformance.script import sessions
from turnout.conformance.session_runner import NO_IPV6, Outcome, play
from turnout.conformance.sockets import has_ipv6

pytestmark = pytest.mark.timeout(280)

WORKER = ROOT / "tests" / "conformance_worker.py"
PATH = str(ROOT / "src")
IPV6 = has_ipv6()
AT_ONCE = 16
"""Sessions side by side: they wait most of the time."""
PATIENCE = 0.5
"""What a broken worker does not do is not waited for at length."""


class ForkedProgram(Program):
    """A Python program, forked off a process with its imports: their time is most of what a session takes."""

    def _started(self) -> subprocess.Popen[Any]:
        *assigned, arguments = " ".join(self._command).removeprefix("env ").partition(sys.executable)
        more = dict(each.split("=", 1) for each in assigned[0].split())
        with self._output.open("ab") as file:
            return Forked(
                arguments.split(),
                env={**self._environment, "PYTHONPATH": PATH, **more},
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )


@pytest.fixture
def forked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_runner, "Program", ForkedProgram)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


@pytest.mark.usefixtures("forked")
def test_the_python_worker_passes_every_session(capsys: pytest.CaptureFixture[str]) -> None:
    code = conformance(cmd=f"{sys.executable} -m turnout.worker.conformance", patience=3.0, jobs=AT_ONCE)
    said = capsys.readouterr()
    assert code == 0, said.out + said.err
    lines = said.out.splitlines()
    assert lines[-1].split("  ") == (
        [f"{len(sessions())} passed"] if IPV6 else [f"{len(sessions()) - 1} passed", "1 skipped"]
    )
    assert [line.split()[0] for line in lines[:-2]] == [each.name for each in sessions()]


@pytest.mark.usefixtures("forked")
def test_the_worker_that_is_broken_below_passes_every_session_as_long_as_it_is_whole() -> None:
    with ThreadPoolExecutor(AT_ONCE) as threads:
        outcomes = list(threads.map(lambda each: play(each, [sys.executable, str(WORKER)], patience=3.0), sessions()))
    assert [str(each) for each in outcomes if each.verdict is not Verdict.PASSED and each.reason != NO_IPV6] == []


def outcome_of(name: str) -> Outcome:
    """How the session goes that is to catch this defect."""
    command = ["env", f"TURNOUT_BROKEN={name}", sys.executable, str(WORKER)]
    return play(sessions([DEFECTS[name].session])[0], command, PATIENCE)


@pytest.mark.usefixtures("forked")
def test_every_defect_of_a_worker_is_caught_and_the_reason_is_given() -> None:
    with ThreadPoolExecutor(AT_ONCE) as threads:
        outcomes = dict(zip(DEFECTS, threads.map(outcome_of, DEFECTS), strict=True))
    played = {name: each for name, each in outcomes.items() if each.reason != NO_IPV6}
    assert {name: str(each) for name, each in played.items() if each.verdict is not Verdict.FAILED} == {}
    for name, each in played.items():
        assert re.search(DEFECTS[name].reason, each.reason), (name, each)


def test_a_program_that_is_no_worker_fails_and_what_it_wrote_is_shown(project: Project) -> None:
    program = project.folder / "program.py"
    program.write_text("print('I am no worker')")
    done = project.run("conformance", "--cmd", f"{sys.executable} {program}", "--session", "echo")
    assert done.code == 1
    assert "the program ended with code 0; expected hello" in done.out and "│ I am no worker" in done.out


def test_nothing_of_a_program_is_left_when_its_session_is_over(project: Project) -> None:
    """The end of a pipe that all its processes hold: it is read to its end when the last of them is gone."""
    pipe, program = project.folder / "pipe", project.folder / "program.sh"
    os.mkfifo(pipe)
    program.write_text(f"exec 9> {pipe}; echo here >&9; sleep 3000 & exec {sys.executable} {WORKER}")
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    done = project.run("conformance", "--cmd", f"sh {program}", "--session", "echo", "--patience", "3")
    assert done.code == 0, done
    os.set_blocking(reader, True)
    with os.fdopen(reader) as held:
        assert held.read() == "here\n"


def test_the_outcome_is_there_as_json_and_as_a_trace(project: Project) -> None:
    command = ("conformance", "--cmd", f"{sys.executable} {WORKER}", "-s", "echo", "--patience", "3")
    found, traced = project.run(*command, "--json").json, project.run(*command, "--trace").out
    assert (found["passed"], found["failed"], found["skipped"]) == (1, 0, 0)
    assert found["sessions"][0]["session"] == "echo" and found["sessions"][0]["verdict"] == "passed"
    assert re.search(r"← hello .*\n.*→ welcome .*\n.*← heartbeat", traced)


def test_wrong_usage_is_said_before_anything_is_started(project: Project) -> None:
    missing, none, unknown, listed = project.run_all(
        [
            ["conformance"],
            ["conformance", "--cmd", "no-such-program-anywhere"],
            ["conformance", "--cmd", "true", "-s", "nonsense"],
            ["conformance", "--list"],
        ]
    )
    assert missing.code == 2 and "--cmd is needed" in missing.err
    assert none.code == 2 and "there is no program 'no-such-program-anywhere'" in none.err
    assert unknown.code == 2 and "error[unknown_session]" in unknown.err
    assert listed.code == 0 and len(listed.out.splitlines()) == len(sessions())
