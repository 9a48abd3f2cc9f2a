"""The example shows what it promises: a retry, two executors chosen by rule, the graph, where each task ran and why."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.timeout(120)

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("demo")
    kept = {name: value for name, value in os.environ.items() if name != "TURNOUT_DATABASE"}
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "order_fulfilment.py")],
        cwd=folder,
        env={**kept, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert (folder / ".turnout" / "turnout.db").exists()
    return done.stdout


def table(printed: str) -> dict[str, list[str]]:
    """What the example says of each task: state, attempts, executor, why."""
    lines = printed.splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith("task "))
    rows = [line.split(maxsplit=4) for line in lines[start + 1 : lines.index("", start)]]
    return {name: rest for name, *rest in rows}


def test_it_draws_the_graph(printed: str) -> None:
    _, graph, _ = printed.split("\n\n", 2)
    drawn = [line.split()[0] for line in graph.splitlines()]
    assert drawn[0] == "validate" and drawn[-1] == "thank"
    assert sorted(drawn) == ["charge", "label", "reserve", "ship", "thank", "validate"]
    assert "◄" in graph and "┐" in graph


def test_the_task_that_fails_once_is_tried_again(printed: str) -> None:
    assert table(printed)["charge"][:2] == ["completed", "2"]
    assert {name: row[1] for name, row in table(printed).items() if row[1] != "1"} == {"charge": "2"}


def test_it_says_where_each_task_ran_and_why(printed: str) -> None:
    rows = table(printed)
    assert rows["label"][2:] == ["printers", 'rule 1 "**::fulfil::label" → printers']
    assert {row[2] for name, row in rows.items() if name != "label"} == {"default"}
    assert rows["ship"][3] == "default executor"


def test_it_shows_the_result(printed: str) -> None:
    lines = printed.splitlines()
    assert lines[-2].startswith("run ") and lines[-2].endswith(": completed")
    assert ast.literal_eval(lines[-1]) == {
        "parcel": {"to": "Ada, London", "items": ["tea", "cup"], "paid": 21},
        "mail": "Thank you, Ada!",
    }
