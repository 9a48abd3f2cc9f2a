"""An orchestrator that was away for longer than a lease comes back to workers that have gone on without it."""

from __future__ import annotations

import signal
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.faults.children import Child, Children, eventually
from tests.faults.guarantees import Ledger, check_history, query
from tests.faults.languages import Program, python
from tests.faults.scale import FULL, scaled
from tests.faults.workers import Notes, Workers, check_across, check_notes, failures, free_addresses

RUNS = scaled(8, 30)
PAYING = scaled(4, 10)
COUNTS = {"across": RUNS, "paying_across": PAYING} if FULL else {"paying_across": PAYING}
"""Runs by workflow."""
LEASE = 3.0 if FULL else 2.0
AWAY = (0.5, 1.0, 2.0, 4.0) if FULL else (2.0,)
"""In leases."""
SETTINGS = {"heartbeat": LEASE / 6, "self_fence": 0.8 * LEASE, "lease": LEASE, "sweep": 0.3}
HUB = {"heartbeat": LEASE / 6, "lease": LEASE, "resend": 0.5}


@pytest.fixture
def workers(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Workers]:
    programs: dict[str, Program] = (
        request.getfixturevalue("languages") if FULL else {"python": python()}  # those of others take long to make
    )
    found = Workers(programs, free_addresses(2), Notes(tmp_path / "notes"))
    yield found
    found.end()


class Scene:
    """An orchestrator with a hub, which workers of every language keep to."""

    def __init__(self, children: Children, workers: Workers) -> None:
        self.children, self.workers = children, workers
        self._more = {"TURNOUT_FAULTS_LANGUAGES": " ".join(workers.programs)}

    def start(self, mode: str = "submit", hub: int = 0, **options: Any) -> Child:
        settings = {"settings": SETTINGS, "hub": {**HUB, "address": self.workers.hubs[hub]}}
        return self.children.start(mode, environment=self._more, **settings, **options)

    def staff(self) -> None:
        for language in self.workers.programs:
            self.workers.start(language, concurrency=RUNS)

    def under_way(self, languages: int) -> None:
        eventually(
            "steps have begun in every language",
            lambda: len({each.language for each in self.workers.notes.all()}) >= languages,
        )

    def each_began_once(self, runs: int) -> Ledger:
        ledger = check_history(self.children.url)
        assert Counter(run.state for run in ledger.runs.values()) == {"completed": runs}, failures(self.children.url)
        begun = check_notes(self.workers.notes, ledger)
        again = {task: times for task, times in begun.items() if times > 1}
        assert not again, f"steps that began again: {again}"
        return ledger


@pytest.fixture
def scene(request: pytest.FixtureRequest, workers: Workers) -> Scene:
    return Scene(request.getfixturevalue("postgres_children" if FULL else "sqlite_children"), workers)


@pytest.mark.parametrize("away", AWAY)
def test_what_workers_hold_goes_on_while_their_orchestrator_is_away(scene: Scene, away: float) -> None:
    given = {"workflow": "across", "runs": RUNS, "seconds": 1.5 * away * LEASE / len(scene.workers.programs)}
    first = scene.start(**given)
    scene.staff()
    scene.under_way(len(scene.workers.programs))
    first.kill()
    time.sleep(away * LEASE)  # this long is what is tested
    assert scene.start(**given).finished() == {"completed": RUNS}
    ledger = scene.each_began_once(RUNS)
    check_across(scene.children.url, ledger, RUNS, (*scene.workers.programs, "any"))


@pytest.mark.parametrize("away", AWAY)
def test_what_may_begin_once_is_not_given_up_while_its_worker_lives(scene: Scene, away: float) -> None:
    given = {"workflow": "paying_across", "runs": PAYING, "seconds": 1.5 * away * LEASE}
    first = scene.start(**given)
    scene.staff()
    eventually("all have begun", lambda: len(scene.workers.notes) >= PAYING)
    first.kill()
    time.sleep(away * LEASE)
    assert scene.start(**given).finished() == {"completed": PAYING}
    scene.each_began_once(PAYING)


def test_what_workers_hold_goes_on_under_another_hub_that_they_had_not_joined(scene: Scene, tmp_path: Path) -> None:
    """Its own orchestrator, and its session in the database, are over before the workers find the other hub.

    They have a lease to find it in, so the process that binds the address they know has imported everything before."""
    given = {"workflow": "paying_across", "runs": PAYING, "seconds": 3.0 * LEASE}
    first = scene.start(**given)
    scene.workers.hubs, both = scene.workers.hubs[:1], scene.workers.hubs
    scene.staff()
    eventually("all have begun", lambda: len(scene.workers.notes) >= PAYING)
    first.kill()
    url = scene.children.url
    time.sleep(1.2 * LEASE)
    scene.workers.hubs = both
    gate = tmp_path / "gate"
    second = scene.start(**given, gate=gate)  # where the workers look for their hub
    second.wait_for("imported")
    other = scene.start("serve", hub=1)
    other.wait_for("ready")
    owner = "select count(*) from run where owner is not null"
    eventually("it drives all runs", lambda: query(url, owner)[0][0] == PAYING)
    gate.touch()
    assert second.finished() == {"completed": PAYING}
    scene.each_began_once(PAYING)


@pytest.mark.parametrize("workflow", COUNTS)
@pytest.mark.parametrize("away", AWAY)
def test_what_workers_hold_goes_on_when_another_hub_takes_over(scene: Scene, workflow: str, away: float) -> None:
    steps = len(scene.workers.programs) if workflow == "across" else 1
    given = {"workflow": workflow, "runs": COUNTS[workflow], "seconds": 1.5 * away * LEASE / steps}
    first = scene.start(**given)
    scene.staff()
    scene.under_way(steps)
    first.kill()
    time.sleep(away * LEASE)  # this long is what is tested
    assert scene.start(hub=1, **given).finished() == {"completed": COUNTS[workflow]}
    scene.each_began_once(COUNTS[workflow])


@pytest.mark.parametrize("workflow", COUNTS)
def test_what_was_committed_and_never_sent_begins_once_its_orchestrator_is_back(scene: Scene, workflow: str) -> None:
    """The worker is known as its holder, and has never heard of it."""
    runs = COUNTS[workflow]
    given = {"workflow": workflow, "runs": runs, "seconds": 0.1}
    scene.staff()
    first = scene.start(**given, die_before_giving=1)
    assert first.wait() == -signal.SIGKILL
    held = query(scene.children.url, "select count(*) from task where state = 'running' and holder is not null")
    assert held[0][0] and not len(scene.workers.notes)
    assert scene.start(**given).finished() == {"completed": runs}
    scene.each_began_once(runs)
    assert query(scene.children.url, "select name, attempt, losses from task where losses > 0") == []


def test_what_a_dead_orchestrator_held_itself_is_lost_at_once(sqlite_children: Children) -> None:
    children = sqlite_children
    settings = {**SETTINGS, "lease": 60.0, "self_fence": 50.0}
    given = {"workflow": "slowly", "runs": 2, "seconds": 1.0, "settings": settings}
    first = children.start("submit", **given)
    eventually("slow bodies run", lambda: [e for e in children.executions.all() if e.task == "slow"])
    first.kill()
    again = children.start("submit", **given)
    again.wait_for("ready")
    ready = time.monotonic()
    eventually("they run again", lambda: [e for e in children.executions.by(again.pid) if e.task == "slow"], timeout=10)
    print(f"begun again {time.monotonic() - ready:.2f} s after the start")
    assert again.finished() == {"completed": 2}
