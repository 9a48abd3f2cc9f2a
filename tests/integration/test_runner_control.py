"""Cancel, pause, resume and run timeouts: from any state, by any Runner on the database."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

from turnout import Runner, TaskInfo, task, workflow
from turnout.errors import RunCancelled, RunNotFound, RunTimedOut, WaitTimedOut
from turnout.model.states import RunState, TaskState
from turnout.runner import EngineSettings

pytestmark = pytest.mark.timeout(60)

UNKNOWN = "00000000-0000-7000-8000-000000000000"


class Held:
    """A workflow of two tasks whose first one waits at a gate."""

    def __init__(self, gate: Any) -> None:
        self.started: list[str] = []

        @task
        def first(info: TaskInfo) -> int:
            self.started.append("first")
            gate.pass_through()
            return 1

        @task
        def second(number: int) -> int:
            self.started.append("second")
            return number + 1

        @workflow
        def held() -> int:
            return second(first())

        self.workflow = held


@pytest.fixture
def held(gate: Any) -> Held:
    return Held(gate)


@pytest.fixture(params=["the same Runner", "another Runner"])
def other(request: pytest.FixtureRequest, make_runner: Callable[..., Runner]) -> Callable[[Runner], Runner]:
    """Who gives the order: the Runner that drives the run, or a second one on the same database."""
    return (lambda runner: runner) if request.param == "the same Runner" else (lambda _: make_runner())


def states(run: Any) -> list[str]:
    return [str(each.state) for each in run.tasks()]


# -- cancel ---------------------------------------------------------------------------------------------------------


def test_a_running_run_is_cancelled(runner, other, held, gate):
    run = runner.submit(held.workflow)
    assert gate.reached()
    other(runner).get(run.id).cancel("not needed any more")
    assert run.wait(20) is RunState.CANCELLED
    assert states(run) == ["cancelled", "cancelled"]
    with pytest.raises(RunCancelled, match="not needed any more") as caught:
        run.result(20)
    assert caught.value.code == "run_cancelled" and run.id in str(caught.value)
    assert run.status().reason == "not needed any more"
    gate.open()
    assert held.started == ["first"]


def test_a_cancelled_body_is_asked_to_stop_and_an_async_one_is_cancelled(runner):
    ready = threading.Barrier(3)
    sync_asked, async_asked = threading.Event(), threading.Event()

    @task
    def in_a_thread(info: TaskInfo) -> None:
        ready.wait(20)
        while not info.cancelled:
            sync_asked.wait(0.005)
        sync_asked.set()

    @task
    async def on_a_loop() -> None:
        await asyncio.to_thread(ready.wait, 20)
        try:
            await asyncio.Event().wait()
        finally:
            async_asked.set()

    @workflow
    def endless() -> None:
        in_a_thread()
        on_a_loop()

    run = runner.submit(endless)
    ready.wait(20)
    run.cancel()
    assert run.wait(20) is RunState.CANCELLED
    assert sync_asked.wait(20) and async_asked.wait(20)


def test_a_paused_run_is_cancelled(runner, other, held, gate):
    run = runner.submit(held.workflow)
    assert gate.reached()
    run.pause()
    other(runner).get(run.id).cancel()
    assert run.wait(20) is RunState.CANCELLED


def test_a_pending_run_is_cancelled(make_runner, other, held, gate):
    runner = make_runner(settings=EngineSettings(max_owned_runs=1, stop_grace=1.0))
    first, second = runner.submit(held.workflow), runner.submit(held.workflow)
    assert gate.reached()
    assert second.status().state is RunState.PENDING
    other(runner).get(second.id).cancel()
    assert second.wait(20) is RunState.CANCELLED
    assert states(second) == ["cancelled", "cancelled"]
    gate.open()
    assert first.result(20) == 2
    assert held.started == ["first", "second"]


def test_a_run_that_waits_for_a_retry_is_cancelled(runner, other):
    failed = threading.Event()

    @task(retries=1, retry_delay="1h")
    def fails() -> None:
        failed.set()
        raise ValueError("later")

    @workflow
    def waiting() -> None:
        fails()

    run = runner.submit(waiting)
    assert failed.wait(20)
    other(runner).get(run.id).cancel()
    assert run.wait(20) is RunState.CANCELLED


def test_cancelling_a_run_that_has_ended_changes_nothing(runner, other):
    @task
    def one() -> int:
        return 1

    @workflow
    def short() -> int:
        return one()

    run = runner.submit(short)
    run.wait(20)
    moves = len(run.history())
    for _ in range(2):
        other(runner).get(run.id).cancel()
    assert run.status().state is RunState.COMPLETED
    assert len(run.history()) == moves


def test_a_run_may_be_cancelled_twice(sqlite_runner, held, gate):
    run = sqlite_runner.submit(held.workflow)
    assert gate.reached()
    run.cancel("first")
    run.cancel("second")
    assert run.wait(20) is RunState.CANCELLED
    assert run.status().reason == "first"


def test_an_order_for_an_unknown_run_is_refused(runner, held, gate):
    gate.open()
    run = runner.submit(held.workflow)
    run.id = UNKNOWN
    for order in (run.cancel, run.pause, run.resume):
        with pytest.raises(RunNotFound) as caught:
            order()
        assert caught.value.code == "run_not_found"


# -- pause and resume -----------------------------------------------------------------------------------------------


def test_after_a_pause_nothing_new_starts_until_it_is_resumed(runner, other, held, gate, until):
    run = runner.submit(held.workflow)
    assert gate.reached()
    controller = other(runner).get(run.id)
    controller.pause()
    assert run.status().state is RunState.PAUSED
    gate.open()
    until(lambda: run.tasks()[0].state is TaskState.COMPLETED, "the end of the task that ran")
    with pytest.raises(WaitTimedOut):
        run.wait(0.3)
    assert held.started == ["first"]
    assert states(run) == ["completed", "ready"]
    assert run.status().state is RunState.PAUSED
    controller.resume()
    assert run.result(20) == 2
    assert held.started == ["first", "second"]


def test_a_run_whose_last_task_ended_while_it_was_paused_ends_when_it_is_resumed(runner, gate, until):
    @task
    def last() -> int:
        gate.pass_through()
        return 1

    @workflow
    def short() -> int:
        return last()

    run = runner.submit(short)
    assert gate.reached()
    run.pause()
    gate.open()
    until(lambda: run.tasks()[0].state is TaskState.COMPLETED)
    assert run.status().state is RunState.PAUSED
    run.resume()
    assert run.result(20) == 1


def test_a_retry_that_falls_due_during_a_pause_waits_for_the_end_of_it(runner, until):
    attempts: list[int] = []
    may_fail = threading.Event()

    @task(retries=1, retry_delay=0.05)
    def fails_once(info: TaskInfo) -> int:
        attempts.append(info.attempt)
        if info.attempt == 1:
            assert may_fail.wait(20)
            raise ValueError("again")
        return info.attempt

    @workflow
    def pausing() -> int:
        return fails_once()

    run = runner.submit(pausing)
    run.pause()
    may_fail.set()
    until(lambda: run.tasks()[0].state is TaskState.READY and run.tasks()[0].attempt == 1)
    with pytest.raises(WaitTimedOut):
        run.wait(0.3)
    assert attempts in ([1], [])
    run.resume()
    assert run.result(20) == 2


def test_resuming_a_run_that_is_not_paused_changes_nothing(runner, held, gate):
    run = runner.submit(held.workflow)
    assert gate.reached()
    moves = len(run.history())
    run.resume()
    assert len(run.history()) == moves
    run.pause()
    run.pause()
    run.resume()
    gate.open()
    assert run.result(20) == 2


def test_a_paused_run_stays_paused_in_the_hands_of_another_runner(make_runner, held, gate, until):
    first = make_runner(workflows=[held.workflow])
    second = make_runner(workflows=[held.workflow])
    run = first.submit(held.workflow)
    assert gate.reached()
    run.pause()
    gate.open()
    until(lambda: run.tasks()[0].state is TaskState.COMPLETED)
    first.close()
    again = second.get(run.id)
    with pytest.raises(WaitTimedOut):
        again.wait(0.5)
    assert again.status().state is RunState.PAUSED
    again.resume()
    assert again.result(20) == 2


# -- run timeouts ---------------------------------------------------------------------------------------------------


def test_a_run_that_exceeds_its_timeout_fails_with_run_timed_out(runner, held, gate):
    run = runner.submit_with(held.workflow, timeout=0.2)
    with pytest.raises(RunTimedOut) as caught:
        run.result(20)
    assert caught.value.code == "run_timed_out"
    assert run.id in str(caught.value) and "0.2 s" in str(caught.value)
    assert run.status().state is RunState.FAILED
    assert run.status().reason == "run_timed_out"
    assert states(run) == ["cancelled", "cancelled"]


def test_a_workflow_may_carry_a_timeout_for_all_of_its_runs_and_a_submission_another(runner, gate):
    @task
    def waits() -> int:
        gate.pass_through()
        return 1

    @workflow(timeout="200ms")
    def bounded() -> int:
        return waits()

    with pytest.raises(RunTimedOut):
        runner.run(bounded)
    patient = runner.submit_with(bounded, timeout="1h")
    with pytest.raises(WaitTimedOut):
        patient.wait(0.4)
    gate.open()
    assert patient.result(20) == 1


def test_a_run_that_ends_in_time_is_left_alone(sqlite_runner, held, gate):
    gate.open()
    assert sqlite_runner.submit_with(held.workflow, timeout=30).result(20) == 2


def test_a_paused_run_times_out_too(runner, held, gate):
    run = runner.submit_with(held.workflow, timeout=0.5)
    assert gate.reached()
    run.pause()
    with pytest.raises(RunTimedOut):
        run.result(20)
