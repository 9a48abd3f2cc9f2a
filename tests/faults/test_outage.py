"""The database is away for a while under load: breakers open, nothing spins or grows, and all of it comes back."""

from __future__ import annotations

import json
import signal
import threading
import time
from collections.abc import Iterator
from statistics import median
from typing import Any

import pytest

from tests.faults.children import Child, Children, eventually
from tests.faults.counted import Bodies
from tests.faults.guarantees import check_history, query
from tests.faults.outcomes import all_completed
from tests.faults.scale import FULL, PATIENCE, scaled
from tests.postgres import OwnServer
from turnout import Runner
from turnout.errors import TurnoutError
from turnout.model.states import RunState
from turnout.runner import EngineSettings

AWAY = scaled(4, 20)
"""Seconds."""
WARM = scaled(3, 20)
"""Seconds of load before it."""
BACK = 30
"""Seconds in which the throughput must be what it was."""
CONNECTIONS = 10 + 2 + 1 + 1
"""The pool, the lanes, the lease and the listener."""
SHORT = EngineSettings(heartbeat=0.5, self_fence=2.0, lease=3.0, sweep=0.2)
"""A session that could not be ended is over soon."""


class Reports:
    """What a loaded child says of itself, four times a second."""

    def __init__(self, child: Child) -> None:
        self._child = child

    def all(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self._child.said("report")]

    def since(self, moment: float) -> list[dict[str, Any]]:
        return [each for each in self.all() if each["at"] >= moment]

    def throughput(self, begin: float, end: float) -> float:
        """Runs a second between two moments."""
        some = [each for each in self.since(begin) if each["at"] <= end]
        return (some[-1]["done"] - some[0]["done"]) / (some[-1]["at"] - some[0]["at"]) if len(some) > 1 else 0.0


def test_an_outage_under_load_costs_its_own_time_and_nothing_else(
    restarted_children: Children, restarted_server: OwnServer
) -> None:
    child = restarted_children.start("load", window=200, threads=8)
    child.wait_for("ready")
    reports = Reports(child)
    eventually("it is under way", lambda: any(each["done"] for each in reports.all()))
    time.sleep(WARM)
    stopped = time.monotonic()
    restarted_server.stop()
    away = time.monotonic()
    lines = child.log.read_bytes().count(b"\n")
    eventually("the breakers open", lambda: any(is_broken(each) for each in reports.since(away)))
    eventually("submissions are refused", lambda: any(each["refused"] for each in reports.since(away)))
    time.sleep(max(0.0, AWAY - (time.monotonic() - away)))
    meanwhile = reports.since(away)
    lines = child.log.read_bytes().count(b"\n") - lines
    restarted_server.start()
    back = time.monotonic()

    eventually("it is healthy again", lambda: any(is_well(each) for each in reports.since(back)))
    done = reports.all()[-1]["done"]
    eventually("runs go on", lambda: reports.all()[-1]["done"] > done + 60)
    if FULL:
        time.sleep(max(0.0, BACK - (time.monotonic() - back)))
    links = query(restarted_children.url, "select count(*) from pg_stat_activity where application_name = 'turnout'")
    assert links[0][0] <= CONNECTIONS
    child.signal(signal.SIGUSR2)
    finished = child.finished()
    assert set(finished["last"]) == {"completed"}
    all_completed(restarted_children.url, restarted_children.executions, finished["runs"])
    assert "cannot be reached" in child.said("refused")[0]

    figures = measured(reports, meanwhile, stopped, back, lines)
    print(json.dumps(figures | {"connections": links[0][0]}))
    if FULL:
        assert figures["cpu share while away"] < 0.2
        assert figures["memory growth while away, MB"] < 16
        assert figures["log lines a second while away"] < 5
        assert figures["slowest refusal, s"] < 5
        assert figures["best 5 s after / before"] >= 0.9


def is_broken(report: dict[str, Any]) -> bool:
    return report["outage"] and report["condition"] == "unhealthy" and "open" in report["breakers"].values()


def is_well(report: dict[str, Any]) -> bool:
    return report["condition"] == "healthy" and set(report["breakers"].values()) == {"closed"}


