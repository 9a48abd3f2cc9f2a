"""A process that was stopped (SIGSTOP) past its lease begins nothing that has ended without it."""

from __future__ import annotations

import math
import random
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.faults.children import Child, Children, eventually
from tests.faults.guarantees import query
from tests.faults.scale import scaled
from tests.faults.standstill import stop_between_commits

RUNS = scaled(40, 100)
TRIALS = scaled(1, 10)
SECONDS = 0.01
GAP = 0.0003
"""Seconds of processor time from the look at the clock to the first line of a body, at most; 5 us are usual."""
LEASE = 1.5
SHORT = {"heartbeat": 0.5, "self_fence": 1.2, "lease": LEASE, "sweep": 0.2}


class Stamp(NamedTuple):
    """One body: its attempt, and when it began by the clock of this machine, which is the database's, too."""

    token: str
    at: float
    pid: int
    looked: float
    """When its thread last saw that it may begin."""
    used: float
    """Seconds of processor time that its thread had between the two: none while the process was stopped."""


def stamps(children: Children) -> list[Stamp]:
    path = Path(f"{children.executions.path}.stamps")
    lines = (line.split() for line in path.read_text().splitlines()) if path.exists() else ()
    return [Stamp(token, float(at), int(pid), float(looked), float(used)) for token, at, pid, looked, used in lines]


def late(children: Children) -> list[str]:
    """Bodies that began after their attempts had ended in the store.

    Nobody can close the gap of some instructions between the look at the clock and the first line of a body. What the
    signal stops in there, one body at most, is told from what was looked at too early: its thread did nothing between
    the two.
    """
    moves = query(children.url, "select run_id, pos, attempt, at from history where old = 'running' and pos >= 0")
    ended = {f"{run_id}.{pos}:{attempt}": at for run_id, pos, attempt, at in moves}
    found = [each for each in stamps(children) if each.at > ended.get(each.token, math.inf)]
    in_the_gap = [each for each in found if each.looked <= ended[each.token] and each.used < GAP]
    for each in in_the_gap[:1]:
        print(f"{each.token} was stopped {each.used * 1e6:.0f} us after the look at the clock")
        found.remove(each)
    return [
        f"{each.token} began {each.at - ended[each.token]:.3f} s after its end, in {each.pid}; its thread looked "
        f"{each.at - each.looked:.6f} s before, and worked {each.used:.6f} s since"
        for each in found
    ]


def open_runs(url: str) -> int:
    return query(url, "select count(*) from run where state not in ('completed', 'failed', 'cancelled')")[0][0]


def sessions_of(children: Children, child: Child) -> list[tuple[str, float]]:
    return query(children.url, f"select id, lease_until from session where pid = {child.pid} and ended_at is null")


def stop_past_its_lease(
    children: Children, stopped: Child, *, others: str, relieve: Callable[[], object] | None = None
) -> None:
    """Stop it in the midst of its work, until others have ended everything; then let it go on, and come to itself.

    ``relieve`` starts the others once it is stopped: two that work side by side need not share the work evenly."""
    begun = len(stamps(children))
    eventually("its bodies run", lambda: len([s for s in stamps(children)[begun:] if s.pid == stopped.pid]) > 5)
    time.sleep(random.random() * 0.05)  # any moment
    stop_between_commits(children.url, stopped)
    before = sessions_of(children, stopped)
    if relieve is not None:
        relieve()
    eventually(others, lambda: not open_runs(children.url))
    stopped.signal(signal.SIGCONT)
    eventually("it has a lease again", lambda: set(sessions_of(children, stopped)) - set(before))
    # Whatever it had in hand is dealt with once it does new work.


@pytest.mark.parametrize("trial", range(TRIALS))
def test_a_poller_begins_nothing_that_has_ended_while_it_was_stopped(children: Children, trial: int) -> None:
    given = {"workflow": "stamped", "seconds": SECONDS, "settings": SHORT, "polled": 1}
    pollers: list[Child] = []

    def start_poller() -> None:
        pollers.append(children.start("poll", settings=SHORT, threads=4))
        pollers[-1].wait_for("ready")

    start_poller()
    owner = children.start("submit", runs=RUNS, **given)
    stop_past_its_lease(children, pollers[0], others="the other poller has ended every run", relieve=start_poller)
    owner.finished()
    pollers[1].kill()
    children.start("submit", runs=2, letter="s", **given).finished()
    print(f"{len(stamps(children))} bodies began in {3 * RUNS} tasks")
    assert late(children) == []


@pytest.mark.parametrize("trial", range(TRIALS))
def test_an_orchestrator_begins_nothing_that_has_ended_while_it_was_stopped(children: Children, trial: int) -> None:
    given = {"workflow": "stamped", "seconds": SECONDS, "settings": SHORT, "threads": 4}
    other = children.start("serve", settings=SHORT, threads=4)
    other.wait_for("ready")
    stopped = children.start("submit", runs=RUNS, **given)
    stop_past_its_lease(children, stopped, others="the other orchestrator has ended every run")
    stopped.finished()
    stopped.exit_code()
    print(f"{len(stamps(children))} bodies began in {3 * RUNS} tasks")
    assert late(children) == []
