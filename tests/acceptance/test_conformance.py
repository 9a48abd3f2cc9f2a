"""``turnout conformance`` with real processes: a worker that keeps the protocol passes, each broken one is caught."""

from __future__ import annotations

import os
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from acceptance.command import ROOT, Project

from turnout.conformance.acts import Verdict
from turnout.conformance.running import Outcome, play
from turnout.conformance.script import sessions

pytestmark = pytest.mark.timeout(280)

WORKER = ROOT / "tests" / "conformance_worker.py"
BROKEN = {
    "runs_duplicates": ("duplicates", r"it has \['1.1', '1.1'"),
    "ignores_cancelled": ("cancel_running", "cancelled.*no results came"),
    "ignores_timed_out": ("timeout", "timed_out"),
    "ignores_deadline": ("deadline", "returned"),
    "ignores_ack": ("results_again", "'done'"),
    "ignores_sigterm": ("sigterm_idle", "no bye came"),
    "never_resends": ("results_again", "no results came"),
    "never_reconnects": ("no_session", "no hello came"),
    "forgets_on_reconnect": ("reconnect", "in_flight"),
    "begins_without_leave": ("confirm_granted", "no start came"),
    "begins_out_of_contact": ("out_of_contact", "it has"),
    "more_than_concurrency": ("concurrency", "running"),
    "comes_back": ("refused", "the end of the program"),
    "wrong_check": ("echo", "malformed"),
    "wrong_exit_code": ("sigterm_idle", "ended with code 3; expected 0"),
    "sends_no_received": ("received", "no received came"),
    "sends_no_heartbeat": ("heartbeat_at_once", "no heartbeat came"),
    "sends_no_credit": ("drain", "seq|no credit came"),
    "sends_no_log": ("logs", "there are \\[\\]"),
    "sends_no_progress": ("progress", "no progress came"),
}


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def test_the_python_worker_passes_every_session(project: Project) -> None:
    program = f"{sys.executable} -m turnout.worker.conformance"
    done = project.run("conformance", "--cmd", program, "--patience", "3", "--jobs", "6")
    assert done.code == 0, done.out + done.err
    lines = done.out.splitlines()
    assert lines[-1] == f"{len(sessions())} passed"
    assert [line.split()[0] for line in lines[:-2]] == [each.name for each in sessions()]


def test_the_worker_that_is_broken_below_passes_as_long_as_it_is_whole(project: Project) -> None:
    played = [word for name in sorted({name for name, _ in BROKEN.values()}) for word in ("--session", name)]
    done = project.run("conformance", "--cmd", f"{sys.executable} {WORKER}", "--patience", "3", "--jobs", "6", *played)
    assert done.code == 0, done


def outcome_of(variant: str) -> Outcome:
    name, _ = BROKEN[variant]
    command = ["env", f"TURNOUT_BROKEN={variant}", f"PYTHONPATH={ROOT / 'src'}", sys.executable, str(WORKER)]
    return play(sessions([name])[0], command, patience=1.0)


def test_a_worker_that_breaks_a_rule_is_caught_and_the_reason_is_given() -> None:
    with ThreadPoolExecutor(10) as threads:
        outcomes = dict(zip(BROKEN, threads.map(outcome_of, BROKEN), strict=True))
    passed = {variant: str(each) for variant, each in outcomes.items() if each.verdict is not Verdict.FAILED}
    assert passed == {}
    for variant, (_, reason) in BROKEN.items():
        assert re.search(reason, outcomes[variant].reason), (variant, outcomes[variant])


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
