"""The default Runner, and where it keeps its runs."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

import turnout
from turnout.runner.config import read_config
from turnout.runner.settings import database_url

pytestmark = pytest.mark.timeout(60)

PROGRAM = """
from turnout import task, workflow

@task
def charge(order): return {"paid": order["total"]}

@task
def ship(order, payment): return f"{order['name']}: {payment['paid']}"

@workflow
def fulfil(order): return ship(order, charge(order))

if __name__ == "__main__":
    print(fulfil({"name": "Ada", "total": 21}))
    print(fulfil.run({"name": "Bob", "total": 22}))
"""


def run_program(folder: Path, **environment: str) -> str:
    (folder / "program.py").write_text(PROGRAM)
    source = str(Path(turnout.__file__).parents[1])
    kept = {name: value for name, value in os.environ.items() if name != "TURNOUT_DATABASE"}
    done = subprocess.run(
        [sys.executable, "program.py"],
        check=False,
        cwd=folder,
        env={**kept, "PYTHONPATH": source, **environment},
        capture_output=True,
        text=True,
        timeout=50,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def runs_in(path: Path) -> int:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute("select count(*) from run where state = 'completed'").fetchone()[0]


def test_calling_a_workflow_runs_it_durably_in_the_project(tmp_path):
    (tmp_path / "pyproject.toml").write_text("")
    assert run_program(tmp_path) == "Ada: 21\nBob: 22\n"
    assert runs_in(tmp_path / ".turnout" / "turnout.db") == 2
    run_program(tmp_path)
    assert runs_in(tmp_path / ".turnout" / "turnout.db") == 4


def test_the_project_is_the_nearest_folder_upwards_with_a_marker(tmp_path, monkeypatch):
    monkeypatch.delenv("TURNOUT_DATABASE", raising=False)
    deep = tmp_path / "a" / "b"
    deep.mkdir(parents=True)
    (tmp_path / "pyproject.toml").write_text("")
    assert read_config(deep, {}).root == tmp_path
    (tmp_path / "a" / "turnout.toml").write_text("")
    assert read_config(deep, {}).root == tmp_path / "a"
    monkeypatch.chdir(deep)
    assert database_url() == f"sqlite:///{tmp_path / 'a' / '.turnout' / 'turnout.db'}"


def test_the_environment_names_another_database_and_the_program_has_the_last_word(tmp_path, monkeypatch):
    elsewhere = tmp_path / "elsewhere.db"
    assert run_program(tmp_path, TURNOUT_DATABASE=f"sqlite:///{elsewhere}") == "Ada: 21\nBob: 22\n"
    assert runs_in(elsewhere) == 2
    assert not (tmp_path / ".turnout").exists()
    monkeypatch.setenv("TURNOUT_DATABASE", "sqlite:///from-environment.db")
    assert database_url() == "sqlite:///from-environment.db"
    assert database_url("sqlite:///given.db") == "sqlite:///given.db"
