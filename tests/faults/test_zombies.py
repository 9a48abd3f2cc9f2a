"""A process that was stopped for longer than its lease wakes up and finds that others have taken over."""

from __future__ import annotations

import signal
import time

from tests.faults.children import Children, eventually
from tests.faults.guarantees import query, read_ledger
from tests.faults.outcomes import all_completed
from tests.faults.standstill import stop_between_commits
from tests.kit.waiting import stop_process

RUNS = 20
THREADS = 4
SECONDS = 0.4
MAX_SECONDS = 120.0
"""How long a body is held that nothing releases."""
SHORT = {"heartbeat": 0.5, "self_fence": 1.2, "lease": 1.5, "sweep": 0.3}


def open_runs(url: str) -> int:
    return query(url, "select count(*) from run where state not in ('completed', 'failed', 'cancelled')")[0][0]


def test_late_writes_and_results_of_a_stopped_process_change_nothing(children: Children) -> None:
    executions, url = children.executions, children.url
    other = children.start("serve", settings=SHORT, threads=THREADS)
    other.wait_for("ready")
    zombie = children.start(
        "submit", workflow="released", runs=RUNS, seconds=MAX_SECONDS, settings=SHORT, threads=THREADS
    )
    eventually("all are accepted", lambda: len(zombie.said("accepted")) == RUNS)
    eventually("its bodies run", lambda: len([e for e in executions.by(zombie.pid) if e.task == "held"]) >= THREADS)
    stop_between_commits(url, zombie)
    executions.release()
    caught = executions.by(zombie.pid)  # once it stands still: until then it may begin what is its own
    eventually("the other process has ended every run", lambda: not open_runs(url))
    before = read_ledger(url)
    zombie.signal(signal.SIGCONT)
    eventually("the zombie learns that it was declared dead", lambda: "was declared dead" in zombie.log.read_text())
    assert zombie.finished() == dict.fromkeys(("completed",), RUNS)
    zombie.exit_code()

    assert read_ledger(url) == before, "the zombie changed what was recorded"
    ledger = all_completed(url, executions, RUNS, kills=1)
    recorded = {(ledger.runs[task.run_id].key, task.name): task.attempt for task in ledger.tasks.values()}
    refused = [e for e in caught if recorded[e.key, e.task] > e.attempt]
    print(f"{len(refused)} attempts of the zombie were running when it was stopped; their results were not accepted")
    assert refused
    new = [e for e in executions.by(zombie.pid) if e not in caught]
    assert not new, f"the zombie started something new: {new}"


def test_a_process_stopped_beyond_its_lease_with_no_other_about_goes_on_by_itself(children: Children) -> None:
    executions = children.executions
    child = children.start("submit", workflow="slowly", runs=RUNS, seconds=SECONDS, settings=SHORT, threads=THREADS)
    eventually("slow bodies run", lambda: len([e for e in executions.all() if e.task == "slow"]) >= THREADS)
    stop_process(child.pid)
    lease_end = query(children.url, "select max(lease_until) from session")[0][0]
    eventually("its lease is over", lambda: now_for_leases(children.url) > lease_end + 0.2)
    child.signal(signal.SIGCONT)
    assert child.finished(timeout=60) == {"completed": RUNS}
    all_completed(children.url, executions, RUNS, kills=1)


def now_for_leases(url: str) -> float:
    """What the database's leases are compared with."""
    if url.startswith("sqlite"):
        return time.clock_gettime(time.CLOCK_BOOTTIME)
    return float(query(url, "select extract(epoch from clock_timestamp())")[0][0])
