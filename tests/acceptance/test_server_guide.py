"""The guide of a first server, followed as it is written: on a terminal, and as a service without one."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import httpx
import pytest

from tests.acceptance.command import Project
from tests.acceptance.terminal import CTRL_C, Terminal
from tests.acceptance.test_cli_server import Servers, project, servers  # noqa: F401 - fixtures
from turnout.model.access import TOKEN_PATTERN

pytestmark = pytest.mark.timeout(300)

PAGE = (Path(__file__).parents[2] / "docs/how-to/server.md").read_text()


@pytest.fixture
def folder(project: Project) -> Path:  # noqa: F811
    """The project with the workflow of the guide."""
    block = re.search(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert block is not None
    (project.folder / "flows.py").write_text(block[1])
    return project.folder


def commands() -> list[list[str]]:
    """The commands of the section about the command line."""
    section = PAGE.partition("## From the command line")[2].partition("\n## ")[0]
    return [shlex.split(line)[1:] for line in re.findall(r"^\$ (turnout .*)$", section, re.MULTILINE)]


def follow(project: Project, url: str, **token: str) -> None:  # noqa: F811
    ran = [project.run(*each, TURNOUT_SERVER=url, **token) for each in commands()]
    assert len(ran) == 3 and [each.code for each in ran] == [0, 0, 0], [each.err for each in ran]
    assert "Hello, Ada!" in ran[0].out


def test_the_guide_can_be_followed_on_a_terminal(project: Project, folder: Path) -> None:  # noqa: F811
    terminal = Terminal(["server", "flows.py", "--port", "0"], folder, project.environment())
    try:
        terminal.until("ready: ")
        shown, url = TOKEN_PATTERN.search(terminal.text), re.search(r"API (\S+),", terminal.text)
        assert shown is not None and url is not None
        assert "read -rs TURNOUT_TOKEN" in PAGE
        follow(project, url[1], TURNOUT_TOKEN=shown[0])
    finally:
        terminal.press(CTRL_C)
        assert terminal.end() == 0


def test_the_guide_can_be_followed_without_a_terminal(
    project: Project,  # noqa: F811
    servers: Servers,  # noqa: F811
    folder: Path,
) -> None:
    _, ready = servers.serve("flows.py")
    [file] = re.findall(r"TURNOUT_TOKEN_FILE=(\S+)`", PAGE)
    follow(project, ready["url"], TURNOUT_TOKEN_FILE=str(folder / file))
    made = project.run("tokens", "create", "me", "--role", "admin")
    answer = httpx.get(f"{ready['url']}/api/v1/session", headers={"Authorization": f"Bearer {made.out.strip()}"})
    assert answer.json()["role"] == "admin", "as the guide has it for curl beside `turnout dev`"
