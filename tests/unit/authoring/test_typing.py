"""Types: checkers see what tasks return, not placeholders."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import turnout

SNIPPET = """
from typing import Any
from typing_extensions import assert_type
from dataclasses import dataclass
from turnout import Context, Task, TaskInfo, Workflow, register_type, task, workflow
from turnout.testing import InlineRun, inline, run_inline

@dataclass
class Order:
    id: int

@task
def plain(order: dict[str, int], count: int = 1) -> list[str]:
    return []

@task(retries=3, timeout="5m")
def optioned(lines: list[str]) -> int:
    return len(lines)

@task
async def later(number: int) -> str:
    return str(number)

@task(retries=1)
async def later_optioned(number: int) -> bytes:
    return b""

@workflow
def flow(order: dict[str, int]) -> int:
    lines = plain(order)
    assert_type(lines, list[str])
    assert_type(lines[0], str)
    assert_type(optioned.after(lines).options(retries=1).named("x")(lines), int)
    assert_type(later(1), str)
    assert_type(later_optioned(1), bytes)
    return optioned(lines)

@workflow(package="ml")
def other(order: str) -> tuple[int, str]:
    return optioned([order]), later(2)

@task
def typed(order: Order, info: TaskInfo | None = None) -> Order:
    if info is not None:
        assert_type(info.cancelled, bool)
        assert_type(info.deadline, float | None)
        assert_type(info.wait_cancelled(1), bool)
    return order

@workflow
def typed_flow(order: Order) -> Order:
    assert_type(typed(order), Order)
    return typed(order)

assert_type(typed_flow(Order(1)), Order)
assert_type(run_inline(typed_flow, Order(1), fakes={typed: lambda order: order}), Order)
assert_type(inline(typed_flow, Order(1)), InlineRun[Order])
register_type(complex, dump=str, load=complex)

def etl(context: Context) -> None: ...

assert_type(flow({"a": 1}), int)
assert_type(other.run("x"), tuple[int, str])
assert_type(Workflow("etl", tasks=[etl]).run({"a": 1}), dict[str, Any])
"""
WRONG = """
from turnout import task, workflow

@task
def plain(order: int) -> str:
    return ""

@workflow
def flow(order: int) -> str:
    return plain(order)

plain("text")
plain(1, 2)
flow("text")
task(retires=3)
task(retries="three")
number: int = plain(1)
"""


def errors_in(source: str, folder: Path) -> list[str]:
    checker = shutil.which("basedpyright", path=str(Path(sys.executable).parent)) or shutil.which("basedpyright")
    if checker is None:
        pytest.skip("basedpyright is not installed")
    file = folder / "snippet.py"
    file.write_text(source)
    where = {"extraPaths": [str(Path(turnout.__file__).parent.parent)], "typeCheckingMode": "standard"}
    (folder / "pyrightconfig.json").write_text(json.dumps({**where, "pythonVersion": "3.11"}))
    done = subprocess.run(
        [checker, "--pythonpath", sys.executable, "--outputjson", "-p", str(folder)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    found = json.loads(done.stdout)["generalDiagnostics"]
    return [f"{each['range']['start']['line'] + 1}: {each['message']}" for each in found if each["severity"] == "error"]


def test_calling_a_task_gives_what_its_function_returns(tmp_path: Path) -> None:
    assert errors_in(SNIPPET, tmp_path) == []


def test_wrong_arguments_options_and_results_are_found_by_the_checker(tmp_path: Path) -> None:
    lines = WRONG.splitlines()
    expected = [number for number, line in enumerate(lines, 1) if number > lines.index('plain("text")') and line]
    assert sorted({int(error.partition(":")[0]) for error in errors_in(WRONG, tmp_path)}) == expected
