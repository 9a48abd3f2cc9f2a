"""kill -9 of a server while steps run in it and in a worker: runs go on, and logs have no gap and no line twice."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.faults.children import eventually
from tests.faults.guarantees import check_history
from tests.faults.log_follower import LogFollower
from tests.faults.scale import PATIENCE, scaled
from tests.faults.server_site import LINES, ServerSite, shown

KILLS = scaled(1, 10)
RUNS = 2
"""New runs before each kill."""
UNWRITTEN = 5.0
"""Seconds before a kill whose lines of the server's own steps may be missing: those that wait to be written, 0.2 s as a
rule, and longer where more processes want to run than there are cores."""


@pytest.fixture
def site(store_url: str, tmp_path: Path) -> Iterator[ServerSite]:
    made = ServerSite(store_url, tmp_path)
    yield made
    made.end()


def test_steps_go_on_and_logs_have_no_gap_and_no_line_twice_whenever_the_server_is_killed(site: ServerSite) -> None:
    chance = random.Random(14)
    followers: dict[str, LogFollower] = {}
    kills: list[float] = []
    for _ in range(KILLS):
        site.until_ready()
        site.until_joined()
        for _ in range(RUNS):
            run_id = site.submit()
            followers[run_id] = LogFollower(site.api, run_id)
        await_moment(site, chance, run_id)
        site.kill_server()
        kills.append(time.time())
        if chance.random() < 0.5:
            time.sleep(chance.random() * 2)  # the worker prints on, and some of its steps end
        site.start_server()
    site.until_ready()
    for follower in followers.values():
        follower.end(PATIENCE)
    check_history(site.url)
    lost = sum(check_run(site, run_id, kills) for run_id in followers)
    for run_id, follower in followers.items():
        check_follower(site, run_id, follower)
    assert site.worker.poll() is None and not remote_steps_twice(site)
    assert lost, "no kill hit a step of the server"
    print(
        f"{len(followers)} runs, {KILLS} kills, {lost} attempts lost, {sum(f.connections for f in followers.values())}"
    )


def await_moment(site: ServerSite, chance: random.Random, run_id: str) -> None:
    """Some moment from when all steps of this run print until most of them have ended."""
    eventually("all steps print", lambda: {each.task for each in site.printed() if each.run_id == run_id} == set(LINES))
    time.sleep(chance.random() * 2.0)


def check_run(site: ServerSite, run_id: str, kills: Sequence[float]) -> int:
    """Returns the number of its attempts that were lost."""
    run = site.get(f"/runs/{run_id}")
    assert run["state"] == "completed", shown(run)
    printed = {(each.task, each.attempt, each.number): each.at for each in site.printed() if each.run_id == run_id}
    lost = 0
    for name, count in LINES.items():
        task = site.get(f"/runs/{run_id}/tasks/{name}")
        begun = [each for each in task["attempts"] if each["number"]]
        assert begun[-1]["outcome"] == "completed" and all(each["outcome"] == "lost" for each in begun[:-1]), shown(
            task
        )
        lost += len(begun) - 1
        for attempt in begun:
            found = numbers(site.texts(run_id, name, attempt["attempt"]))
            assert found == list(range(len(found))), f"{name}, attempt {attempt['attempt']}: a gap, or a line twice"
            missing = [number for number in range(len(found), count) if (name, attempt["number"], number) in printed]
            if name == "elsewhere":
                assert len(begun) == 1 and not missing, f"of a step that its worker has: {missing}"
            for number in missing:
                at = printed[name, attempt["number"], number]
                assert any(at > kill - UNWRITTEN for kill in kills if kill > at - 0.1), (name, number, shown(attempt))
    return lost


def numbers(texts: Sequence[str]) -> list[int]:
    return [int(text.removeprefix("line ")) for text in texts]


def check_follower(site: ServerSite, run_id: str, follower: LogFollower) -> None:
    """A client that has followed the run over all kills has every line once, in the order of the pages."""
    stored: list[dict[str, Any]] = site.get(f"/runs/{run_id}/logs")["lines"]
    assert follower.lines == [(line["task"], line["attempt"], line["text"]) for line in stored]
    assert not follower.unexpected


def remote_steps_twice(site: ServerSite) -> list[Any]:
    printed = Counter((each.run_id, each.number) for each in site.printed() if each.task == "elsewhere")
    return [each for each, times in printed.items() if times > 1]
