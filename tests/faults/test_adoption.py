"""Runs of a dead process go on elsewhere, or in the same program started again."""

from __future__ import annotations

import time

from tests.faults.children import Children, eventually
from tests.faults.outcomes import all_completed

RUNS = 40
SECONDS = 0.2


def test_a_survivor_adopts_the_runs_of_a_process_killed_on_the_same_machine(children: Children) -> None:
    executions = children.executions
    survivor = children.start("serve")
    survivor.wait_for("ready")
    # Without sweeps the victim transfers no run that waits for its executor: what the survivor runs, it has adopted.
    victim = children.start("submit", runs=RUNS, seconds=SECONDS, settings={"sweep": 60.0})
    eventually("the victim has accepted all and runs some", lambda: len(victim.said("accepted")) == RUNS)
    eventually("the victim runs bodies", lambda: executions.by(victim.pid))
    assert not executions.by(survivor.pid), "there was nothing to adopt yet"
    victim.kill()
    died = time.monotonic()
    eventually("the survivor runs bodies", lambda: executions.by(survivor.pid), timeout=20, every=0.005)
    print(f"adopted {time.monotonic() - died:.2f} s after kill -9")
    again = children.start("submit", runs=RUNS, seconds=SECONDS)
    assert again.finished() == {"completed": RUNS}
    all_completed(children.url, executions, RUNS, kills=1)


def test_the_same_program_started_again_on_sqlite_goes_on_at_once(sqlite_children: Children) -> None:
    executions = sqlite_children.executions
    victim = sqlite_children.start("submit", runs=RUNS, seconds=SECONDS)
    eventually("all are accepted and some run", lambda: len(victim.said("accepted")) == RUNS and len(executions) > 4)
    victim.kill()
    began = time.monotonic()
    again = sqlite_children.start("serve")
    again.wait_for("ready")
    ready = time.monotonic()
    eventually("bodies run again", lambda: executions.by(again.pid), every=0.002)
    first = time.monotonic()
    print(f"ready {ready - began:.2f} s after its start, the first body {first - ready:.3f} s after that")
    assert first - ready < 5
    rest = sqlite_children.start("submit", runs=RUNS, seconds=SECONDS)
    assert rest.finished() == {"completed": RUNS}
    all_completed(sqlite_children.url, executions, RUNS, kills=1)
