"""Runs across four languages end right, whatever is done to their workers, hubs and orchestrators."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.faults.children import Child, Children, eventually
from tests.faults.guarantees import Ledger, check_history, query
from tests.faults.languages import Program
from tests.faults.scale import FULL, scaled
from tests.faults.trouble import Post, Trouble
from tests.faults.workers import Notes, Workers, check_notes, free_addresses

RUNS = scaled(24, 200)
FAULTS = scaled(10, 120)
EVERY = 1.0 if FULL else 0.7
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


def orchestrators(children: Children, workers: Workers, workflow: str) -> dict[str, Any]:
    """How to start each of two, with a hub each, on the same database."""
    more = {"TURNOUT_FAULTS_LANGUAGES": " ".join(workers.programs)}

    def start(mode: str, address: str, **options: Any) -> Child:
        hub = {**HUB, "address": address}
        return children.start(mode, hub=hub, settings=SETTINGS, losses=ENOUGH, environment=more, **options)

    submit, serve = workers.hubs
    given = {"workflow": workflow, "runs": RUNS, "seconds": SECONDS}
    return {"submit": lambda: start("submit", submit, **given), "serve": lambda: start("serve", serve)}


def outputs(url: str) -> dict[tuple[str, str], str]:
    """What each task of each run has returned, by the run's key and the task's name."""
    rows = query(url, "select run.key, task.name, task.output from task join run on run.id = task.run_id")
    return {(key, name): json.loads(output) for key, name, output in rows if output is not None}


def test_runs_across_languages_end_right_whatever_is_killed_stopped_or_restarted(
    postgres_children: Children, workers: Workers
) -> None:
    chance = random.Random(5)
    start = orchestrators(postgres_children, workers, "across")
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
    submitting = posts[0].process
    assert isinstance(submitting, Child)
    assert submitting.finished() == {"completed": RUNS}, submitting.tail()
    ledger = check_history(postgres_children.url)
    names = [*workers.programs, "any"]
    _all_right(ledger, outputs(postgres_children.url), names)
    begun = check_notes(workers.notes, ledger)
    again = sum(begun.values()) - len(begun)
    print(f"{dict(trouble.made)}; {len(begun)} tasks, {again} begun again, at most {max(begun.values())} times")


def _all_right(ledger: Ledger, outputs: dict[tuple[str, str], str], names: list[str]) -> None:
    by_key = ledger.by_key()
    assert set(by_key) == {f"r{number}" for number in range(RUNS)}
    assert {run.state for run in by_key.values()} == {"completed"}
    for key in by_key:
        text = key
        for name in names:
            text = f"{text}>{name}"
            assert outputs[key, name] == text
