"""What every executor promises a workflow, by a rule alone: threads, processes, ZeroMQ workers, Dask and Ray."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import executor_flows as flows
from tests.kit.sites import ROOT, SITES, Site, is_gone, runner_at, runner_of
from tests.kit.waiting import until
from turnout import Runner
from turnout.errors import RunFailed
from turnout.model.reasons import CLUSTER_UNAVAILABLE
from turnout.model.states import RunState
from turnout.runner.runner import RunHandle

WAIT = 120.0
"""Seconds after which a run that should end has failed the test; never a time that a passing test takes."""
LARGE = 900_000


@pytest.fixture(scope="module", params=list(SITES))
def site(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    kind = SITES[request.param]
    if (missing := kind.missing()) is not None:
        print(missing)
        pytest.skip(missing)
    site = kind(tmp_path_factory.mktemp(request.param))
    try:
        site.start()
        yield site
    finally:
        site.close()


@pytest.fixture(scope="module")
def name(request: pytest.FixtureRequest, site: Site) -> str:
    return next(name for name, kind in SITES.items() if type(site) is kind)


@pytest.fixture(scope="module")
def runner(site: Site, name: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runner]:
    url = f"sqlite:///{tmp_path_factory.mktemp('database')}/runs.db"
    with runner_at(name, url, site.address) as runner:
        yield runner


class Held:
    """A body that notes that it has begun, and waits."""

    def __init__(self, folder: Path) -> None:
        self.path, self.go = folder / "notes", folder / "go"
        self.path.touch()

    @property
    def arguments(self) -> dict[str, str]:
        return {"path": str(self.path), "go": str(self.go)}

    def pids(self, what: str = "begun") -> list[int]:
        return [int(line.split()[1]) for line in self.path.read_text().splitlines() if line.startswith(what)]

    def first(self) -> int:
        return until(self.pids, "the body has not begun")[0]

    def release(self) -> None:
        self.go.touch()


@pytest.fixture
def held(tmp_path: Path) -> Held:
    return Held(tmp_path)


def test_a_run_completes_with_its_value_its_lines_and_where_it_ran(runner: Runner, site: Site) -> None:
    run = runner.submit(flows.success, "Ada")
    assert run.result(WAIT) == 6.0
    assert run.task("greet").output == {"name": "Ada", "attempt": 1, "task": "greet"}
    lines = [line.text for line in run.logs("greet") if line.stream == "stdout"]
    assert lines == ["hello Ada 0", "hello Ada 1", "hello Ada 2"]
    assert any("greeted Ada" in line.text for line in run.logs("greet") if line.stream == "log")
    assert {each.executor for each in run.attempts()} == {site.key}
    assert outcomes(run) == ["completed"] * 2


def test_a_body_in_context_style_gets_and_changes_its_context(runner: Runner) -> None:
    run = runner.submit(flows.contextual, name="Ada")
    assert run.wait(WAIT) is RunState.COMPLETED
    assert run.task("gather").output == {"name": "Ada", "seen": ["name"]}


def test_an_exception_fails_the_run_with_its_type_and_traceback(runner: Runner) -> None:
    run = runner.submit(flows.failure, 17)
    with pytest.raises(RunFailed, match="order 17 is unknown"):
        run.result(WAIT)
    attempt = run.attempts()[-1]
    assert outcomes(run) == ["failed"]
    assert (attempt.outcome, attempt.error_type) == ("failed", "NoSuchOrder")
    assert 'raise NoSuchOrder(f"order {order} is unknown")' in (attempt.traceback or "")
    assert "executor_flows.py" in (attempt.traceback or "")


def test_a_failure_is_retried_by_the_predicate_of_its_task(runner: Runner) -> None:
    run = runner.submit(flows.retried)
    assert run.result(WAIT) == 3
    assert outcomes(run) == ["retry", "retry", "completed"]


def test_a_body_that_is_out_of_time_is_ended(runner: Runner, site: Site, held: Held) -> None:
    run = runner.submit(flows.late, str(held.path))
    assert run.wait(WAIT) is RunState.FAILED
    assert outcomes(run) == ["timed_out"]
    if site.kills:
        until(lambda: is_gone(held.first()), "the process of the body goes on")


def test_a_cancelled_run_ends_its_body(runner: Runner, site: Site, held: Held) -> None:
    if not site.kills:
        pytest.skip("a thread cannot be ended: its body goes on until it returns")
    run = runner.submit(flows.holding, **held.arguments)
    pid = held.first()
    run.cancel("not needed")
    assert run.wait(WAIT) is RunState.CANCELLED
    until(lambda: is_gone(pid), "the process of the body goes on")
    assert not held.pids("ended")


def test_a_deferred_body_starts_again_with_what_it_saved(runner: Runner) -> None:
    run = runner.submit(flows.deferred)
    assert run.result(WAIT) == [0, 1]


def test_a_large_output_comes_back_and_goes_to_the_next_task(runner: Runner) -> None:
    assert runner.submit(flows.bulky, LARGE).result(WAIT) == LARGE


def test_a_body_that_kills_its_process_crashes_alone(runner: Runner, site: Site) -> None:
    if not site.kills:
        pytest.skip("the process of a thread is the orchestrator itself")
    run = runner.submit(flows.crash)
    assert run.wait(WAIT) is RunState.FAILED
    assert "crashed" in outcomes(run)
    assert runner.submit(flows.success, "Bob").result(WAIT) == 6.0


def test_an_attempt_on_a_lost_node_is_lost_and_not_failed(runner: Runner, site: Site, held: Held) -> None:
    if not site.nodes:
        pytest.skip("its bodies run on the orchestrator's own machine")
    run = runner.submit(flows.holding, **held.arguments)
    site.lose_node(held.first())
    until(lambda: len(held.pids()) == 2, "it has not begun on another node")
    held.release()
    assert run.result(WAIT) == held.pids("ended")[0]
    assert outcomes(run) == ["lost", "completed"]


def test_what_may_begin_once_does_not_begin_again_after_its_node_is_lost(
    runner: Runner, site: Site, held: Held
) -> None:
    if not site.nodes:
        pytest.skip("its bodies run on the orchestrator's own machine")
    run = runner.submit(flows.holding_once, **held.arguments)
    site.lose_node(held.first())
    assert run.wait(WAIT) is RunState.FAILED
    assert outcomes(run) == ["lost"]
    assert len(held.pids()) == 1


def test_a_killed_orchestrator_leaves_its_body_to_the_next_one(
    site: Site, name: str, held: Held, tmp_path: Path
) -> None:
    if not site.outlives:
        pytest.skip("its bodies end with the orchestrator")
    url = f"sqlite:///{tmp_path}/runs.db"
    address = site.address_for("second")
    arguments = (name, url, address, "second", "holding_once", json.dumps([held.arguments]))
    with orchestrator(*arguments) as first:
        run_id = first.stdout.readline().strip()
        pid = held.first()
        first.kill()
    with runner_at(name, url, address, "second") as second:
        run = second.get(run_id)
        assert run.status().state is RunState.RUNNING
        held.release()
        assert run.result(WAIT) == pid
        assert outcomes(run) == ["completed"]
    assert held.pids() == [pid]


def test_a_connection_that_fails_and_comes_back_loses_no_body(
    site: Site, name: str, held: Held, tmp_path: Path
) -> None:
    if not site.supervised:
        pytest.skip("its executor has no connection to a supervisor in a cluster")
    executor = site.options(site.address, "cut")["executors"][name]
    # The lease outlasts the cut on any machine.
    executor = type(executor)(site.address, namespace="cut", heartbeat=1.0, lease=WAIT)
    cut = Cut(executor._backend)
    with runner_of(name, f"sqlite:///{tmp_path}/runs.db", {"executors": {name: executor}}) as runner:
        run = runner.submit(flows.holding_once, **held.arguments)
        pid = held.first()
        cut.begin()
        other = runner.submit(flows.success, "Ada")
        until(lambda: other.task("greet").reason == CLUSTER_UNAVAILABLE, "the task waits for another reason")
        cut.end()
        assert other.result(WAIT) == 6.0
        assert outcomes(run) == [None], "the attempt did not go on"
        held.release()
        assert run.result(WAIT) == pid
        assert outcomes(run) == ["completed"]
    assert held.pids() == [pid]


class Cut:
    """The connection of an executor to its supervisor, which the test can cut: every call fails then."""

    def __init__(self, backend: Any) -> None:
        self._is_cut = threading.Event()
        self._exchange, self._open = backend.exchange, backend.open
        backend.exchange, backend.open = self.exchange, self.open
        self.failed = threading.Event()

    def begin(self) -> None:
        self._is_cut.set()
        assert self.failed.wait(WAIT), "no call was made"

    def end(self) -> None:
        self._is_cut.clear()

    async def open(self) -> None:
        self._check()
        await self._open()

    async def exchange(self, *arguments: Any) -> Any:
        self._check()
        reply = await self._exchange(*arguments)
        self._check()
        return reply

    def _check(self) -> None:
        if self._is_cut.is_set():
            self.failed.set()
            raise ConnectionError("the test has cut the connection")


def outcomes(run: RunHandle[Any]) -> list[str | None]:
    """Returns how the attempts ended that began. On a busy machine one may be returned, since it would begin late."""
    return [each.outcome for each in run.attempts() if each.outcome != "returned"]


def orchestrator(*arguments: str) -> Any:
    return subprocess.Popen(
        [sys.executable, "-m", "tests.kit.site_orchestrator", *arguments],
        cwd=ROOT,
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
