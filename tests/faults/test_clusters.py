"""Clusters lose workers, supervisors and orchestrators: no run is lost, none is recorded twice, none is paid twice."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.faults.guarantees import check_history, query
from tests.faults.scale import TIMEOUT, scaled
from tests.kit.sites import ROOT, SITES, SLOTS, Site
from tests.kit.waiting import until

RUNS = scaled(12, 200)
FAULTS = scaled(3, 60)
SECONDS = 0.3
"""How long a body takes: long enough for a fault to find it."""
LOSSES = {"worker": SLOTS, "supervisor": 2 * SLOTS, "orchestrator": 2 * SLOTS}
"""Attempts that a fault can lose, at most: those of a node, and those of both. The bodies of an orchestrator go on; a
start that it has stored, and not sent to the supervisor, is lost."""
UNPAID = "select id from run where workflow like '%paying' and state not in ('completed', 'failed')"
ENDED = ("completed", "failed")
PATIENCE = 3 * TIMEOUT
"""Seconds in which all runs must have ended: a cluster that was killed takes its time to start on a busy machine."""


@pytest.fixture(params=["dask", "ray"])
def site(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Site]:
    kind = SITES[request.param]
    missing = kind.missing()
    if missing is not None:
        print(missing)
        pytest.skip(missing)
    site = kind(tmp_path)
    try:
        site.start()
        yield site
    finally:
        site.close()


class Orchestrators:
    """Two processes on one database, of which either may be killed at any time: another takes its place."""

    def __init__(self, site: Site, url: str, folder: Path) -> None:
        self._site, self._url, self._folder = site, url, folder
        self.processes: list[subprocess.Popen[str]] = []
        self.started = 0

    def start(self) -> None:
        self.started += 1
        site = (self._site.key, self._url, self._site.address, "default")
        log = self._folder / f"orchestrator{self.started}.log"
        with log.open("w") as errors:
            process = subprocess.Popen(
                [sys.executable, "-m", "tests.kit.site_orchestrator", *site],
                cwd=ROOT,
                text=True,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
            )
        self.processes.append(process)

    def submit(self, flow: str, inputs: Sequence[Mapping[str, Any]]) -> None:
        """Submits these at the older process, and returns when they are stored."""
        process = self.processes[0]
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(json.dumps([flow, inputs]) + "\n")
        process.stdin.flush()
        stored = 0
        while stored < len(inputs):
            line = process.stdout.readline()
            assert line, "the orchestrator has ended by itself"
            stored += line.strip() != "ready"

    def kill(self, number: int) -> bool:
        process = self.processes.pop(number % len(self.processes))
        assert process.poll() is None, "an orchestrator has ended by itself"
        _end(process)
        self.start()
        return True

    def close(self) -> None:
        for process in self.processes:
            _end(process)


def _end(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate()


@pytest.mark.timeout(4 * TIMEOUT)
def test_nothing_is_lost_or_done_twice_while_workers_supervisors_and_orchestrators_are_killed(
    site: Site, tmp_path: Path, sqlite_url: str
) -> None:
    chance = random.Random(17)
    notes = tmp_path / "notes"
    notes.touch()
    orchestrators = Orchestrators(site, sqlite_url, tmp_path)
    faults: Counter[str] = Counter()
    losses = 0
    try:
        for _ in range(2):
            orchestrators.start()
        for number in range(FAULTS):
            begun = bodies(notes)
            keys = range(number * RUNS // FAULTS, (number + 1) * RUNS // FAULTS)
            for flow, some in (("stepping", keys[::2]), ("paying", keys[1::2])):
                inputs = [{"path": str(notes), "key": f"{flow}{key}", "seconds": SECONDS} for key in some]
                orchestrators.submit(flow, inputs)
            wait_for_bodies(notes, begun + chance.randint(1, len(keys)))
            fault, which = ("worker", "orchestrator", "supervisor")[number % 3], chance.randrange(100)
            inject = {
                "worker": lambda which=which: site.lose_any_node(which),
                "orchestrator": lambda which=which: orchestrators.kill(which),
                "supervisor": site.lose_supervisor,
            }
            losses += min(LOSSES[fault], len(query(sqlite_url, UNPAID)))
            until(inject[fault], f"there is no {fault} that could be killed")
            faults[fault] += 1
        states = until_all_ended(sqlite_url)
    finally:
        orchestrators.close()
    check_history(sqlite_url)
    assert sum(faults.values()) == FAULTS and sum(states.values()) == RUNS
    began = Counter(notes.read_text().splitlines())
    paid, failed = states["paying", "completed"], states["paying", "failed"]
    print(
        f"{RUNS} runs, {dict(faults)}: {dict(states)} (at most {losses} may fail), {sum(began.values())} bodies began"
    )
    assert paid, "no run that pays was completed"
    assert failed <= losses, f"{failed} runs failed, and the faults can have lost {losses} attempts"
    twice = [key for key, times in began.items() if key.startswith("pay ") and times > 1]
    assert not twice, f"at_most_once bodies began twice: {twice}"
    wrong = query(
        sqlite_url,
        "select run.workflow, task.error from run join task on task.run_id = run.id "
        "where run.state = 'failed' and run.workflow like '%stepping'",
    )
    assert not wrong, f"runs that may be retried failed: {wrong}"
    lost = query(
        sqlite_url,
        "select task.error from task join run on run.id = task.run_id "
        "where run.state = 'failed' and task.state = 'failed'",
    )
    assert all('"Lost"' in (error or "") for (error,) in lost), lost


def bodies(notes: Path) -> int:
    return len(notes.read_bytes().splitlines())


def wait_for_bodies(notes: Path, count: int) -> None:
    """Waits until so many bodies have begun in all; fails if they do not."""
    ends = time.monotonic() + PATIENCE
    while bodies(notes) < count:
        assert time.monotonic() < ends, f"{bodies(notes)} bodies have begun, and {count} were to"
        time.sleep(0.02)


def until_all_ended(url: str) -> Counter[tuple[str, str]]:
    """Returns how many runs ended in which state, by their workflows."""
    ends = time.monotonic() + PATIENCE
    while True:
        found = query(url, "select workflow, state from run")
        states = Counter((workflow.rpartition(":")[2].rpartition(".")[2], state) for workflow, state in found)
        if sum(count for (_, state), count in states.items() if state in ENDED) == RUNS:
            return states
        assert time.monotonic() < ends, f"runs have not ended: {dict(states)}"
        time.sleep(0.1)
