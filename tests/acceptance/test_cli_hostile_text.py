"""Text that would steer a terminal, in everything that a run can say: shown escaped, kept as it is."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from tests.acceptance.command import Done, Project
from tests.acceptance.terminal import Terminal

pytestmark = pytest.mark.timeout(600)

EVIL = "\x1b]0;owned\x07\x9b31m\u202egnp"
ESCAPED = r"\x1b]0;owned\x07\x9b31m\u202egnp"
FLOWS = f"""
import logging
import sys

from turnout import TaskInfo, task, workflow

EVIL = {EVIL!r}


@task
def speak(word: str, info: TaskInfo) -> str:
    print("out", word)
    print("err", word, file=sys.stderr)
    logging.getLogger(word).warning("log %s", word)
    info.progress(1, 2, "progress " + word)
    return word


@workflow
def speaking(word: str = EVIL) -> str:
    return speak(word)


@task
def fail(word: str) -> str:
    raise type(word, (Exception,), {{}})("error " + word)


@workflow
def failing(word: str = EVIL) -> str:
    return fail(word)
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    project = Project(tmp_path_factory.mktemp("hostile"))
    (project.folder / "hostile.py").write_text(FLOWS)
    return project


def assert_harmless(done: Done) -> None:
    for text in (done.out, done.err):
        found = {each for each in text if each in EVIL and not each.isprintable()}
        assert not found, f"{found} in {text!r}"


def stored(project: Project, query: str) -> list[str]:
    with sqlite3.connect(project.folder / ".turnout" / "turnout.db") as database:
        return [str(row[0]) for row in database.execute(query)]


def test_what_a_run_says_is_escaped_in_a_pipe_and_kept_in_the_store(project: Project) -> None:
    ran = project.run("run", "hostile.py:speaking")
    assert ran.code == 0 and ran.out.count(ESCAPED) >= 4, ran
    assert_harmless(ran)
    kept = stored(project, "SELECT text FROM log")
    assert any(f"out {EVIL}" in text for text in kept)
    commands = ("logs last", "logs last --json", "runs ls", "runs show last", "runs show last --json")
    commands += ("runs history last", "runs history last --json", "graph last", "doctor", "health", "top --once")
    shown = dict(zip(commands, project.run_all([each.split() for each in commands]), strict=True))
    for done in shown.values():
        assert_harmless(done)
    assert shown["logs last"].out.count(ESCAPED) >= 4
    assert any(EVIL in json.loads(line)["text"] for line in shown["logs last --json"].out.splitlines())
    assert shown["runs show last --json"].json["input"] == {"word": EVIL}


def test_errors_and_tracebacks_are_escaped(project: Project) -> None:
    ran, as_json = project.run_all([["run", "hostile.py:failing"], ["run", "hostile.py:failing", "--json"]])
    shown, document, nobody = project.run_all(
        [["runs", "show", "last"], ["runs", "show", "last", "--json"], ["runs", "show", EVIL]]
    )
    for done in (ran, as_json, shown, document, nobody):
        assert_harmless(done)
    assert f"error {ESCAPED}" in ran.err and f"error {ESCAPED}" in shown.out
    assert as_json.json["failures"][0]["message"] == f"error {EVIL}"
    assert document.json["tasks"][0]["error"]["message"] == f"error {EVIL}"
    assert nobody.code == 2 and r"\x1b" in nobody.err


@pytest.mark.parametrize("flow", ["speaking", "failing"])
def test_the_live_tree_and_what_is_above_it_are_escaped(project: Project, flow: str) -> None:
    terminal = Terminal(["run", f"hostile.py:{flow}"], project.folder, project.environment(), columns=120)
    terminal.end()
    raw = terminal.raw
    for bad in ("\x1b]0;", "\x07", "\x9b", "\u202e"):
        assert bad not in raw, raw
    assert r"\x1b]0;owned\x07" in terminal.text


def test_a_worker_cannot_steer_the_terminal_of_its_orchestrator(tmp_path: Path) -> None:
    project = Project(tmp_path)
    (tmp_path / "hostile.py").write_text(FLOWS)
    (tmp_path / "turnout.toml").write_text('[routing]\ndefault = "workers"\n')
    orchestrator = project.start("orchestrate", "hostile.py", "--hub", "tcp://127.0.0.1:0", "--log-level", "debug")
    assert orchestrator.stdout is not None
    started = [orchestrator]
    try:
        ready = orchestrator.stdout.readline()
        hub = next(word.rstrip(",") for word in ready.split() if word.startswith("tcp://"))
        started.append(project.start("worker", "--connect", hub, "--import", "hostile.py"))
        assert project.run("run", "hostile.py:speaking", "--no-wait").code == 0
        assert orchestrator.stdout.readline().endswith(f" speak │ out {ESCAPED}\n")
    finally:
        # The worker first: it keeps a result until the orchestrator has acknowledged it.
        for process in reversed(started):
            process.terminate()
            done = project.finish(process)
    assert f"err {ESCAPED}" in done.err
    assert_harmless(done)
    assert any(f"out {EVIL}" in text for text in stored(project, "SELECT text FROM log"))
