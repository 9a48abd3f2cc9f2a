"""Types: checkers see what tasks return, not placeholders."""

from __future__ import annotations

import json
import os
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
from turnout import Branch, Context, Task, TaskInfo, Workflow, injected, register_type, task, task_failed, workflow
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

@task
def informed(number: int, info: TaskInfo = injected()) -> str:
    assert_type(info, TaskInfo)
    return f"{info.name} {number}"

@task(retries=1)
async def informed_later(info: TaskInfo = injected()) -> int:
    return info.attempt

@task
def choose(weight: int) -> Branch[str]:
    return Branch("by_ship", value=f"{weight} kg")

@task(retries=1)
async def choose_later(weight: int) -> Branch[None]:
    return Branch("by_ship")

@task
def by_ship(parcel: str) -> str:
    return parcel

@task
def recover(page: str | None) -> str:
    return page or "yesterday's copy"

@workflow
def sent(weight: int) -> str:
    parcel = choose(weight)
    assert_type(parcel, str)
    assert_type(informed(1), str)
    assert_type(informed_later(), int)
    page = by_ship(parcel)
    return recover.options(trigger_rule=task_failed(page))(page)

def etl(context: Context) -> None: ...
def other_etl(context: Context = injected()) -> None: ...

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


def mypy_errors_in(source: str, folder: Path) -> list[str]:
    """What mypy finds in strict mode."""
    pytest.importorskip("mypy", reason="mypy is not installed")
    file = folder / "snippet.py"
    file.write_text(source)
    command = [sys.executable, "-m", "mypy", "--strict", "--python-version", "3.11", "--follow-imports", "silent"]
    done = subprocess.run(
        [*command, "--cache-dir", str(Path(turnout.__file__).parents[2] / ".mypy_cache"), str(file)],
        env={**os.environ, "MYPYPATH": str(Path(turnout.__file__).parents[1])},
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return [line for line in done.stdout.splitlines() if ": error: " in line]


@pytest.fixture(scope="module")
def errors(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """What the checker finds in either text, by name. It looks at both at once: most of its time is its start."""
    checker = shutil.which("basedpyright", path=str(Path(sys.executable).parent)) or shutil.which("basedpyright")
    if checker is None:
        pytest.skip("basedpyright is not installed")
    folder = tmp_path_factory.mktemp("typing")
    (folder / "right.py").write_text(SNIPPET)
    (folder / "wrong.py").write_text(WRONG)
    where = {"extraPaths": [str(Path(turnout.__file__).parent.parent)], "typeCheckingMode": "strict"}
    (folder / "pyrightconfig.json").write_text(json.dumps({**where, "pythonVersion": "3.11"}))
    done = subprocess.run(
        [checker, "--pythonpath", sys.executable, "--outputjson", "-p", str(folder)],
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    printed = json.loads(done.stdout)
    assert printed["summary"]["filesAnalyzed"] == 2
    # Unused names are the snippet's own; the parameter of a fake that is a lambda has no type by nature.
    left_out = ("reportUnused", "reportUnknownLambda")
    found: dict[str, list[str]] = {"right": [], "wrong": []}
    for each in printed["generalDiagnostics"]:
        if each["severity"] == "error" and not each.get("rule", "").startswith(left_out):
            found[Path(each["file"]).stem].append(f"{each['range']['start']['line'] + 1}: {each['message']}")
    return found


def test_calling_a_task_gives_what_its_function_returns(errors: dict[str, list[str]]) -> None:
    assert errors["right"] == []


def test_mypy_sees_the_same_types(tmp_path: Path) -> None:
    assert mypy_errors_in(SNIPPET, tmp_path) == []


def test_wrong_arguments_options_and_results_are_found_by_the_checker(errors: dict[str, list[str]]) -> None:
    lines = WRONG.splitlines()
    expected = [number for number, line in enumerate(lines, 1) if number > lines.index('plain("text")') and line]
    assert sorted({int(error.partition(":")[0]) for error in errors["wrong"]}) == expected
