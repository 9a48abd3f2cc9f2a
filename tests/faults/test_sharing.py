"""Several orchestrators on one database."""

from __future__ import annotations

from tests.faults.children import Children
from tests.faults.outcomes import all_completed, each_ran_once
from tests.faults.scale import scaled

RUNS = scaled(300, 2_000)
SHARE = {"max_owned_runs": 20, "claim_batch": 10}
"""So little that neither process can take everything."""


def test_two_processes_share_the_work_and_every_body_runs_exactly_once(postgres_children: Children) -> None:
    other = postgres_children.start("serve", settings=SHARE)
    other.wait_for("ready")
    submitter = postgres_children.start("submit", runs=RUNS, seconds=0.05, settings=SHARE)
    assert submitter.finished() == {"completed": RUNS}

    each_ran_once(postgres_children.executions, RUNS)
    share = {child.pid: len(postgres_children.executions.by(child.pid)) for child in (submitter, other)}
    print(f"bodies by process: submitter {share[submitter.pid]}, other {share[other.pid]}")
    assert sum(share.values()) == 3 * RUNS
    assert all(share.values()), "one of the processes did nothing"
    all_completed(postgres_children.url, postgres_children.executions, RUNS)
