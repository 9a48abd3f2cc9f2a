"""Servers that are killed at random decide every due time exactly once: what the runs wrote shows it."""

from __future__ import annotations

import os
import random
import subprocess
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import turnout
from tests.faults.children import eventually
from tests.faults.guarantees import check_history, query
from tests.faults.scale import scaled, start_python

SERVERS = 3
SCHEDULES = scaled(10, 100)
SECONDS = scaled(10, 60)
KILLS = scaled(4, 20)
FLOWS = Path(__file__).with_name("scheduled_flows.py")


class Servers:
    """Orchestrators on one database. The log of each is kept beside the file that the runs write."""

    def __init__(self, url: str, folder: Path) -> None:
        self.file = folder / "written"
        self._url, self._folder = url, folder
        self._started: list[subprocess.Popen[str]] = []
        self.running: list[subprocess.Popen[str]] = []

    def start(self) -> None:
        environment = os.environ | {
            "TURNOUT_SCHEDULED_FILE": str(self.file),
            "TURNOUT_SCHEDULED_COUNT": str(SCHEDULES),
            "PYTHONPATH": str(Path(turnout.__file__).parents[1]),
        }
        command = ["-m", "turnout", "orchestrate", str(FLOWS), "--database", self._url, "--quiet"]
        with (self._folder / f"server{len(self._started)}.log").open("wb") as log:
            process = start_python(command, env=environment, stdout=log, stderr=log, cwd=self._folder)
        self._started.append(process)
        self.running.append(process)

    def kill(self, process: subprocess.Popen[str]) -> None:
        process.kill()
        process.wait()
        self.running.remove(process)

    def end(self) -> None:
        for process in list(self.running):
            self.kill(process)

    def written(self) -> dict[str, dict[float, Counter[str]]]:
        """Returns the runs that wrote each due time, by schedule."""
        found: dict[str, dict[float, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
        text = self.file.read_text() if self.file.exists() else ""
        for line in text[: text.rfind("\n") + 1].splitlines():
            name, due, run_id = line.split()
            found[name][datetime.fromisoformat(due).timestamp()][run_id] += 1
        return found


@contextmanager
def servers_on(url: str, folder: Path) -> Iterator[Servers]:
    servers = Servers(url, folder)
    try:
        yield servers
    finally:
        servers.end()


def test_every_due_time_of_three_servers_that_are_killed_is_decided_once(postgres_url: str, tmp_path: Path) -> None:
    chance = random.Random(5)
    with servers_on(postgres_url, tmp_path) as servers:
        for _ in range(SERVERS):
            servers.start()
        eventually("all schedules have fired", lambda: len(servers.written()) == SCHEDULES)
        begin = max(min(times) for times in servers.written().values())
        for _ in range(KILLS):
            time.sleep(chance.uniform(0.2, 2 * SECONDS / KILLS - 0.2))  # a moment that no server can foresee
            servers.kill(chance.choice(servers.running))
            servers.start()
        end = float(int(datetime.now(UTC).timestamp()))
        wanted = {begin + number for number in range(int(end - begin) + 1)}
        assert len(wanted) >= SECONDS / 2
        eventually(
            "all due times were written",
            lambda: all(wanted <= times.keys() for times in servers.written().values()),
            every=0.2,
        )
        written = servers.written()
    assert len(written) == SCHEDULES
    for name, times in written.items():
        ordered = sorted(times)
        assert ordered == [ordered[0] + number for number in range(len(ordered))], f"{name} left a due time out"
        # A body may run again after a kill; another run would be another decision.
        assert all(len(runs) == 1 for runs in times.values()), f"{name} fired a due time twice"
    repeated = query(
        postgres_url,
        "select schedule_id, due_at, count(*) from schedule_decision group by schedule_id, due_at having count(*) > 1",
    )
    assert repeated == []
    decided = query(postgres_url, "select count(*), sum(due_times), count(distinct run_id) from schedule_decision")
    assert decided[0][0] == decided[0][1] == decided[0][2]
    bodies = sum(sum(runs.values()) for times in written.values() for runs in times.values())
    print(f"{KILLS} kills, {decided[0][0]} due times, {bodies - sum(map(len, written.values()))} bodies ran again")
    check_history(postgres_url)
