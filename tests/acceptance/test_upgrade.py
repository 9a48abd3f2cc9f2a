"""A database that an earlier version wrote is opened, and its open runs are driven to their ends.

``tools/upgrade_dump.py`` made the dumps: an orchestrator of that version was killed with a run in each situation (a
body running, a retry pending, a map, a branch, a deferral, a child run, a pause).
"""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest
from acceptance.command import ROOT

FOLDER = Path(__file__).parent / "upgrade"
RESULTS = {
    'chain {"number": 0}': 0,
    'chain {"number": 1}': 4,
    'chain {"number": 2}': 8,
    'chain {"number": 100}': 400,
    'retried {"number": 5}': 14,
    'mapped {"count": 4}': [0, 1, 2, 3],
    'branched {"number": 3}': "left 3",
    "deferred {}": "saved before the upgrade",
    'outer {"number": 7}': 14,
}


def load_sqlite(url: str) -> None:
    with sqlite3.connect(url.removeprefix("sqlite:///")) as connection:
        connection.executescript((FOLDER / "sqlite.sql").read_text())


def load_postgres(url: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute((FOLDER / "postgres.sql").read_bytes())


@pytest.mark.empty_database
@pytest.mark.timeout(150)
def test_open_runs_of_an_earlier_version_are_driven_to_their_ends(store_url: str) -> None:
    load_sqlite(store_url) if store_url.startswith("sqlite") else load_postgres(store_url)
    finished = subprocess.run(
        [sys.executable, str(FOLDER / "flows.py"), "finish", store_url],
        env={**os.environ, "TURNOUT_GATE": "open", "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr
    assert json.loads(finished.stdout) == RESULTS
