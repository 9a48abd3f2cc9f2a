"""SIGTERM hands over: what has not started goes to others at once, what runs gets its grace and is recorded."""

from __future__ import annotations

import signal
import time

from tests.faults.children import Children, eventually
from tests.faults.guarantees import query
from tests.faults.outcomes import all_completed, each_ran_once

RUNS = 12
THREADS = 2
MAX_SECONDS = 120.0
"""How long a body is held that nothing releases."""


def test_sigterm_releases_what_has_not_started_and_lets_running_bodies_finish(children: Children) -> None:
    executions = children.executions
    # Without sweeps it gives no run away before it is told to leave.
    leaver = children.start(
        "submit", workflow="released", runs=RUNS, seconds=MAX_SECONDS, threads=THREADS, settings={"sweep": 60.0}
    )
    eventually("all are accepted", lambda: len(leaver.said("accepted")) == RUNS)
    eventually("both threads are in bodies that are held", lambda: held_by(children, leaver.pid) == THREADS)
    other = children.start("serve", threads=RUNS)
    other.wait_for("ready")
    assert not executions.by(other.pid)
    begun = held_by(children, leaver.pid)
    leaver.signal(signal.SIGTERM)
    told = time.monotonic()
    eventually("the other process works", lambda: executions.by(other.pid), every=0.005)
    waited = time.monotonic() - told
    assert leaver.alive, "it did not wait for the bodies that had begun"
    executions.release()
    assert leaver.exit_code() == -signal.SIGTERM, leaver.tail()
    left = time.monotonic() - told
    print(f"taken over after {waited:.2f} s, the process ended after {left:.2f} s")
    running = [e for e in executions.by(leaver.pid) if e.task == "held"]
    assert len(running) == begun, "something started after SIGTERM"

    ended = children.start("submit", workflow="released", runs=RUNS, seconds=MAX_SECONDS).finished()
    assert ended == {"completed": RUNS}
    all_completed(children.url, executions, RUNS)
    each_ran_once(executions, RUNS, ("quick", "held", "last"))
    kept = query(children.url, "select count(*) from task where name = 'held' and attempt = 1 and losses = 0")[0][0]
    assert kept >= THREADS, "bodies that had their grace were not recorded"


def held_by(children: Children, pid: int) -> int:
    return sum(e.task == "held" for e in children.executions.by(pid))
