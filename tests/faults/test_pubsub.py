"""A publisher of steps and its subscriber lose nothing, whatever is done to either, or to what they say."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import turnout
from tests.faults.children import Executions, eventually
from tests.faults.guarantees import check_history
from tests.faults.pubsub_program import TASKS, chain, expected, recording, settings_of
from tests.faults.scale import PATIENCE, scaled, start_python
from tests.proxies.pubsub import HARMS, PubSubProxy
from turnout import Runner
from turnout.executors.pubsub.executor import ZmqPubSubExecutor
from turnout.executors.pubsub.handler import ZmqPubSubHandler

ROOT = Path(__file__).parents[2]
RUNS = scaled(40, 300)
FAULTS = scaled(5, 40)
MOST = 100
"""Starts of one body that the bounds allow: deliveries of an attempt times attempts that may be lost."""


class Program:
    """``pubsub_program.py``, until it is killed."""

    def __init__(self, mode: str, options: dict[str, Any], log: Path) -> None:
        environment = os.environ | {"PYTHONPATH": f"{Path(turnout.__file__).parents[1]}:{ROOT}"}
        self.log = log
        with log.open("ab") as errors:
            self.process = start_python(
                ["-m", "tests.faults.pubsub_program", mode, json.dumps(options)],
                cwd=ROOT,
                env=environment,
                stdout=subprocess.PIPE,
                stderr=errors,
            )
        assert self.said() == "ready", log.read_text()[-4000:]

    @property
    def pid(self) -> int:
        return self.process.pid

    def said(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def finished(self) -> dict[str, Any]:
        word, _, answer = self.said().partition(" ")
        assert word == "finished", self.log.read_text()[-4000:]
        return json.loads(answer)

    def kill(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.kill()
        self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()


class Place:
    """Endpoints, the file that tells what ran, and the programs of one test."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.executions = Executions(folder / "ran")
        self._started: list[Program] = []

    def options(self, **more: Any) -> dict[str, Any]:
        endpoints = {name: f"ipc://{self.folder}/{name}" for name in ("steps", "results")}
        return {**endpoints, "file": str(self.executions.path), **more}

    def start(self, mode: str, **more: Any) -> Program:
        program = Program(mode, self.options(**more), self.folder / "log")
        self._started.append(program)
        return program

    def end(self) -> None:
        for program in self._started:
            program.kill()


@pytest.fixture
def place() -> Iterator[Place]:
    """The path of a socket has to be short."""
    with tempfile.TemporaryDirectory(prefix="ps") as path:
        found = Place(Path(path))
        yield found
        found.end()


def all_right(url: str, executions: Executions, runs: int = RUNS) -> None:
    """Every run is there once and completed, by a lawful history; every body ran, and none without end."""
    ledger = check_history(url)
    by_key = ledger.by_key()
    assert set(by_key) == {f"r{number}" for number in range(runs)} and len(ledger.runs) == runs
    assert {run.state for run in by_key.values()} == {"completed"}
    started = executions.per_task()
    assert set(started) == {(f"r{number}", task) for number in range(runs) for task in TASKS}
    print(f"{sum(started.values())} starts of {len(started)} bodies, {max(started.values())} at most of one")
    assert max(started.values()) <= MOST


