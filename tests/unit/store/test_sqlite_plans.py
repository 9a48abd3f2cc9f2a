"""What an orchestrator asks again and again costs the same, however many runs have ended."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from turnout.store import connect
from turnout.store.queries import load_blocks

REPEATED = (
    "any_claimable",
    "claimable_runs",
    "claimable_runs_or_versions",
    "unclaimed_versions",
    "lock_runs_of_the_dead",
    "waiting",
    "commands_for",
    "inbox_for",
    "lapsed_attempts",
    "running_tasks",
    "owned_runs",
    "orphans",
    "held_by",
)
OF_OPEN_RUNS = ("run_owner", "run_unowned")
ONE = re.compile(r"SEARCH \w+ USING (COVERING )?INDEX \w+ \((id|run_id)=\?")
"""One run, or the rows of one."""


@pytest.mark.parametrize("block", REPEATED)
def test_what_is_asked_again_and_again_goes_by_the_runs_that_have_not_ended(tmp_path: Path, block: str) -> None:
    store = connect(f"sqlite:///{tmp_path}/turnout.db")
    store.open()
    store.close()
    sql = load_blocks("sqlite")[block]
    params = dict.fromkeys(re.findall(r":([a-z_]+)", sql), "[]")
    with closing(sqlite3.connect(tmp_path / "turnout.db")) as connection:
        steps = [row[3] for row in connection.execute(f"explain query plan {sql}", params)]
    for step in steps:
        if re.match(r"(SCAN|SEARCH) (run|task|history|log)\b", step):
            assert ONE.match(step) or any(index in step for index in OF_OPEN_RUNS), f"{block}: {step}"
