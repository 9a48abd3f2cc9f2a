"""Limits over two orchestrators: never exceeded by what bodies themselves record, and no slot is lost by kills."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.faults.children import Child, Children, eventually
from tests.faults.guarantees import check_history
from tests.faults.outcomes import all_completed
from tests.faults.scale import scaled
from turnout.contracts.store import Store
from turnout.store import connect

RUNS, KILLS = scaled(60, 500), scaled(4, 40)
STEPS, STEP_KILLS = scaled(40, 300), scaled(3, 25)
FAMILIES, FAMILY_KILLS = scaled(15, 150), scaled(3, 25)
RATED = scaled(35, 150)
AT_MOST, RATE = 3, 10
QUICK = {"heartbeat": 0.5, "lease": 3.0, "self_fence": 2.0, "sweep": 0.3}


@contextmanager
def opened(url: str) -> Iterator[Store]:
    store = connect(url)
    store.open()
    try:
        yield store
    finally:
        store.close()


class Spans:
    """When bodies began and ended, by their own lines; what a killed process had begun ended with its kill."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.killed_at: dict[int, float] = {}

    def lines(self) -> list[tuple[str, str, int, float]]:
        (file,) = self._folder.glob("*.spans")
        found = (line.split() for line in file.read_text().splitlines())
        return [(word, key, int(pid), float(at)) for word, key, pid, at in found]

    def most_at_once(self) -> int:
        open_: dict[tuple[str, int], float] = {}
        moves: list[tuple[float, int]] = []
        for word, key, pid, at in self.lines():
            if word == "begin":
                open_[key, pid] = at
                moves.append((at, 1))
            else:
                del open_[key, pid]
                moves.append((at, -1))
        moves += [(self.killed_at[pid], -1) for _, pid in open_]
        now = most = 0
        # At one instant ends come before begins.
        for _, change in sorted(moves):
            now += change
            most = max(most, now)
        return most

    def most_begun_in(self, seconds: float) -> int:
        begun = sorted(at for word, _, _, at in self.lines() if word == "begin")
        return most_within(begun, seconds)


def most_within(times: Sequence[float], seconds: float) -> int:
    """Returns the most of these times that lie in any window of this length.

    >>> most_within([0.0, 0.5, 0.9, 1.2], 1.0)
    3
    """
    first = most = 0
    for last, at in enumerate(times):
        while at - times[first] >= seconds:
            first += 1
        most = max(most, last - first + 1)
    return most


def kill(spans: Spans, child: Child) -> None:
    # The process may run until the signal has arrived: the instant after it is the latest end of its bodies.
    child.kill()
    spans.killed_at[child.pid] = time.time()


@pytest.mark.parametrize(("workflow", "runs", "kills"), [("limited", RUNS, KILLS), ("limited_step", STEPS, STEP_KILLS)])
def test_a_limit_of_three_over_two_orchestrators_holds_while_they_are_killed(
    postgres_children: Children, tmp_path: Path, workflow: str, runs: int, kills: int
) -> None:
    chance, spans = random.Random(11), Spans(tmp_path)
    servers = [postgres_children.start("serve", settings=QUICK) for _ in range(2)]
    submitter = postgres_children.start(
        "submit", workflow=workflow, runs=runs, seconds=0.06, window=runs, drives=0, settings=QUICK
    )
    done = 0
    for number in range(kills):
        wanted = (number + 1) * runs // (kills + 1)
        eventually(f"{wanted} bodies began", lambda: len(postgres_children.executions) >= wanted)  # noqa: B023
        done = chance.randrange(2)
        kill(spans, servers[done])
        servers[done] = postgres_children.start("serve", settings=QUICK)
    assert submitter.finished() == {"completed": runs}

    most = spans.most_at_once()
    print(f"{runs} runs, {kills} kills: at most {most} at once")
    assert most == AT_MOST
    all_completed(postgres_children.url, postgres_children.executions, runs, kills=kills)
    with opened(postgres_children.url) as store:
        eventually("no slot is held any more", lambda: store.admit_waiting() and not _held(store))


def test_runs_share_their_slots_with_their_children_while_orchestrators_are_killed(
    postgres_children: Children, tmp_path: Path
) -> None:
    chance, spans, members = random.Random(17), Spans(tmp_path), 3 * FAMILIES
    servers = [postgres_children.start("serve", settings=QUICK) for _ in range(2)]
    submitter = postgres_children.start(
        "submit", workflow="limited_family", runs=FAMILIES, seconds=0.06, window=FAMILIES, drives=0, settings=QUICK
    )
    for number in range(FAMILY_KILLS):
        wanted = (number + 1) * members // (FAMILY_KILLS + 1)
        eventually(f"{wanted} bodies began", lambda: len(postgres_children.executions) >= wanted)  # noqa: B023
        gone = chance.randrange(2)
        kill(spans, servers[gone])
        servers[gone] = postgres_children.start("serve", settings=QUICK)
    assert submitter.finished() == {"completed": FAMILIES}

    most = spans.most_at_once()
    print(f"{FAMILIES} families, {FAMILY_KILLS} kills: at most {most} of their bodies at once")
    assert most == AT_MOST
    assert len(postgres_children.executions.per_task()) == members
    ledger = check_history(postgres_children.url)
    assert {run.state for run in ledger.runs.values()} == {"completed"} and len(ledger.runs) == 5 * FAMILIES
    with opened(postgres_children.url) as store:
        eventually("no slot is held any more", lambda: store.admit_waiting() and not _held(store))


def _held(store: Store) -> int:
    return sum(limit.held + limit.waiting for limit in store.limits())


def test_a_rate_of_ten_per_second_over_two_orchestrators_holds_in_every_window(
    postgres_children: Children, tmp_path: Path
) -> None:
    spans = Spans(tmp_path)
    for _ in range(2):
        postgres_children.start("serve", settings=QUICK).wait_for("ready")
    submitter = postgres_children.start(
        "submit", workflow="rated_step", runs=RATED, seconds=0.01, window=RATED, drives=0, settings=QUICK
    )
    assert submitter.finished() == {"completed": RATED}

    most = spans.most_begun_in(1.0)
    pids = {pid for _, _, pid, _ in spans.lines()}
    print(f"{RATED} steps: at most {most} began within a second, in {len(pids)} processes")
    assert most <= RATE and len(pids) == 2
    assert most >= RATE - 2, "the rate is used"