def more_ran(executions: Executions, chance: random.Random) -> None:
    """Wait until some more bodies have begun, or nearly all have."""
    wanted = min(len(executions) + chance.randint(1, RUNS // 4), RUNS * 2)
    eventually("bodies run", lambda: len(executions) >= wanted)
    time.sleep(chance.random() * 0.05)


def run_all(runner: Runner, runs: int = RUNS) -> None:
    handles = [runner.submit_with(chain, f"r{number}", key=f"r{number}") for number in range(runs)]
    for number, handle in enumerate(handles):
        assert handle.result(timeout=PATIENCE) == expected(number)


def test_either_side_killed_again_and_again(place: Place, store_url: str) -> None:
    chance = random.Random(5)
    options = {"url": store_url, "runs": RUNS}
    programs = {"handle": place.start("handle"), "orchestrate": place.start("orchestrate", **options)}
    for _ in range(FAULTS):
        more_ran(place.executions, chance)
        victim = chance.choice(("handle", "handle", "orchestrate"))
        programs[victim].kill()
        programs[victim] = place.start(victim, **(options if victim == "orchestrate" else {}))
    assert programs["orchestrate"].finished()["wrong"] == []
    all_right(store_url, place.executions)


def test_a_handler_that_is_frozen_for_longer_than_its_answers_may_take(place: Place, sqlite_url: str) -> None:
    chance = random.Random(6)
    handler = place.start("handle")
    orchestrator = place.start("orchestrate", url=sqlite_url, runs=RUNS)
    for _ in range(scaled(2, 20)):
        more_ran(place.executions, chance)
        handler.process.send_signal(signal.SIGSTOP)
        time.sleep(1.5)
        handler.process.send_signal(signal.SIGCONT)
    assert orchestrator.finished()["wrong"] == []
    all_right(sqlite_url, place.executions)


def test_messages_that_are_dropped_doubled_delayed_cut_and_spoiled(place: Place, sqlite_url: str) -> None:
    far = {name: f"ipc://{place.folder}/far-{name}" for name in ("steps", "results")}
    near = place.options()
    executor = ZmqPubSubExecutor(settings_of(near))
    body = recording(near["file"], 0.005)
    proxy = PubSubProxy(
        steps=(near["steps"], far["steps"]), results=(far["results"], near["results"]), share=0.4, seed=9
    )
    with (
        Runner(
            sqlite_url, executors={"zmq_pubsub": executor}, workflows=[chain], config=False, handle_sigterm=False
        ) as runner,
        proxy,
        ZmqPubSubHandler(dict.fromkeys(TASKS, body), settings_of({**near, **far})),
    ):
        run_all(runner)
    assert set(proxy.done) == set(HARMS)
    print(
        dict(proxy.done),
        executor.publisher.counts,
        f"{executor.publisher.window.redelivered} steps were published again",
    )
    all_right(sqlite_url, place.executions)


def test_a_slow_subscriber_with_full_queues_loses_nothing_and_runs_nothing_twice(place: Place, sqlite_url: str) -> None:
    handler = place.start("handle", hwm=1, seconds=0.02)
    orchestrator = place.start("orchestrate", url=sqlite_url, runs=RUNS, hwm=8, batch=1, timeout_ms=600_000)
    outcome = orchestrator.finished()
    assert outcome == {"wrong": [], "redelivered": 0}
    all_right(sqlite_url, place.executions)
    assert set(place.executions.per_task().values()) == {1}
    assert {each.pid for each in place.executions.all()} == {handler.pid}


def test_a_second_subscriber_in_the_middle_of_it_is_given_nothing(place: Place, sqlite_url: str) -> None:
    first = place.start("handle")
    orchestrator = place.start("orchestrate", url=sqlite_url, runs=RUNS, timeout_ms=600_000)
    more_ran(place.executions, random.Random(8))
    elsewhere = {"results": f"ipc://{place.folder}/unheard"}
    place.start("handle", **elsewhere)
    assert orchestrator.finished() == {"wrong": [], "redelivered": 0}
    all_right(sqlite_url, place.executions)
    assert {each.pid for each in place.executions.all()} == {first.pid}
    assert set(place.executions.per_task().values()) == {1}


def test_a_subscriber_that_was_refused_does_the_rest_when_the_first_is_killed(place: Place, sqlite_url: str) -> None:
    """The executor binds the results, so that it would hear both."""
    options = place.options(timeout_ms=600_000, bind_results=True)
    executor = ZmqPubSubExecutor(settings_of(options))
    with Runner(
        sqlite_url, executors={"zmq_pubsub": executor}, workflows=[chain], config=False, handle_sigterm=False
    ) as runner:
        first = place.start("handle", bind_results=True)
        assert runner.submit_with(chain, "r0", key="r0").result(timeout=PATIENCE) == expected(0)
        second = place.start("handle", bind_results=True)
        eventually("it is refused", lambda: executor.publisher.subscribers.refused)
        handles = [runner.submit_with(chain, f"r{number}", key=f"r{number}") for number in range(RUNS)]
        more_ran(place.executions, random.Random(10))
        first.kill()
        for number, handle in enumerate(handles):
            assert handle.result(timeout=PATIENCE) == expected(number)
    all_right(sqlite_url, place.executions)
    assert {each.pid for each in place.executions.all()} <= {first.pid, second.pid}
