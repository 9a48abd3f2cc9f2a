"""A program that ends without closing its Runner hands over."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

SYNC = """
from turnout import Runner, task, workflow

@task
def one(): return 1

@workflow
def flow(): return one()

Runner("sqlite:///left.db").submit(flow)
"""

ASYNC = """
import asyncio
from turnout import AsyncRunner, task, workflow

@task
def one(): return 1

@workflow
def flow(): return one()

async def main():
    runner = AsyncRunner("sqlite:///left.db")
    await runner.__aenter__()
    await runner.submit(flow)

asyncio.run(main())
"""


@pytest.mark.parametrize("program", [SYNC, ASYNC], ids=["Runner", "AsyncRunner"])
def test_a_program_that_ends_with_an_open_runner_leaves_no_owner_behind(program: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    with sqlite3.connect(tmp_path / "left.db") as database:
        assert database.execute("select count(*) from session where ended_at is null").fetchone() == (0,)
        assert database.execute("select count(*) from run where owner is not null").fetchone() == (0,)