def measured(
    reports: Reports, meanwhile: list[dict[str, Any]], stopped: float, back: float, lines: int
) -> dict[str, float]:
    # The first seconds are those in which the last batches end.
    still = [each for each in meanwhile if each["at"] - meanwhile[0]["at"] > 2.0] or meanwhile
    first, last = still[0], still[-1]
    windows = [reports.throughput(moment, moment + 5) for moment in steps(stopped - WARM, stopped - 5)]
    before = median(windows) if windows else reports.throughput(0, stopped)
    after = [reports.throughput(moment, moment + 5) for moment in steps(back, back + BACK - 5)]
    there = [back + n for n, rate in enumerate(after) if rate >= 0.9 * before]
    return {
        "seconds away": round(back - meanwhile[0]["at"], 1),
        "cpu share while away": round((last["cpu"] - first["cpu"]) / max(last["at"] - first["at"], 0.001), 3),
        "memory growth while away, MB": round((last["memory"] - first["memory"]) / 1e6, 2),
        "log lines a second while away": round(lines / max(last["at"] - meanwhile[0]["at"], 0.001), 2),
        "slowest refusal, s": round(last["slowest_refusal"], 2),
        "runs a second before": round(before, 1),
        "best 5 s after / before": round(max(after) / before, 2) if before else 0.0,
        "90 % reached after, s": round(there[0] - back, 1) if there else -1.0,
    }


def steps(begin: float, end: float) -> Iterator[float]:
    while begin <= end:
        yield begin
        begin += 1.0


@pytest.fixture
def bodies() -> Bodies:
    return Bodies()


def test_a_runner_can_be_closed_while_the_database_is_away_and_everybody_is_answered(
    restarted_server: OwnServer, bodies: Bodies
) -> None:
    answers: list[BaseException] = []

    def submit(runner: Runner) -> None:
        try:
            while True:
                runner.submit(bodies.workflow, "more")
        except TurnoutError as error:
            answers.append(error)

    with restarted_server.database(empty=True) as url:
        runner = Runner(url, workflows=[bodies.workflow], settings=SHORT, handle_sigterm=False)
        bodies.gate.clear()
        handles = [runner.submit(bodies.workflow, f"r{number}") for number in range(4)]
        eventually("bodies run", lambda: bodies.ran)
        submitters = [threading.Thread(target=submit, args=(runner,), daemon=True) for _ in range(4)]
        for submitter in submitters:
            submitter.start()
        restarted_server.stop()
        bodies.gate.set()
        runner.close(timeout=1.0)
        for submitter in submitters:
            submitter.join(PATIENCE)
        assert len(answers) == len(submitters), "a submission was never answered"
        restarted_server.start()
        bodies.ran.clear()
        with Runner(url, workflows=[bodies.workflow], settings=SHORT, handle_sigterm=False) as again:
            assert {again.get(handle.id).wait(PATIENCE) for handle in handles} == {RunState.COMPLETED}
            stored = [run.id for run in again.list(limit=100_000)]
            assert {again.get(run_id).wait(PATIENCE) for run_id in stored} == {RunState.COMPLETED}
        check_history(url)


def test_submissions_to_an_idle_orchestrator_fail_soon_and_a_key_finds_out_what_became_of_them(
    restarted_server: OwnServer, bodies: Bodies
) -> None:
    with (
        restarted_server.database(empty=True) as url,
        Runner(url, workflows=[bodies.workflow], handle_sigterm=False) as runner,
    ):
        runner.run(bodies.workflow, "warm")
        restarted_server.stop()
        with pytest.raises(TurnoutError, match="cannot be reached") as caught:
            runner.submit_with(bodies.workflow, key="one", input={"key": "one"})
        assert caught.value.code == "store_unreachable"
        with pytest.raises(TurnoutError, match="cannot be reached"):
            runner.submit_with(bodies.workflow, key="two", input={"key": "two"})
        restarted_server.start()
        for key in ("one", "two"):
            assert submit_again(runner, bodies, key) == key
        bodies.each_ran_once(["warm", "one", "two"])
        check_history(url)


def submit_again(runner: Runner, bodies: Bodies, key: str) -> Any:
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            return runner.submit_with(bodies.workflow, key=key, input={"key": key}).result()
        except TurnoutError:
            assert time.monotonic() < deadline, "it is never accepted"
            time.sleep(0.05)
