"""Polling mode: tasks are claimed from the database by pollers in this or any other process."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from turnout import RoutingConfig, RoutingRule, Runner, TaskInfo, task, workflow
from turnout.errors import RunCancelled, RunFailed, WaitTimedOut
from turnout.executors.thread import ThreadExecutor
from turnout.model.states import RunState, TaskState
from turnout.runner import EngineSettings, Poller

pytestmark = pytest.mark.timeout(60)

PROGRAM = Path(__file__).with_name("polled_flow.py")


@pytest.fixture
def poll(store_url: str, make_runner: Callable[..., Runner]) -> Iterator[Callable[..., Poller]]:
    """Starts pollers of this test's database in this process; they end before its Runners."""
    with ExitStack() as stack:

        def start(*workflows: Any, **options: Any) -> Poller:
            poller = Poller(store_url, workflows=workflows, **options)
            stack.callback(poller.close, 1.0)
            return poller

        yield start


@pytest.fixture
def poll_elsewhere(store_url: str, make_runner: Callable[..., Runner]) -> Iterator[Callable[[str], int]]:
    """Starts a poller in another process; gives its process id."""
    with ExitStack() as stack:

        def start(key: str) -> int:
            process = stack.enter_context(
                subprocess.Popen(
                    [sys.executable, str(PROGRAM), store_url, key],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    text=True,
                )
            )
            assert process.stdin is not None and process.stdout is not None
            stack.callback(process.stdin.close)
            assert process.stdout.readline() == "polling\n"
            return process.pid

        yield start


@pytest.fixture(scope="module")
def program() -> Any:
    spec = importlib.util.spec_from_file_location("polled_flow", PROGRAM)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@task
def double(number: int) -> int:
    return 2 * number


@task(retries=1)
def unsteady(number: int, info: TaskInfo) -> int:
    if info.attempt == 1:
        raise ValueError("again")
    return number


@workflow
def steps(number: int) -> int:
    return double(unsteady(double(number)))


def test_without_a_dispatcher_tasks_wait_for_a_poller(make_runner, poll):
    runner = make_runner(dispatcher=None)
    run = runner.submit(steps, 3)
    with pytest.raises(WaitTimedOut):
        run.wait(0.2)
    first = run.tasks()[0]
    assert (first.state, first.reason, first.executor) == (TaskState.READY, "waiting_for_poller", "polling")
    assert first.decision == "polling mode: there is no dispatcher"
    poll(steps)
    assert run.result(20) == 12
    assert [each.attempt for each in run.tasks()] == [1, 2, 1]


def test_a_poller_in_this_process_works_through_many_runs(make_runner, poll):
    runner = make_runner(dispatcher=None)
    poll(steps)
    runs = runner.submit_many(steps, [{"number": number} for number in range(30)])
    assert [run.result(20) for run in runs] == [4 * number for number in range(30)]


def test_a_poller_in_another_process_runs_the_bodies_there(make_runner, poll_elsewhere, program):
    runner = make_runner(dispatcher=None)
    pid = poll_elsewhere("polling")
    found = runner.run(program.polled, 5)
    assert found == {"pid": [pid, pid], "number": [5, 13], "attempt": [1, 2]}
    assert pid != os.getpid()


def test_a_rule_leaves_some_tasks_to_pollers_and_the_rest_runs_here(make_runner, poll_elsewhere, program):
    runner = make_runner(
        polling=("batch",),
        routing=RoutingConfig("default").with_rule(RoutingRule("**::polled::where*", "batch")),
    )
    pid = poll_elsewhere("batch")
    run = runner.submit(program.polled, 1)
    assert run.result(20)["pid"] == [pid, pid]
    assert {each.name: each.executor for each in run.tasks()} == {
        "where": "batch",
        "where-2": "batch",
        "collect": "default",
    }
    assert run.tasks()[0].decision == 'rule 1 "**::polled::where*" → batch'


