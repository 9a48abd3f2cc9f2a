"""Clusters lose workers, supervisors and orchestrators: no run is lost, none is recorded twice, none is paid twice."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.guarantees import check_history, query
from tests.faults.scale import TIMEOUT, scaled
from tests.kit.sites import ROOT, SITES, Site

RUNS = scaled(10, 200)
FAULTS = scaled(3, 60)
SECONDS = 0.1
"""How long a body takes."""
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

    def start(self, *wanted: str) -> subprocess.Popen[str]:
        self.started += 1
        site = (self._site.key, self._url, self._site.address, "default")
        log = self._folder / f"orchestrator{self.started}.log"
        with log.open("w") as errors:
            process = subprocess.Popen(
                [sys.executable, "-m", "tests.kit.site_orchestrator", *site, *wanted],
                cwd=ROOT,
                text=True,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
            )
        self.processes.append(process)
        return process

    def kill(self, number: int) -> None:
        process = self.processes.pop(number % len(self.processes))
        _end(process)
        self.start()

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
    try:
        for flow in ("stepping", "paying"):
            inputs = [{"path": str(notes), "key": f"{flow}{n}", "seconds": SECONDS} for n in range(RUNS // 2)]
            first = orchestrators.start(flow, json.dumps(inputs))
            assert first.stdout is not None
            until_line(first, "ready")
        faults: Counter[str] = Counter()
        for number in range(FAULTS):
            fault = ("worker", "orchestrator", "supervisor")[number % 3]
            faults[fault] += 1
            wait_for_progress(notes, chance.randint(1, 4))
            match fault:
                case "worker":
                    site.lose_any_node(chance.randrange(100))
                case "orchestrator":
                    orchestrators.kill(chance.randrange(100))
                case _:
                    site.lose_supervisor()
        states = until_all_ended(sqlite_url)
    finally:
        orchestrators.close()
    check_history(sqlite_url)
    begun = Counter(notes.read_text().splitlines())
    print(f"{RUNS} runs, {dict(faults)}: {dict(states)}, {sum(begun.values())} bodies began")
    twice = [key for key, times in begun.items() if key.startswith("pay ") and times > 1]
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


def until_line(process: subprocess.Popen[str], wanted: str) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        if line.strip() == wanted:
            return
    raise AssertionError(f"the orchestrator ended before it said {wanted!r}")


def wait_for_progress(notes: Path, bodies: int) -> None:
    """Waits until so many more bodies have begun, or none is left to begin."""
    before, ends = len(notes.read_bytes().splitlines()), time.monotonic() + 10.0
    while len(notes.read_bytes().splitlines()) < before + bodies and time.monotonic() < ends:
        time.sleep(0.02)


def until_all_ended(url: str) -> Counter[str]:
    ends = time.monotonic() + PATIENCE
    while True:
        states = Counter(state for (state,) in query(url, "select state from run"))
        if sum(states[each] for each in ENDED) == RUNS // 2 * 2:
            return states
        assert time.monotonic() < ends, f"runs have not ended: {dict(states)}"
        time.sleep(0.1)
