"""The pages that begin with commands, followed as a newcomer would: each command, in order, in an empty folder."""

from __future__ import annotations

import os
import re
import shlex
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "tutorial/quickstart.md").read_text()


def test_every_command_of_the_quick_start_works(tmp_path: Path) -> None:
    [code] = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    commands = re.findall(r"^\$ (.*)$", PAGE, re.MULTILINE)
    assert len(commands) > 8
    folder = tmp_path
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "NO_COLOR": "1"}
    said: dict[str, str] = {}
    for line in commands:
        words = shlex.split(line, comments=True)
        if words[0] == "cd":
            folder /= words[1]
            (folder / "orders.py").write_text(code)
            continue
        done = subprocess.run(
            [sys.executable, "-m", *words],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == (1 if "exit code 1" in line else 0), f"{line}\n{done.stdout}\n{done.stderr}"
        said[line] = done.stdout + done.stderr
    by_word = {word: text for line, text in said.items() for word in shlex.split(line, comments=True)}
    assert "charging 16, attempt 2" in by_word["charge"]
    assert "KeyError" in said['turnout run orders.py -p \'items=["tea", "pot"]\'   # exit code 1']
    assert "paid 11" in by_word["rerun"]
    assert by_word["ls"].count("order") == 3


@pytest.fixture
def background() -> Iterator[list[subprocess.Popen[str]]]:
    started: list[subprocess.Popen[str]] = []
    yield started
    for process in started:
        process.terminate()
    for process in started:
        process.communicate(timeout=60)
        assert process.returncode == 0


def test_every_command_for_a_first_worker_works(tmp_path: Path, background: list[subprocess.Popen[str]]) -> None:
    page = (ROOT / "docs" / "how-to/workers.md").read_text().split("\n## In two minutes\n")[1].split("\n## ")[0]
    [code] = re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "tasks.py").write_text(code)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "NO_COLOR": "1"}
    said = ""
    for line in re.findall(r"^\$ (.*)$", page, re.MULTILINE):
        words = [sys.executable, "-m", *shlex.split(line.replace("5890", port).rstrip("&"))]
        process = subprocess.Popen(
            words, cwd=tmp_path, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        if line.endswith("&"):
            background.append(process)
            continue
        said, complaint = process.communicate(timeout=60)
        assert process.returncode == 0, f"{line}\n{said}\n{complaint}"
    assert "✓ completed" in said.splitlines()[0]
    assert re.search(r"^train +1 +workers +\S+ +worker_selector", said, re.MULTILINE), said
    assert re.search(r"^report +1 +default ", said, re.MULTILINE), said
