"""The page of the demo: its runs are served on this machine until Ctrl-C, or until the page has answered."""

from __future__ import annotations

import contextlib
import re
import socket
from pathlib import Path
from urllib.request import ProxyHandler, build_opener

import pytest

from tests.acceptance.command import Project
from tests.acceptance.terminal import CTRL_C, Terminal

pytestmark = pytest.mark.timeout(300)

USUAL_PORT = 8470


@pytest.fixture
def project(tmp_path: Path) -> Project:
    folder = tmp_path / "project"
    folder.mkdir()
    return Project(folder)


@pytest.fixture
def temporary(tmp_path: Path) -> Path:
    """The folder for temporary files of the commands."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    return folder


def test_without_a_terminal_it_shows_that_the_page_answers_and_ends(project: Project, temporary: Path) -> None:
    with socket.socket() as taken:
        with contextlib.suppress(OSError):  # another program has it: taken as well
            taken.bind(("127.0.0.1", USUAL_PORT))
            taken.listen()
        done = project.run("demo", "--web", TMPDIR=str(temporary), TURNOUT_DATABASE="sqlite:////nowhere/turnout.db")
    assert done.code == 0, done
    assert "✓ fulfil completed" in done.out
    [answer] = re.findall(r"GET / answered 200 with [\d,]+ bytes, and the API \d+ runs: (.*)", done.out)
    counts = {state: int(count) for count, state in re.findall(r"(\d+) (\w+)", answer)}
    assert counts["completed"] >= 7 and counts["failed"] == 2
    assert counts["pending"] == 1 and counts["running"] >= 2  # one waits for a limit, one for a worker, one works
    [port] = re.findall(r"http://127\.0\.0\.1:(\d+)/ was served", done.out)
    assert int(port) != USUAL_PORT
    assert [each.name for each in temporary.iterdir()] == []


def test_on_a_terminal_it_stays_until_ctrl_c_and_leaves_nothing(project: Project, temporary: Path) -> None:
    shown = Terminal(["demo", "--web", "--port", "0"], project.folder, project.environment(TMPDIR=str(temporary)))
    shown.until("/sign-in#code=")
    [address] = re.findall(r"(http://127\.0\.0\.1:\d+/)sign-in#code=", shown.text)
    with build_opener(ProxyHandler({})).open(address, timeout=30) as page:
        assert page.status == 200 and "text/html" in page.headers["Content-Type"]
    shown.press(CTRL_C)
    assert shown.end() == 0
    assert "the demo ends, and its data are removed" in shown.text
    assert [each.name for each in temporary.iterdir()] == []


@pytest.mark.parametrize("option", ["--port=1", "--stay", "--no-stay"])
def test_an_option_of_the_page_without_the_page_is_refused(project: Project, option: str) -> None:
    done = project.run("demo", option)
    assert done.code == 2 and "give --web as well" in done.err
