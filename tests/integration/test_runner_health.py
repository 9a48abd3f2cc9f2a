"""How all orchestrators on a database are, seen from any process that can read it."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from turnout import AsyncRunner, Runner, task, workflow
from turnout.errors import StoreUnreachable
from turnout.model.health import UNRESPONSIVE, OrchestratorStatus
from turnout.orchestration.stages.stage import Stage
from turnout.runner import EngineSettings, Poller
from turnout.runner.live_sessions import live_orchestrators
from turnout.store import connect

QUICK = EngineSettings(heartbeat=0.05, self_fence=100.0, lease=120.0, stop_grace=1.0)
POOLS = [stage.value for stage in Stage]


@task
def seen_double(number: int) -> int:
    return 2 * number


@workflow
def seen_doubling(number: int) -> int:
    return seen_double(number)


Until = Callable[..., None]
MakeRunner = Callable[..., Runner]


def stored(runner: Runner) -> list[OrchestratorStatus]:
    """What another process would see."""
    return [one.status for one in live_orchestrators(runner.core.store)]


def test_a_runner_says_at_once_how_it_is(runner: Runner) -> None:
    health = runner.health()
    assert health["coordinator"]["running"] is True
    assert list(health) == ["status", "coordinator", "executor_pools", "database", "runs"]
    assert list(health["executor_pools"]) == POOLS
    assert all(pool["healthy"] >= 1 and pool["unhealthy"] == 0 for pool in health["executor_pools"].values())
    assert health["database"]["pool_size"] >= 1
    assert health["runs"] == {"unfinished": 0, "not_driven": 0}


def test_what_it_did_is_in_its_metrics(runner: Runner, until: Until) -> None:
    assert runner.run(seen_doubling, 21) == 42
    session = runner.core.engine.session.id
    # The result is there a moment before those who made it have counted it.
    for line in (
        f'turnout_pool_items_total{{orchestrator="{session}",pool="task_request_processor"}} 1\n',
        f'turnout_task_executor_attempts_total{{orchestrator="{session}",executor="default",outcome="completed"}} 1\n',
    ):
        until(lambda line=line: line in runner.metrics(), line)


def test_the_status_is_stored_with_the_heartbeat_for_others_to_read(make_runner: MakeRunner, until: Until) -> None:
    runner = make_runner(settings=QUICK)
    bystander = make_runner(drives=False)
    until(lambda: set(stored(bystander)[0].pools) == set(POOLS), "the stored status")
    runner.run(seen_doubling, 1)
    until(lambda: stored(bystander)[0].pools["task_request_processor"].items == 1, "the count of items")
    [one] = live_orchestrators(bystander.core.store)
    assert (one.id, one.pid) == (runner.core.engine.session.id, os.getpid())
    assert bystander.health()["executor_pools"]["task_claimer"]["healthy"] == 1
    assert one.id in bystander.metrics()


def test_orchestrators_are_summed_up_and_bystanders_and_pollers_are_none(
    make_runner: MakeRunner, store_url: str, until: Until
) -> None:
    bystander = make_runner(drives=False)
    with Poller(store_url, workflows=()):
        assert bystander.health()["status"] == "down"
        assert bystander.health()["coordinator"] == {"running": False, "uptime_seconds": 0}
        make_runner(settings=QUICK)
        second = make_runner(settings=QUICK)
        until(lambda: [bool(one.pools) for one in stored(bystander)] == [True, True], "two statuses")
        for each in (bystander, second):
            assert each.health()["executor_pools"]["task_claimer"]["healthy"] == 2
        assert "turnout_orchestrators 2\n" in second.metrics()


def test_a_runner_that_is_closed_is_gone(make_runner: MakeRunner, until: Until) -> None:
    bystander = make_runner(drives=False)
    runner = make_runner()
    assert bystander.health()["coordinator"]["running"] is True, "also before its first status"
    runner.close()
    until(lambda: bystander.health()["status"] == "down")


def test_a_stuck_event_loop_keeps_its_lease_and_its_last_status_grows_old(
    make_runner: MakeRunner, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    runner = make_runner(settings=QUICK)
    bystander = make_runner(drives=False)
    until(lambda: stored(bystander)[0].pools, "the stored status")
    let_go = threading.Event()

    async def hold() -> None:
        let_go.wait()

    holding = runner.core.loop.call(hold())
    try:
        until(lambda: stored(bystander)[0].age_seconds > 2.0, "a status that grew old")
        monkeypatch.setattr("turnout.model.health.UNRESPONSIVE", 2.0)
        assert bystander.health()["status"] == "unhealthy"
        [one] = live_orchestrators(bystander.core.store)
        assert "has not moved for" in one.status.troubles[0].why
        assert one.status.pools, "the last that is known of it is still there"
        monkeypatch.setattr("turnout.runner.administration.STATUS_TIMEOUT", 0.01)
        assert runner.health()["status"] == "unhealthy", "it says so of itself as well"
    finally:
        let_go.set()
    holding.result(20.0)
    until(lambda: stored(bystander)[0].age_seconds < UNRESPONSIVE and runner.health()["status"] != "unhealthy")


def test_without_the_database_a_runner_still_says_how_it_is_itself(
    make_runner: MakeRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    runner, bystander = make_runner(), make_runner(drives=False)

    def away() -> Any:
        raise StoreUnreachable("the server is away")

    for each in (runner, bystander):
        monkeypatch.setattr(each.core.store, "session_health", away)
    assert runner.health()["coordinator"]["running"] is True
    with pytest.raises(StoreUnreachable):
        bystander.health()


def test_a_status_that_another_version_wrote_still_counts_as_an_orchestrator(
    make_runner: MakeRunner, store_url: str, until: Until
) -> None:
    runner = make_runner(settings=EngineSettings(heartbeat=100.0, self_fence=200.0, lease=300.0, stop_grace=1.0))
    until(lambda: stored(runner)[0].pools, "the first status")
    store = connect(store_url)
    store.open()
    try:
        store.renew_session(runner.core.engine.session.id, 300.0, health='{"pools": "none of your business"}')
        [one] = live_orchestrators(store)
    finally:
        store.close()
    assert one.status.pools == {} and one.status.condition == "healthy"


def test_an_async_runner_says_the_same(sqlite_url: str) -> None:
    async def whole() -> None:
        async with AsyncRunner(sqlite_url, workflows=(seen_doubling,)) as runner:
            assert (await runner.health())["coordinator"]["running"] is True
            assert "turnout_orchestrators 1\n" in await runner.metrics()

    asyncio.run(whole())


PROGRAM = """
import sys, threading
from turnout import Runner
with Runner(sys.argv[1], workflows=()) as runner:
    print("up", flush=True)
    threading.Event().wait()
"""


def test_an_orchestrator_that_was_killed_on_this_machine_is_down_at_once(store_url: str, tmp_path: Path) -> None:
    process = subprocess.Popen([sys.executable, "-c", PROGRAM, store_url], stdout=subprocess.PIPE, cwd=tmp_path)
    assert process.stdout is not None
    store = connect(store_url)
    try:
        assert process.stdout.readline() == b"up\n"
        store.open()
        assert [one.pid for one in live_orchestrators(store)] == [process.pid]
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert store.live_sessions(), "its lease has not run out"
        assert live_orchestrators(store) == []
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
        store.close()
