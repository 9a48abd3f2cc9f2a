"""What an orchestrator asks again and again costs the same, however many runs have ended."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from turnout.store import connect
from turnout.store.queries import load_blocks
from turnout.store.retention import RUN_TABLES

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
    "open_runs",
    "running_runs",
    "queued_versions",
    "unowned_runs",
)
LISTS = {
    "runs_in_states": "run_1 (id>? AND id<?)",
    "runs_in_state": "run_in_state (state=? AND id>? AND id<?)",
    "runs_of_workflow": "run_of_workflow ((workflow,id)>(?,?) AND (workflow,id)<(?,?))",
}
"""Lists of runs, and the range of the index that they read: it has both bounds of the time of submission."""
OF_OPEN_RUNS = ("run_owner", "run_unowned", "run_queued")
SLOTS = (
    "drop_ended_slots",
    "drop_ended_waiters",
    "first_waiters",
    "nested_waiters",
    "held_slots",
    "runs_without_slots",
    "granted_tasks",
)
ONE = re.compile(r"SEARCH \w+ USING (COVERING )?INDEX \w+ \((id|run_id)=\?")
"""One run, or the rows of one."""


@pytest.mark.parametrize("block", REPEATED)
def test_what_is_asked_again_and_again_goes_by_the_runs_that_have_not_ended(tmp_path: Path, block: str) -> None:
    for step in plan(tmp_path, block):
        if re.match(r"(SCAN|SEARCH) (run|task|history|log)\b", step):
            assert ONE.match(step) or any(index in step for index in OF_OPEN_RUNS), f"{block}: {step}"


@pytest.mark.parametrize("block", [*SLOTS, "waiting_limits", "begun_slots"])
def test_slots_are_found_by_their_limit_or_their_run(tmp_path: Path, block: str) -> None:
    steps = [step for step in plan(tmp_path, block) if re.search(r"(SCAN|SEARCH) (limit_\w+|run|task)\b", step)]
    assert steps and all(step.startswith("SEARCH") or "limit_slot_waiting" in step for step in steps), steps


@pytest.mark.parametrize("block", LISTS)
def test_a_list_goes_by_an_index_that_has_its_runs_in_order(tmp_path: Path, block: str) -> None:
    steps = plan(tmp_path, block)
    assert any(LISTS[block] in step for step in steps), steps
    assert not any(step.startswith("SCAN run") or "TEMP B-TREE" in step for step in steps), steps


@pytest.mark.parametrize("table", RUN_TABLES)
def test_retention_goes_by_the_runs_that_it_deletes(tmp_path: Path, table: str) -> None:
    steps = plan(tmp_path, f"delete_from_{table}")
    assert not any(step.startswith(f"SCAN {table}") for step in steps), steps


def plan(folder: Path, block: str) -> list[str]:
    """The steps of a block on an empty database."""
    store = connect(f"sqlite:///{folder}/turnout.db")
    store.open()
    store.close()
    sql = load_blocks("sqlite")[block]
    params = dict.fromkeys(re.findall(r":([a-z_]+)", sql), "[]")
    with closing(sqlite3.connect(folder / "turnout.db")) as connection:
        return [row[3] for row in connection.execute(f"explain query plan {sql}", params)]
