"""The quick start, followed as a newcomer would: every command of the page, in order, in an empty folder."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "quickstart.md").read_text()


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
