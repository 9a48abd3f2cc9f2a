"""kill -9 between a parent and its children: no orphan, no second child, and every body gets its own arguments."""

from __future__ import annotations

import json
import random

import pytest

from tests.faults.children import Children
from tests.faults.guarantees import check_history, query
from tests.faults.scale import scaled
from tests.faults.test_kills import await_moment

RUNS = scaled(30, 800)
KILLS = scaled(6, 50)
SECONDS = 0.05
BODIES = ("first", "second", "third")
COMMITS = scaled(6, 14)
"""More than one run of the family takes."""


def check_families(children: Children, runs: int, kills: int) -> None:
    """Each run has its one child and its one grandchild; all completed, with the outputs of their own key."""
    ledger = check_history(children.url)
    families = {run.id: run.key for run in ledger.runs.values() if run.key is not None}
    assert len(families) == runs
    rows = query(children.url, "select id, parent_run from run where parent_run is not null")
    parents = {str(child): str(parent) for child, parent in rows}
    born = {child: families[parent] for child, parent in parents.items() if parent in families}
    grand = {child: born[parent] for child, parent in parents.items() if parent in born}
    assert sorted(born.values()) == sorted(grand.values()) == sorted(families.values()), "one child each, no orphan"
    assert len(ledger.runs) == 3 * runs
    unfinished = {run.id: (run.state, run.reason) for run in ledger.runs.values() if run.state != "completed"}
    assert not unfinished, f"{len(unfinished)} did not complete: {list(unfinished.items())[:5]}"
    key_of = {**families, **born, **grand}
    outputs = query(children.url, "select run_id, name, output, attempt, executor from task")
    wrong = [row for row in outputs if json.loads(row[2]) != key_of[str(row[0])]]
    assert not wrong, f"outputs of other runs: {wrong[:5]}"
    again = [row for row in outputs if row[4] == "child" and row[3] != 1]
    assert not again, f"a kill cost a child run an attempt: {again[:5]}"
    assert query(children.url, "select count(*) from inbox") == [(0,)]
    started = children.executions.per_task()
    assert set(started) == {(key, body) for key in families.values() for body in BODIES}
    assert max(started.values()) <= 1 + kills


def test_kill_9_of_the_only_process_at_any_moment(children: Children) -> None:
    chance, options = random.Random(5), {"workflow": "family", "runs": RUNS, "seconds": SECONDS}
    process = children.start("submit", **options)
    for kill in range(KILLS):
        await_moment(children.executions, chance, KILLS - kill, process, RUNS * len(BODIES))
        process.kill()
        process = children.start("submit", **options)
    assert process.finished() == {"completed": RUNS}
    check_families(children, RUNS, KILLS)


def test_kill_9_of_either_of_two_processes_that_share_parents_and_children(postgres_children: Children) -> None:
    chance = random.Random(13)
    # As many as they are, neither can take all of the work: children and parents come apart.
    settings = {"max_owned_runs": max(8, RUNS // 4), "claim_batch": 10}
    options = {
        "submit": {"workflow": "family", "runs": RUNS, "seconds": SECONDS, "settings": settings},
        "serve": {"settings": settings},
    }
    pair = {mode: postgres_children.start(mode, **options[mode]) for mode in ("serve", "submit")}
    for kill in range(KILLS):
        victim = chance.choice(("serve", "submit"))
        await_moment(postgres_children.executions, chance, KILLS - kill, pair["submit"], RUNS * len(BODIES))
        pair[victim].kill()
        pair[victim] = postgres_children.start(victim, **options[victim])
    assert pair["submit"].finished() == {"completed": RUNS}
    check_families(postgres_children, RUNS, KILLS)


@pytest.mark.parametrize("commit", range(1, COMMITS + 1))
def test_a_process_that_dies_right_after_any_commit_leaves_one_family(children: Children, commit: int) -> None:
    """The moments that chance would hit rarely: placed but not inserted, ended but not told."""
    dying = children.start("submit", workflow="family", die_after_commits=commit)
    dying.process.wait(60)
    again = children.start("submit", workflow="family")
    assert again.finished() == {"completed": 1}
    check_families(children, 1, 1)
