"""A body that kills its process beside others: they finish, and it fails when its budget is spent."""

from __future__ import annotations

from tests.faults.children import Children
from tests.faults.guarantees import check_history, query

RUNS = 8
GUILTY = "r7"
LOSSES = 5
IN_COMPANY = 2
"""Losses after which a task runs alone."""


def test_a_body_that_kills_its_process_takes_others_with_it_twice_and_no_more(children: Children) -> None:
    options = {"workflow": "deadly", "runs": RUNS, "seconds": 0.2, "threads": RUNS, "losses": LOSSES}
    for _ in range(LOSSES):
        killed = children.start("submit", **options)
        assert killed.exit_code(100) == -9, killed.tail()
    assert children.start("submit", **options).finished() == {"completed": RUNS - 1, "failed": 1}

    ledger = check_history(children.url)
    found = query(children.url, "select run_id, state, reason, losses from task")
    by_key = {ledger.runs[str(run_id)].key: row for run_id, *row in found}
    assert by_key.pop(GUILTY) == ["failed", "lost_too_often", LOSSES]
    for key, (state, _, losses) in by_key.items():
        assert (state, losses <= IN_COMPANY) == ("completed", True), (key, state, losses)
    deadly = [each for each in children.executions.all() if each.key == GUILTY]
    assert len(deadly) == len({each.pid for each in deadly}) == LOSSES
