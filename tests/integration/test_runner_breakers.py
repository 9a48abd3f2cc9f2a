"""An executor that breaks and comes back: its tasks wait and say so, nothing is lost, and others are not held up."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from turnout import RoutingConfig, RoutingRule, Runner, task, workflow
from turnout.dispatcher import (
    BreakerSettings,
    ExecutionResult,
    ExecutorMetrics,
    ExecutorUnavailable,
    Loader,
    TaskReadyEvent,
)
from turnout.model.info import info_of
from turnout.model.states import RunState, TaskState
from turnout.runner import EngineSettings
from turnout.runner.config import read_config

pytestmark = pytest.mark.timeout(60)

TO_CLUSTER = RoutingConfig("default").with_rule(RoutingRule("**::there", "cluster"))


class Cluster:
    """An executor that fails as long as there is an ``error``, and ends as many attempts as the test lets it."""

    local = True
    kinds = frozenset({"python"})
    name = "cluster"

    def __init__(self, error: Exception | None, capacity: int = 3) -> None:
        self.error = error
        self.capacity = capacity
        self.came = threading.Event()
        self.ends = threading.Semaphore(10_000)
        self.asked = self.failed = self.running = self.most = 0

    def bind(self, loader: Loader) -> None:
        self._loader = loader

    def has_capacity(self) -> bool:
        return self.running < self.capacity

    def metrics(self) -> ExecutorMetrics:
        return ExecutorMetrics(total_executed=self.asked)

    async def execute(self, event: TaskReadyEvent) -> ExecutionResult:
        self.asked += 1
        self.running += 1
        self.most = max(self.most, self.running)
        self.came.set()
        try:
            await asyncio.to_thread(self.ends.acquire, timeout=20)
            error = self.error
            if error is not None:
                self.failed += 1
                raise error
            work = await self._loader.load(event)
            info = info_of(event, idempotency_key=work.idempotency_key, token=work.token)
            return ExecutionResult.success(event, work.invoke(info))
        finally:
            self.running -= 1


@task(name="there")
def there() -> str:
    return "there"


@task(name="there", retries=30, retry_delay=0.01)
def patient() -> str:
    return "there"


@task
def here() -> str:
    return "here"


@workflow(name="both")
def both() -> Any:
    return [there(), here()]


@workflow(name="stubborn")
def stubborn() -> Any:
    return patient()


def settings(**breaker: Any) -> EngineSettings:
    return EngineSettings(stop_grace=1.0, executor_breaker=BreakerSettings(**breaker))


def runs_show(run_id: str, url: str) -> str:
    command = [sys.executable, "-m", "turnout", "runs", "show", run_id, "--database", url]
    return subprocess.run(command, capture_output=True, text=True, timeout=50, check=True).stdout


def state(runner: Runner) -> str:
    return runner._core.engine.status.read().executors["cluster"].breaker


def test_tasks_of_a_broken_executor_wait_for_it_without_cost_and_go_on_when_it_works_again(
    make_runner: Any, until: Any, query: Any, store_url: str
) -> None:
    cluster = Cluster(ExecutorUnavailable("no cluster"))
    runner = make_runner(
        executors={"cluster": cluster}, routing=TO_CLUSTER, settings=settings(threshold=2, recovery=1.0, longest=1.0)
    )
    runs = runner.submit_many(both, [{}] * 12)
    waiting = [("breaker_open", TaskState.READY)]

    def all_wait() -> bool:
        tasks = [run.tasks() for run in runs]
        return all([(each[0].reason, each[0].state)] == waiting and each[1].state == "completed" for each in tasks)

    until(all_wait, "all of them wait for the breaker")
    assert state(runner) in ("open", "half_open")
    until(lambda: "breaker_open" in runs_show(runs[-1].id, store_url))
    cluster.error = None
    assert [run.result(20) for run in runs] == [["there", "here"]] * 12
    until(lambda: state(runner) == "closed")
    assert query(store_url, "select sum(failures), sum(crashes), sum(losses) from task") == [(0, 0, 0)]
    assert cluster.most <= cluster.capacity


def test_an_executor_that_raises_costs_only_the_attempts_that_it_got(
    make_runner: Any, until: Any, query: Any, store_url: str
) -> None:
    cluster = Cluster(ConnectionError("no answer"))
    runner = make_runner(
        executors={"cluster": cluster}, routing=TO_CLUSTER, settings=settings(threshold=3, recovery=0.1, longest=0.1)
    )
    runs = runner.submit_many(stubborn, [{}] * 20)
    until(lambda: any(run.tasks()[0].reason == "breaker_open" for run in runs))
    cluster.error = None
    assert [run.result(20) for run in runs] == ["there"] * 20
    assert query(store_url, "select sum(failures) from task") == [(cluster.failed,)]
    # Every attempt that the breaker let through is in the books, and nothing came out of it that did not go in.
    assert query(store_url, "select count(*) from task where state = 'completed'") == [(20,)]


def test_tasks_that_waited_for_room_say_so_when_the_breaker_opens_and_when_it_has_closed(
    make_runner: Any, until: Any
) -> None:
    cluster = Cluster(ExecutorUnavailable("no cluster"), capacity=1)
    cluster.ends = threading.Semaphore(0)
    runner = make_runner(
        executors={"cluster": cluster}, routing=TO_CLUSTER, settings=settings(threshold=1, recovery=0.5)
    )
    runs = runner.submit_many(stubborn, [{}] * 6)

    def reasons() -> list[str]:
        return sorted(str(run.tasks()[0].reason) for run in runs)

    assert cluster.came.wait(20)
    until(lambda: reasons() == ["None", *["no_capacity"] * 5])
    cluster.came.clear()
    cluster.ends.release()
    # The sixth may be a probe that is under way already.
    until(lambda: reasons().count("breaker_open") >= 5)
    cluster.error = None
    assert cluster.came.wait(20)
    cluster.ends.release()
    until(lambda: reasons() == [*["None"] * 2, *["no_capacity"] * 4], "one has completed, one runs")
    cluster.ends.release(5)
    assert [run.result(20) for run in runs] == ["there"] * 6


def test_without_a_breaker_a_broken_executor_is_offered_everything_again_and_again(
    make_sqlite_runner: Any, until: Any
) -> None:
    cluster = Cluster(ExecutorUnavailable("no cluster"))
    runner = make_sqlite_runner(
        executors={"cluster": cluster},
        routing=TO_CLUSTER,
        settings=EngineSettings(stop_grace=1.0, executor_breaker=None),
    )
    run = runner.submit(both)
    until(lambda: cluster.failed > 2)
    assert state(runner) == "closed"
    cluster.error = None
    assert run.result(20) == ["there", "here"]


def test_a_run_that_waits_for_a_breaker_can_be_cancelled(make_runner: Any, until: Any) -> None:
    cluster = Cluster(ExecutorUnavailable("no cluster"))
    runner = make_runner(
        executors={"cluster": cluster},
        routing=TO_CLUSTER,
        settings=settings(threshold=1, recovery=600.0, longest=600.0),
    )
    run = runner.submit(stubborn)
    until(lambda: run.tasks()[0].reason == "breaker_open")
    run.cancel()
    until(lambda: run.tasks()[0].state is TaskState.CANCELLED)
    again = runner.submit(stubborn)
    # Ready from the start, and with its reason in the commit that stores it.
    assert (again.tasks()[0].state, again.tasks()[0].reason) == (TaskState.READY, "breaker_open")


def test_bodies_that_fail_open_nothing(make_sqlite_runner: Any) -> None:
    @task(name="there")
    def fails() -> None:
        raise ValueError("the body's own")

    @workflow
    def failing() -> Any:
        return fails()

    cluster = Cluster(None)
    runner = make_sqlite_runner(executors={"cluster": cluster}, routing=TO_CLUSTER, settings=settings(threshold=1))
    for run in runner.submit_many(failing, [{}] * 5):
        # The body's exception comes out of ``execute`` here, by way of ``work.invoke``.
        assert run.wait(20) is RunState.FAILED
        assert run.tasks()[0].error.type == "ValueError"
    assert state(runner) == "closed"


def test_a_configuration_says_how_breakers_are_set(make_sqlite_runner: Any, until: Any, tmp_path: Path) -> None:
    file = tmp_path / "turnout.toml"
    file.write_text('[orchestration.executor_breaker]\nthreshold = 0\nrecovery = "2s"\n')
    breaker = read_config(tmp_path, {"TURNOUT_CONFIG": str(file)}).orchestration
    assert breaker is not None
    assert breaker.executor_breaker == BreakerSettings(threshold=0, recovery=2.0)
    cluster = Cluster(ExecutorUnavailable("no cluster"))
    runner = make_sqlite_runner(executors={"cluster": cluster}, routing=TO_CLUSTER, settings=breaker)
    run = runner.submit(both)
    until(lambda: cluster.failed > 5)
    assert state(runner) == "closed"
    run.cancel()
