"""The example of a server runs a YAML workflow over the API, and stops."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.timeout(120)

ROOT = Path(__file__).parents[2]


def test_the_example_of_a_server_runs_a_workflow_file_over_the_api(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "server" / "run.py")],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "the server has: report"
    assert "  split: default executor of shell bodies" in lines
    assert any(": completed, result " in line and "8 words, 34 letters" in line for line in lines), done.stdout
    assert list(tmp_path.iterdir()) == []
