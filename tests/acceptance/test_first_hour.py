"""The tutorial of a first hour, followed command by command in two terminals, with every kill in it."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.timeout(400)

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "tutorial/first-hour.md").read_text()
WITHIN = 60.0


class Terminal:
    """A shell in a folder; its commands share variables and jobs."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        folder.mkdir(exist_ok=True)
        self._output = folder.with_suffix(".output")
        with self._output.open("w") as output:
            self._shell = subprocess.Popen(
                ["bash"], cwd=folder, env=environment, stdin=subprocess.PIPE, stdout=output, stderr=output, text=True
            )
        self._ended = 0

    @property
    def output(self) -> str:
        return self._output.read_text()

    def run(self, command: str) -> tuple[int, str]:
        """The exit code of the command and what it printed."""
        assert self._shell.stdin is not None
        before = len(self.output)
        self._ended += 1
        self._shell.stdin.write(f"{command}\necho ended {self._ended} $?\n")
        self._shell.stdin.flush()
        found = self.wait_for(rf"^ended {self._ended} (\d+)$", before)
        return int(found[1]), self.output[before : found.start()]

    def wait_for(self, pattern: str, before: int = 0) -> re.Match[str]:
        deadline = time.monotonic() + WITHIN
        while (found := re.compile(pattern, re.MULTILINE).search(self.output, before)) is None:
            assert time.monotonic() < deadline, f"no {pattern} in:\n{self.output[before:]}"
            time.sleep(0.05)
        return found

    def close(self) -> None:
        self._shell.communicate("kill $(jobs -p) 2>/dev/null; wait\n", timeout=WITHIN)


def commands() -> list[tuple[str, str]]:
    """The folder of each command, and the command with the lines of its here-document."""
    lines = PAGE.split("## 3. Test it")[1].splitlines()
    found: list[tuple[str, str]] = []
    for number, line in enumerate(lines):
        if prompt := re.match(r"(shop|printer)\$ (.*)", line):
            more = lines[number + 1 : lines.index("END", number) + 1] if "<<" in line else []
            found.append((prompt[1], "\n".join([prompt[2], *more])))
    return found


def expectation(command: str, number: int) -> str:
    """What a command has to print in the end; it is repeated until it does."""
    if command.startswith("turnout runs show"):
        return [
            r"✓ completed(.|\n)*charge +2 +default",
            "waits for a worker with printer=true",
            r"print_label +1 +workers +printer-1 .* lost",
            r"✓ completed(.|\n)*print_label +2 +workers +printer-1 .*✓ completed",
            r"✗ failed(.|\n)*KeyError: 'pot'",
        ][number]
    return {
        "turnout runs ls": r"▶ running .*not driven",
        "turnout runs resume": r"print_label#2 │ page 1(.|\n)*✓ order completed",
        "turnout workers ls": "^printer-1 ",
        "turnout explain": "print_label +default|1 of 1 connected workers match: printer-1",
        "turnout logs last --follow": "page 3 of",
        "turnout runs output": "paid 8, label for Bob",
        "turnout workers drain": "",
    }.get(" ".join(command.split()[: 4 if "--follow" in command else 3]).removesuffix(" last"), "")


@pytest.fixture
def terminals(tmp_path: Path) -> Iterator[dict[str, Terminal]]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "PATH": path, "NO_COLOR": "1"}
    opened = {name: Terminal(tmp_path / name, environment) for name in ("shop", "printer")}
    yield opened
    for terminal in opened.values():
        terminal.close()


def test_every_command_of_the_first_hour_works(tmp_path: Path, terminals: dict[str, Terminal]) -> None:
    code, test = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    (tmp_path / "shop" / "shop.py").write_text(code.replace("wait_cancelled(1.0)", "wait_cancelled(0.2)"))
    (tmp_path / "shop" / "test_shop.py").write_text(f"from shop import order, print_label\n{test}")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    shown, started = 0, dict.fromkeys(terminals, 0)
    for folder, line in commands():
        terminal, command = terminals[folder], line.replace("5890", port)
        if command == "kill -9 $!":
            # In the middle of printing what was started last.
            terminal.wait_for("page 3 of 20", started[folder])
        elif command.endswith(("&", "--no-wait")):
            started = {name: len(each.output) for name, each in terminals.items()}
        expected = expectation(command, shown)
        shown += command.startswith("turnout runs show")
        deadline = time.monotonic() + WITHIN
        while True:
            status, text = terminal.run(command)
            assert status == 0, f"{folder}$ {command}\n{text}"
            if command == "turnout orchestrate &":
                terminal.wait_for("^ready: orchestrator", started[folder])
            if re.search(expected, text, re.MULTILINE):
                break
            assert time.monotonic() < deadline, f"{folder}$ {command} does not show {expected}\n{text}"
            time.sleep(0.2)
