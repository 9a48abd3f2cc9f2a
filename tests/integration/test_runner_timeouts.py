"""Time limits of tasks: sync bodies are asked to stop, async ones are cancelled."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from turnout import TaskInfo, task, workflow
from turnout.errors import RunFailed
from turnout.executors.thread import ThreadExecutor

pytestmark = pytest.mark.timeout(60)


def test_a_sync_body_that_exceeds_its_timeout_fails_and_is_asked_to_stop(runner):
    noticed = threading.Event()

    @task(timeout=0.1)
    def endless(info: TaskInfo) -> None:
        while not info.cancelled:
            noticed.wait(0.005)
        noticed.set()

    @workflow
    def bounded() -> None:
        endless()

    with pytest.raises(RunFailed) as caught:
        runner.run(bounded)
    [failure] = caught.value.fields["failures"]
    assert (failure.task, failure.type) == ("endless", "TimeoutError")
    assert "0.1 s" in failure.message
    assert noticed.wait(20)


def test_an_async_body_that_exceeds_its_timeout_is_cancelled(runner):
    cancelled = threading.Event()

    @task(timeout="100ms")
    async def endless() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    @workflow
    def bounded() -> None:
        endless()

    with pytest.raises(RunFailed, match="TimeoutError"):
        runner.run(bounded)
    assert cancelled.wait(20)


def test_a_timeout_is_a_failure_that_may_be_tried_again(sqlite_runner):
    @task(timeout=0.1, retries=1)
    async def slow_at_first(info: TaskInfo) -> int:
        if info.attempt == 1:
            await asyncio.Event().wait()
        return info.attempt

    @workflow
    def bounded() -> int:
        return slow_at_first()

    assert sqlite_runner.run(bounded) == 2


def test_a_body_within_its_timeout_is_left_alone(sqlite_runner):
    @task(timeout="1m")
    def quick() -> int:
        return 1

    @workflow
    def bounded() -> int:
        return quick()

    assert sqlite_runner.run(bounded) == 1


def test_time_spent_waiting_for_a_place_does_not_count(make_runner, make_gate):
    first, second = make_gate(), make_gate()

    @task
    def blocks() -> str:
        first.pass_through()
        return "first"

    @task(timeout=0.15)
    def waits() -> str:
        second.entered.set()
        return "second"

    @workflow
    def queueing() -> Any:
        return [blocks(), waits()]

    runner = make_runner(executors={"default": ThreadExecutor(threads=1, max_backlog=8)})
    run = runner.submit(queueing)
    assert first.reached()
    assert not second.entered.wait(0.3), "there is one thread, and it is taken"
    first.open()
    assert run.result(20) == ["first", "second"]


def test_a_thread_that_is_still_taken_after_a_timeout_serves_again_when_its_body_returns(make_runner, gate):
    @task(timeout=0.1)
    def deaf() -> None:
        gate.pass_through()

    @task
    def quick() -> int:
        return 1

    @workflow
    def blocking() -> None:
        deaf()

    @workflow
    def waiting() -> int:
        return quick()

    runner = make_runner(executors={"default": ThreadExecutor(threads=1, max_backlog=0)})
    with pytest.raises(RunFailed, match="TimeoutError"):
        runner.run(blocking)
    run = runner.submit(waiting)
    assert run.tasks()[0].state == "ready"
    assert run.tasks()[0].reason == "no_capacity"
    gate.open()
    assert run.result(20) == 1
