"""The database dies and comes back while runs go on."""

from __future__ import annotations

from tests.faults.children import Children, eventually
from tests.faults.guarantees import Ledger, read_ledger
from tests.faults.outcomes import CHAIN, all_completed
from tests.faults.scale import scaled
from tests.postgres import OwnServer

RUNS = scaled(90, 1_000)
RESTARTS = 3


def test_an_immediate_restart_of_postgresql_three_times_loses_nothing_that_was_recorded(
    restarted_children: Children, restarted_server: OwnServer
) -> None:
    executions, url = restarted_children.executions, restarted_children.url
    settings = {"max_owned_runs": 20, "claim_batch": 10}
    other = restarted_children.start("serve", settings=settings)
    other.wait_for("ready")
    submitter = restarted_children.start("submit", runs=RUNS, window=60, seconds=0.03, settings=settings)
    completed: set[tuple[str, int]] = set()
    accepted: set[str] = set()
    for restart in range(1, RESTARTS + 1):
        wanted = restart * RUNS * len(CHAIN) // (RESTARTS + 1)
        eventually(f"{wanted} bodies run", lambda wanted=wanted: len(executions) >= wanted, every=0.005)
        accepted |= set(submitter.said("accepted"))
        restarted_server.restart(mode="immediate")
        ledger = read_ledger(url)
        assert completed <= finished_tasks(ledger), "a recorded result was lost"
        assert accepted <= {f"{run.key} {run.id}" for run in ledger.runs.values()}, "a submission was lost"
        completed |= finished_tasks(ledger)
    assert submitter.finished() == {"completed": RUNS}

    ledger = all_completed(url, executions, RUNS, kills=RESTARTS)
    assert completed <= finished_tasks(ledger)
    assert set(submitter.said("accepted")) == {f"{run.key} {run.id}" for run in ledger.runs.values()}
    again = len(executions) - RUNS * len(CHAIN)
    workers = len({execution.pid for execution in executions.all()})
    print(f"{RESTARTS} restarts, {len(completed)} results before the last, {again} bodies again, {workers} at work")


def finished_tasks(ledger: Ledger) -> set[tuple[str, int]]:
    return {place for place, task in ledger.tasks.items() if task.state == "completed"}
