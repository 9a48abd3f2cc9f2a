"""kill -9 at any moment loses nothing, repeats nothing that was recorded, and fails no run."""

from __future__ import annotations

import random
import time

from tests.faults.children import Child, Children, Executions, eventually
from tests.faults.outcomes import CHAIN, all_completed
from tests.faults.scale import scaled

RUNS = scaled(60, 500)
KILLS = scaled(6, 50)
SECONDS = 0.02
"""The longest body: a kill hits some in the middle."""


def await_moment(
    executions: Executions, chance: random.Random, kills_left: int, victim: Child, bodies: int = RUNS * len(CHAIN)
) -> None:
    """Some moment between now and the end of the work: mostly while bodies run, sometimes while the victim starts."""
    if chance.random() < 0.2:
        time.sleep(chance.random() * 0.6)
        return
    there = len(executions)
    left = max(1, bodies - there) // (kills_left + 1)
    wanted = there + chance.randint(1, max(1, left))
    eventually("bodies run", lambda: len(executions) >= wanted or not victim.alive, every=0.001)
    assert victim.alive or victim.has_finished(), victim.tail()
    time.sleep(chance.random() * SECONDS)


def test_kill_9_of_the_only_process_again_and_again_on_sqlite(sqlite_children: Children) -> None:
    chance, executions = random.Random(7), sqlite_children.executions
    options = {"runs": RUNS, "seconds": SECONDS}
    child = sqlite_children.start("submit", **options)
    for kill in range(KILLS):
        await_moment(executions, chance, KILLS - kill, child)
        child.kill()
        child = sqlite_children.start("submit", **options)
    assert child.finished() == {"completed": RUNS}
    again = len(executions) - RUNS * len(CHAIN)
    print(f"{KILLS} kills, {again} bodies started again")
    all_completed(sqlite_children.url, executions, RUNS, kills=KILLS)


def test_kill_9_of_either_of_two_processes_on_postgresql(postgres_children: Children) -> None:
    chance, executions = random.Random(11), postgres_children.executions
    # As many as they are, neither can take all of the work.
    settings = {"max_owned_runs": max(10, RUNS // 4), "claim_batch": 10}
    options = {
        "submit": {"runs": RUNS, "seconds": SECONDS, "settings": settings},
        "serve": {"settings": settings},
    }
    pair = {mode: postgres_children.start(mode, **options[mode]) for mode in ("serve", "submit")}
    for kill in range(KILLS):
        victim = chance.choice(("serve", "submit"))
        await_moment(executions, chance, KILLS - kill, pair["submit"])
        pair[victim].kill()
        pair[victim] = postgres_children.start(victim, **options[victim])
    assert pair["submit"].finished() == {"completed": RUNS}
    again = len(executions) - RUNS * len(CHAIN)
    print(f"{KILLS} kills, {again} bodies started again, {len({e.pid for e in executions.all()})} processes worked")
    all_completed(postgres_children.url, executions, RUNS, kills=KILLS)