def test_pollers_share_the_work_and_each_body_runs_once(make_runner, poll):
    calls: list[int] = []

    @task
    def note(number: int) -> int:
        calls.append(number)
        return number

    @workflow
    def noted(number: int) -> int:
        return note(number)

    runner = make_runner(dispatcher=None)
    pollers = [poll(noted, executor=ThreadExecutor(threads=2, max_backlog=0, name="p")) for _ in range(3)]
    runs = runner.submit_many(noted, [{"number": number} for number in range(100)])
    assert [run.result(20) for run in runs] == list(range(100))
    assert sorted(calls) == list(range(100))
    assert sum(poller.metrics().total_executed for poller in pollers) == 100


def test_a_poller_takes_only_its_own_keys(make_runner, poll):
    runner = make_runner(dispatcher=None)
    poll(steps, keys=("another",))
    run = runner.submit(steps, 1)
    with pytest.raises(WaitTimedOut):
        run.wait(0.3)
    assert run.tasks()[0].state is TaskState.READY


def test_failures_come_back_through_the_inbox_with_their_text(make_runner, poll):
    @task(retries=1)
    def breaks() -> None:
        raise ValueError("broken over there")

    @workflow
    def failing() -> None:
        breaks()

    runner = make_runner(dispatcher=None)
    poll(failing)
    with pytest.raises(RunFailed, match="broken over there") as caught:
        runner.run(failing)
    [failure] = caught.value.fields["failures"]
    assert failure.attempts == 2 and "raise ValueError" in failure.traceback


def test_a_poller_without_the_code_hands_the_task_back_and_one_with_it_takes_it(make_runner, poll, until):
    runner = make_runner(dispatcher=None)
    without = poll()
    run = runner.submit(steps, 2)
    until(lambda: any("code_missing" in (row.detail or "") for _, row in run.history()))
    without.close(1.0)
    poll(steps)
    assert run.result(20) == 8


def test_a_run_in_polling_mode_is_cancelled_while_a_poller_has_its_task(make_runner, poll, gate):
    @task
    def held() -> None:
        gate.pass_through()

    @workflow
    def holding() -> None:
        held()

    runner = make_runner(dispatcher=None)
    poll(holding)
    run = runner.submit(holding)
    assert gate.reached()
    run.cancel()
    with pytest.raises(RunCancelled):
        run.result(20)


def test_a_paused_run_is_not_polled(make_runner, poll, gate, until):
    @task
    def held() -> int:
        gate.pass_through()
        return 1

    @workflow
    def holding() -> int:
        return double(held())

    runner = make_runner(dispatcher=None)
    poll(holding)
    run = runner.submit(holding)
    assert gate.reached()
    run.pause()
    gate.open()
    until(lambda: run.tasks()[0].state is TaskState.COMPLETED)
    with pytest.raises(WaitTimedOut):
        run.wait(0.3)
    assert run.tasks()[1].attempt == 0
    run.resume()
    assert run.result(20) == 2


def test_a_task_whose_poller_has_left_is_taken_by_another(make_runner, poll, gate):
    pids = threading.Semaphore(0)
    attempts: list[int] = []

    @task
    def held(info: TaskInfo) -> int:
        attempts.append(info.attempt)
        pids.release()
        if info.attempt == 1:
            gate.pass_through()
        return info.attempt

    @workflow
    def holding() -> int:
        return held()

    runner = make_runner(dispatcher=None, settings=EngineSettings(sweep=0.3, stop_grace=1.0))
    leaving = poll(holding)
    run = runner.submit(holding)
    assert gate.reached()
    leaving.close(0.1)
    poll(holding, poll=0.2)
    assert run.result(20) == 2
    assert attempts == [1, 2]
    assert run.status().state is RunState.COMPLETED


def test_the_retry_delay_holds_for_pollers_too(make_runner, poll):
    @task(retries=1, retry_delay=0.3)
    def slow(info: TaskInfo) -> int:
        if info.attempt == 1:
            raise ValueError("again")
        return info.attempt

    @workflow
    def patient() -> int:
        return slow()

    runner = make_runner(dispatcher=None)
    poll(patient, poll=0.1)
    run = runner.submit(patient)
    assert run.result(20) == 2
    moves = [(at, row.new) for at, row in run.history() if row.pos == 0]
    [waited_from] = [at for at, new in moves if new == "ready"][1:]
    [started] = [at for at, new in moves if new == "running"][1:]
    assert started - waited_from >= 0.29
