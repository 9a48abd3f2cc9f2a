"""Several orchestrators on one database."""

from __future__ import annotations

from tests.faults.children import Children, eventually
from tests.faults.outcomes import all_completed, each_ran_once
from tests.faults.scale import scaled

RUNS = scaled(120, 2_000)
SHARE = {"max_owned_runs": 20, "claim_batch": 10}
"""So little that neither process can take everything."""
GIVEN_RUNS, RECEIVERS = scaled(40, 300), scaled(2, 10)
REPORTS_OFTEN = {"heartbeat": 0.4, "lease": 6.0, "self_fence": 4.0, "sweep": 0.2}


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


def test_runs_given_to_orchestrators_that_are_then_killed_all_end(children: Children) -> None:
    giver = children.start("submit", runs=GIVEN_RUNS, seconds=0.3, threads=1, settings=REPORTS_OFTEN)
    eventually("all are accepted", lambda: len(giver.said("accepted")) == GIVEN_RUNS)
    worked = 0
    for _ in range(RECEIVERS):
        receiver = children.start("serve", threads=2, settings=REPORTS_OFTEN)
        eventually("it works on runs that it was given", lambda: children.executions.by(receiver.pid))  # noqa: B023
        receiver.kill()
        worked += len(children.executions.by(receiver.pid))
    last = children.start("serve", threads=4, settings=REPORTS_OFTEN)
    assert giver.finished() == {"completed": GIVEN_RUNS}
    print(f"{worked} bodies began in {RECEIVERS} killed receivers, {len(children.executions.by(last.pid))} in the last")
    all_completed(children.url, children.executions, GIVEN_RUNS, kills=RECEIVERS)
    again = len(children.executions) - 3 * GIVEN_RUNS
    assert 0 <= again <= 2 * RECEIVERS, "only what ran in a killed process runs again"
