"""``turnout`` as people run it: a process in a project of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.kit.forked import AT_START, Forked, run_forked

ROOT = Path(__file__).parents[2]
PATIENCE = 150.0
"""Seconds after which a command that should have ended is given up, also on a machine that is very busy."""

FLOWS = '''
"""Workflows for the command line to run."""

import time
from pathlib import Path

from turnout import TaskInfo, task, workflow


@task
def double(number: int) -> int:
    print(f"doubling {number}")
    return 2 * number


@task(retries=1, retry_delay="10ms")
def check(number: int, limit: int) -> int:
    if number > limit:
        print(f"checking {number}")
        raise ValueError(f"{number} is more than {limit}")
    return number


@task
def tell(number: int) -> str:
    return f"it is {number}"


@workflow
def doubling(number: int = 21, limit: int = 100) -> str:
    """Doubles a number, if it is not too large."""
    return tell(check(double(number), limit))


@task
def wait_for(file: str, info: TaskInfo) -> str:
    Path(f"{file}.waiting").touch()
    while not Path(file).exists() and not info.cancelled:
        time.sleep(0.01)
    return "came"


@task
def after(word: str) -> str:
    print(word)
    return word


@workflow
def waiting(file: str) -> str:
    return after(wait_for(file))


@task
def endless() -> None: ...


@task
def numbers(count: int) -> list[int]:
    return list(range(count))


@task
def halve(number: int) -> int:
    if number % 2:
        raise ValueError(f"{number} is odd")
    return number // 2


@workflow
def halving(count: int) -> list[int]:
    return halve.map(numbers(count))


@workflow
def stubborn() -> None:
    endless()
'''

DEAF = '''
"""An executor whose attempts never end and that hears of no cancellation."""

import asyncio

from turnout.dispatcher import ExecutorMetrics


class Deaf:
    local = True
    kinds = frozenset({"python"})
    name = "deaf"

    def bind(self, loader): ...

    def has_capacity(self):
        return True

    def metrics(self):
        return ExecutorMetrics()

    async def execute(self, event):
        await asyncio.Event().wait()
'''

CONFIG = """
workflows = ["flows.py"]

[executors.small]
use = "thread"
threads = 1

[executors.deaf]
use = "deaf:Deaf"

[[routing.rules]]
pattern = "**::doubling::check"
executor = "small"

[[routing.rules]]
pattern = "**::stubborn::*"
executor = "deaf"
"""


class Done:
    """How a command ended, and what it said."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code = code
        self.out = out
        self.err = err

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def error(self) -> dict[str, Any]:
        """The error that a command with --json leaves on stderr."""
        return json.loads(self.err.splitlines()[-1])["error"]

    def __repr__(self) -> str:
        return f"exit code {self.code}\n{self.out}\n{self.err}"


class Project:
    """A folder with workflows and a turnout.toml, and the commands that are run in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "flows.py").write_text(FLOWS)
        (folder / "deaf.py").write_text(DEAF)
        (folder / "turnout.toml").write_text(CONFIG)

    @property
    def database(self) -> str:
        return f"sqlite:///{self.folder}/.turnout/turnout.db"

    def environment(self, **more: str) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("TURNOUT_", "NO_COLOR"))}
        return {**kept, "PYTHONPATH": str(ROOT / "src"), "PYTHONIOENCODING": "utf-8", **more}

    def start(self, *arguments: str, **more: str) -> subprocess.Popen[str]:
        if any(name.startswith(AT_START) for name in more):
            return subprocess.Popen(
                [sys.executable, "-m", "turnout", *arguments],
                cwd=self.folder,
                env=self.environment(**more),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
        return Forked(["-m", "turnout", *arguments], cwd=self.folder, env=self.environment(**more))

    def run(self, *arguments: str, stdin: str = "", **more: str) -> Done:
        """A command, in a process of its own."""
        environment = self.environment(**more)
        if any(name.startswith(AT_START) for name in more):
            done = subprocess.run(
                [sys.executable, "-m", "turnout", *arguments],
                cwd=self.folder,
                env=environment,
                input=stdin,
                capture_output=True,
                text=True,
                timeout=PATIENCE,
                check=False,
            )
            code, out, err = done.returncode, done.stdout, done.stderr
        else:
            words = ["-m", "turnout", *arguments]
            code, out, err = run_forked(words, cwd=self.folder, env=environment, timeout=PATIENCE, stdin=stdin)
        assert "Traceback (most recent call last)" not in err.replace("  Traceback", ""), err
        return Done(code, out, err)

    def run_all(self, commands: Sequence[Sequence[str]]) -> list[Done]:
        """Many commands, one after the other."""
        return [self.run(*each) for each in commands]

    def finish(self, process: subprocess.Popen[str]) -> Done:
        out, err = process.communicate(timeout=PATIENCE)
        return Done(process.returncode, out, err)
