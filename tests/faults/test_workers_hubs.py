"""Workers with several hubs, and hubs that die: what runs goes on, is not begun again, and its result is kept."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.faults.children import Child, Children, eventually
from tests.faults.guarantees import check_history, query
from tests.faults.languages import python
from tests.faults.standstill import stop_between_commits
from tests.faults.workers import Notes, Workers, check_notes, free_addresses

RUNS = 4
HUB = {"heartbeat": 0.5, "lease": 90.0, "resend": 0.5}
"""Nobody is taken for dead only because this machine is busy: whoever died is known by its process."""
SHORT = {"heartbeat": 0.5, "self_fence": 2.4, "lease": 3.0, "sweep": 0.3}
"""An orchestrator that is stopped is soon taken for dead."""


@pytest.fixture
def workers(tmp_path: Path) -> Iterator[Workers]:
    found = Workers({"python": python()}, free_addresses(2), Notes(tmp_path / "notes"))
    yield found
    found.end()


class Held:
    """Runs whose first task goes on in a worker until it is let go."""

    def __init__(self, children: Children, workers: Workers) -> None:
        self.children, self.workers = children, workers
        self.gate = workers.notes.path.with_name("gate")

    def submit(self, hub: int = 0, **options: Any) -> Child:
        given = {"workflow": "holding_across", "runs": RUNS, "input": {"until": str(self.gate)}}
        return self.start("submit", hub, **{**given, **options})

    def start(self, mode: str, hub: int = 0, **options: Any) -> Child:
        return self.children.start(mode, hub={**HUB, "address": self.workers.hubs[hub]}, **options)

    def all_begun(self) -> None:
        eventually("all are running", lambda: len(self.workers.notes) == RUNS)

    def let_go(self) -> None:
        self.gate.touch()

    def each_began_once(self) -> None:
        """By the handlers' own word; and the database knows of one attempt of each."""
        ledger = check_history(self.children.url)
        assert {run.state for run in ledger.runs.values()} == {"completed"} and len(ledger.runs) == RUNS
        begun = check_notes(self.workers.notes, ledger)
        assert set(begun.values()) == {1} and len(begun) == 2 * RUNS
        assert {task.attempt for task in ledger.tasks.values() if task.state == "completed"} == {1}


@pytest.fixture
def held(postgres_children: Children, workers: Workers) -> Held:
    return Held(postgres_children, workers)


@pytest.fixture
def sqlite_held(sqlite_children: Children, workers: Workers) -> Held:
    return Held(sqlite_children, workers)


def owners(url: str) -> set[str | None]:
    return {row[0] for row in query(url, "select distinct owner from run where state = 'running'")}


def completed(url: str) -> int:
    return query(url, "select count(*) from run where state = 'completed'")[0][0]


def test_what_runs_goes_on_under_another_orchestrator_when_its_own_is_killed(held: Held) -> None:
    url = held.children.url
    first = held.submit(0)
    first.wait_for("ready")
    other = held.start("serve", 1)
    other.wait_for("ready")
    held.workers.start("python")
    held.all_begun()
    before = owners(url)
    first.kill()
    eventually("the other one drives all runs", lambda: not owners(url) & (before | {None}))
    held.let_go()
    eventually("all are completed", lambda: completed(url) == RUNS)
    held.each_began_once()


def test_what_runs_goes_on_when_its_orchestrator_was_stopped_for_too_long_and_wakes(held: Held) -> None:
    url = held.children.url
    first = held.submit(0, settings=SHORT)
    first.wait_for("ready")
    held.workers.start("python")
    held.all_begun()
    before = owners(url)
    other = held.start("serve", 1, settings=SHORT)
    other.wait_for("ready")
    stop_between_commits(url, first)
    eventually("the other one drives all runs", lambda: not owners(url) & (before | {None}))
    first.signal(signal.SIGCONT)
    eventually("it learns that it was declared dead", lambda: "was declared dead" in first.log.read_text())
    held.let_go()
    eventually("all are completed", lambda: completed(url) == RUNS, timeout=60)
    held.each_began_once()


def test_a_hub_that_is_killed_and_comes_back_finds_its_workers_at_work(sqlite_held: Held) -> None:
    held = sqlite_held
    first = held.submit()
    held.workers.start("python")
    held.all_begun()
    first.kill()
    again = held.submit()
    again.wait_for("ready")
    held.let_go()
    assert again.finished() == {"completed": RUNS}
    held.each_began_once()


def test_results_that_come_while_nobody_drives_their_runs_are_kept(held: Held) -> None:
    url = held.children.url
    # It has a hub, and not the code of these runs: it drives none of them.
    bystander = held.start("serve", 1, serves="chain")
    bystander.wait_for("ready")
    first = held.submit(0, workflow="holding_here")
    held.workers.start("python")
    held.all_begun()
    first.kill()
    held.let_go()
    eventually("all results are kept", lambda: query(url, "select count(*) from inbox")[0][0] == RUNS)
    assert completed(url) == 0
    again = held.submit(0, workflow="holding_here")
    assert again.finished() == {"completed": RUNS}
    held.each_began_once()


def test_a_worker_that_joins_late_gets_what_the_others_have_no_room_for(sqlite_held: Held) -> None:
    held = sqlite_held
    running = held.submit()
    first = held.workers.start("python", concurrency=1)
    eventually("it has begun one", lambda: len(held.workers.notes) == 1)
    late = held.workers.start("python", concurrency=1)
    eventually("the late one has begun one", lambda: {n.pid for n in held.workers.notes.all()} == {first.pid, late.pid})
    held.let_go()
    assert running.finished() == {"completed": RUNS}
    held.each_began_once()
