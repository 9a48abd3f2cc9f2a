"""Between hub and workers messages are lost, delayed, doubled, overtaken, cut short and changed, and connections cut:
every run ends as it would have otherwise."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.faults.children import Children
from tests.faults.guarantees import check_history
from tests.faults.languages import ROOT, Program
from tests.faults.scale import FULL, scaled
from tests.faults.workers import Notes, Workers, check_across, check_notes, failures, free_addresses

RUNS = scaled(10, 60)
SECONDS = 0.1
LEASE = 4.0
HUB = {"heartbeat": 0.3, "lease": LEASE, "resend": 0.3}
ENOUGH = 10_000
WEATHERS: dict[str, dict[str, float]] = {
    "drop": {"drop": 0.2},
    "delay": {"lag": 0.3},
    "double": {"double": 0.5},
    "reorder": {"late": 0.5, "by": 1.0},
    "truncate": {"truncate": 0.05},
    "corrupt": {"corrupt": 0.05},
    "cut": {"cut": 0.3},
    "everything": {"drop": 0.1, "double": 0.1, "late": 0.2, "by": 0.5, "truncate": 0.02, "corrupt": 0.02, "cut": 0.05},
}
SPEAKERS = {"drop": "python", "reorder": "ruby", "corrupt": "go", "cut": "node"}
"""Who is in which weather, where there is no time for all in all."""


@contextmanager
def mangled(front: str, hub: str, weather: dict[str, float]) -> Iterator[None]:
    command = [sys.executable, "-m", "tests.proxies.mangler", front, hub, json.dumps({"seed": 3, **weather})]
    process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin is not None and process.stdout is not None
    try:
        assert process.stdout.readline() == "ready\n"
        yield
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("kind", WEATHERS if FULL else (*SPEAKERS, "everything"))
def test_runs_end_right_whatever_becomes_of_messages(
    kind: str, languages: dict[str, Program], postgres_children: Children, tmp_path: Path
) -> None:
    hub, front = free_addresses(2)
    only = None if FULL else SPEAKERS.get(kind)
    there = {name: program for name, program in languages.items() if only in (None, name)}
    if not there:
        pytest.skip(f"there is no worker of {only} here")
    workers = Workers(there, [front], Notes(tmp_path / "notes"))
    submitting = postgres_children.start(
        "submit",
        workflow="across",
        runs=RUNS,
        seconds=SECONDS,
        losses=ENOUGH,
        hub={**HUB, "address": hub, "advertise": front},
        environment={"TURNOUT_FAULTS_LANGUAGES": " ".join(there)},
    )
    with mangled(front, hub, WEATHERS[kind]):
        try:
            for language in there:
                workers.start(language)
            assert submitting.finished() == {"completed": RUNS}, failures(postgres_children.url)
        finally:
            workers.end()
    ledger = check_history(postgres_children.url)
    check_across(postgres_children.url, ledger, RUNS, [*there, "any"])
    begun = check_notes(workers.notes, ledger)
    print(f"{kind}: {len(begun)} tasks, {sum(begun.values()) - len(begun)} begun again")
