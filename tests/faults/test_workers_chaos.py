"""Runs across four languages end right, whatever is done to their workers, hubs and orchestrators."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.faults.children import Child, Children, eventually
from tests.faults.guarantees import Ledger, check_history
from tests.faults.languages import Program
from tests.faults.scale import FULL, scaled
from tests.faults.trouble import Post, Trouble
from tests.faults.workers import Notes, Workers, check_across, check_notes, failures, free_addresses

RUNS = scaled(24, 200)
PAYING = scaled(8, 50)
"""Runs with a task that begins at most once, besides."""
FAULTS = scaled(9, 120)
EVERY = 1.0 if FULL else 0.6
"""Seconds from one fault to the next."""
OF_EACH = scaled(1, 2)
"""Workers of one language."""
PLACES = 2
SECONDS = 3.0 if FULL else 0.9
"""The longest handler. With so few places a worker, there is work for as long as there are faults."""
LEASE = 3.0
SETTINGS = {"heartbeat": 0.5, "self_fence": 2.4, "lease": LEASE, "sweep": 0.3}
HUB = {"heartbeat": 0.5, "lease": LEASE, "resend": 0.5}
ENOUGH = 10_000
"""Losses: nobody is to fail because of kills alone."""


@pytest.fixture
def workers(languages: dict[str, Program], tmp_path: Path) -> Iterator[Workers]:
    found = Workers(languages, free_addresses(2), Notes(tmp_path / "notes"))
    yield found
    found.end()


def orchestrators(children: Children, workers: Workers) -> dict[str, Any]:
    """How to start each of two, with a hub each, on the same database. Each submits runs, and drives what it can."""
    more = {"TURNOUT_FAULTS_LANGUAGES": " ".join(workers.programs)}

    def start(mode: str, address: str, **options: Any) -> Child:
        hub = {**HUB, "address": address}
        return children.start(mode, hub=hub, settings=SETTINGS, losses=ENOUGH, environment=more, **options)

    first, second = workers.hubs
    across = {"workflow": "across", "runs": RUNS, "seconds": SECONDS}
    paying = {"workflow": "paying_across", "runs": PAYING, "seconds": SECONDS, "letter": "p"}
    return {"first": lambda: start("stay", first, **across), "second": lambda: start("stay", second, **paying)}


def test_runs_across_languages_end_right_whatever_is_killed_stopped_or_restarted(
    postgres_children: Children, workers: Workers
) -> None:
    chance = random.Random(5)
    start = orchestrators(postgres_children, workers)
    posts = [Post(name, begin, begin(), alone=True) for name, begin in start.items()]
    for language in list(workers.programs) * OF_EACH:
        begin = partial(workers.start, language, concurrency=PLACES)
        posts.append(Post(language, begin, begin()))
    trouble = Trouble(posts, chance, LEASE)
    eventually("there is work", lambda: len(workers.notes) > 0)
    for _ in range(FAULTS):
        time.sleep(EVERY)
        trouble.make()
    trouble.end()
    first, second = posts[0].process, posts[1].process
    assert isinstance(first, Child) and isinstance(second, Child)
    assert first.finished() == {"completed": RUNS}, failures(postgres_children.url)
    assert sum(second.finished().values()) == PAYING
    ledger = check_history(postgres_children.url)
    check_across(postgres_children.url, ledger, RUNS, [*workers.programs, "any"])
    begun = check_notes(workers.notes, ledger)
    failed = _paid_at_most_once(ledger, begun)
    again = sum(begun.values()) - len(begun)
    print(f"{dict(trouble.made)}; {len(begun)} tasks, {again} begun again, at most {max(begun.values())} times")
    print(f"of {PAYING} tasks that begin at most once {failed} were lost")


def _paid_at_most_once(ledger: Ledger, begun: Counter[str]) -> int:
    """Such a task has begun once, or not at all; where it was lost, it says so and its run has failed."""
    failed = 0
    for task in ledger.tasks.values():
        if task.name != "paid":
            continue
        assert begun[f"{task.run_id}.{task.pos}"] <= 1, "it has begun twice"
        if task.state != "completed":
            assert (task.state, task.reason, ledger.runs[task.run_id].state) == (
                "failed",
                "lost_at_most_once",
                "failed",
            )
            failed += 1
    return failed
