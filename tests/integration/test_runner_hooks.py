"""Hooks through whole Runners, on both stores: called once, told the outcome, without a say in it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

import pytest

from turnout import Context, Runner, RunOutcome, TaskInfo, TaskOutcome, Workflow, task, workflow
from turnout.errors import RunCancelled, RunFailed, RunTimedOut
from turnout.model.states import RunState, TaskState
from turnout.runner import Poller

pytestmark = pytest.mark.timeout(60)


class Told:
    """Hooks that write down what they are told."""

    def __init__(self) -> None:
        self.runs: list[tuple[str, RunOutcome]] = []
        self.tasks: list[tuple[str, TaskOutcome]] = []

        @task
        def succeeded(outcome: RunOutcome) -> None:
            self.runs.append(("success", outcome))

        @task
        def failed(outcome: RunOutcome) -> None:
            self.runs.append(("failure", outcome))

        @task
        def ended(outcome: RunOutcome) -> None:
            self.runs.append(("exit", outcome))

        @task
        async def task_ended(outcome: TaskOutcome, info: TaskInfo) -> None:
            self.tasks.append((info.task_name.rpartition("::")[2], outcome))

        self.of_run: dict[str, Any] = {"on_success": succeeded, "on_failure": failed, "on_exit": ended}
        self.task_ended = task_ended

    @property
    def calls(self) -> list[str]:
        return [end for end, _ in self.runs]


@pytest.fixture
def told() -> Told:
    return Told()


def states(run: Any) -> dict[str, str]:
    return {each.name: str(each.state) for each in run.tasks()}


def test_a_workflow_s_hooks_are_told_how_the_run_ended_before_it_is_seen_to_end(runner: Runner, told: Told) -> None:
    @task
    def divide(by: int) -> float:
        return 1 / by

    @workflow(**told.of_run)
    def dividing(by: int) -> float:
        return divide(by)

    assert runner.run(dividing, 2) == 0.5
    assert told.calls == ["success", "exit"]
    told.runs.clear()
    run = runner.submit(dividing, 0)
    with pytest.raises(RunFailed) as caught:
        run.result(20)
    assert told.calls == ["failure", "exit"]
    outcome = told.runs[0][1]
    assert (outcome["run_id"], outcome["status"], outcome["reason"]) == (run.id, "failed", "task_failed:divide")
    assert [(each["task"], each["type"]) for each in outcome["failed"]] == [("divide", "ZeroDivisionError")]
    assert [failure.task for failure in caught.value.fields["failures"]] == ["divide"]
    assert {each.name: each.hook for each in run.tasks()} == {
        "divide": False,
        "on_success.succeeded": True,
        "on_failure.failed": True,
        "on_exit.ended": True,
    }
    assert states(run)["on_success.succeeded"] == "skipped"


def test_a_task_s_hooks_are_called_once_after_its_last_attempt(runner: Runner, told: Told) -> None:
    @task(retries=1, on_success=told.task_ended, on_failure=[told.task_ended], on_exit=told.task_ended)
    def flaky(works: bool, info: TaskInfo) -> dict[str, int]:
        if not works or info.attempt == 1:
            raise ValueError("not yet")
        return {"attempt": info.attempt}

    @workflow
    def trying(works: bool) -> Any:
        return flaky(works)

    assert runner.run(trying, works=True) == {"attempt": 2}
    assert sorted(name for name, _ in told.tasks) == ["flaky.on_exit.task_ended", "flaky.on_success.task_ended"]
    for _, outcome in told.tasks:
        assert (outcome["task"], outcome["state"], outcome["attempts"]) == ("flaky", "completed", 2)
        assert (outcome["output"], outcome["error"]) == ({"attempt": 2}, None)
    told.tasks.clear()
    with pytest.raises(RunFailed):
        runner.run(trying, works=False)
    assert sorted(name for name, _ in told.tasks) == ["flaky.on_exit.task_ended", "flaky.on_failure.task_ended"]
    error = told.tasks[0][1]["error"]
    assert error is not None and (error["type"], error["message"], error["attempts"]) == ("ValueError", "not yet", 2)


def test_a_failing_hook_is_visible_and_changes_nothing(runner: Runner, caplog: pytest.LogCaptureFixture) -> None:
    @task
    def broken() -> None:
        raise OSError("nobody listens")

    @task
    def fine() -> int:
        return 1

    @workflow(on_exit=[broken, broken])
    def noisy() -> int:
        return fine()

    with caplog.at_level(logging.WARNING, logger="turnout"):
        run = runner.submit(noisy)
        assert run.result(20) == 1
    assert states(run) == {"fine": "completed", "on_exit.broken": "failed", "on_exit.broken-2": "failed"}
    said = [record.getMessage() for record in caplog.records if "hook on_exit.broken failed" in record.getMessage()]
    assert said and "OSError: nobody listens" in said[0]


def test_a_cancelled_run_runs_its_exit_hooks_before_it_ends(runner: Runner, told: Told, gate: Any) -> None:
    @task(on_exit=told.task_ended)
    async def long() -> None:
        gate.entered.set()
        await asyncio.sleep(60)

    @workflow(**told.of_run)
    def cancelled() -> None:
        long()

    run = runner.submit(cancelled)
    assert gate.reached()
    run.cancel("enough")
    with pytest.raises(RunCancelled):
        run.result(20)
    assert told.calls == ["exit"]
    assert (told.runs[0][1]["status"], told.runs[0][1]["reason"]) == ("cancelled", "enough")
    assert [(name, outcome["state"]) for name, outcome in told.tasks] == [("long.on_exit.task_ended", "cancelled")]


def test_a_second_cancellation_ends_the_hooks_too(runner: Runner, gate: Any) -> None:
    @task
    def slow_hook(info: TaskInfo) -> None:
        gate.pass_through()

    @task
    def fails() -> None:
        raise ValueError("no")

    @workflow(on_exit=slow_hook)
    def stubborn() -> None:
        fails()

    run = runner.submit(stubborn)
    assert gate.reached()
    run.cancel("enough")
    assert run.status().state is RunState.CANCELLING, "the hook goes on"
    run.cancel("really")
    assert run.wait(20) is RunState.CANCELLED
    assert states(run)["on_exit.slow_hook"] == "cancelled"


def test_a_run_that_times_out_calls_on_failure(runner: Runner, told: Told) -> None:
    @task
    async def long() -> None:
        await asyncio.sleep(60)

    @workflow(timeout="300ms", **told.of_run)
    def late() -> None:
        long()

    with pytest.raises(RunTimedOut):
        runner.run(late)
    assert told.calls == ["failure", "exit"]
    assert told.runs[0][1]["reason"] == "run_timed_out"


def test_a_context_style_workflow_has_hooks_and_its_result_is_not_theirs(sqlite_runner: Runner, told: Told) -> None:
    @task
    def extract(context: Context) -> None:
        context["rows"] = 3

    @task
    def noise() -> dict[str, str]:
        return {"noise": "yes"}

    etl = Workflow("hooked_etl", tasks=[extract], on_success=noise, on_exit=told.of_run["on_exit"])
    assert sqlite_runner.run(etl, {"source": "shop"}) == {"source": "shop", "rows": 3}
    assert told.calls == ["exit"]


def test_pollers_run_hooks_also_those_of_a_cancelled_run(
    make_runner: Callable[..., Runner], store_url: str, told: Told, gate: Any
) -> None:
    @task
    def work() -> None:
        gate.pass_through()

    @workflow(**told.of_run)
    def polled() -> None:
        work()

    runner = make_runner(workflows=[polled], dispatcher=None)
    poller = Poller(store_url, workflows=[polled], poll=0.05)
    try:
        run = runner.submit(polled)
        assert gate.reached()
        run.cancel("enough")
        assert run.wait(20) is RunState.CANCELLED
        assert told.calls == ["exit"]
        gate.open()
        assert runner.submit(polled).wait(20) is RunState.COMPLETED
        assert told.calls == ["exit", "success", "exit"]
    finally:
        poller.close(1.0)


def test_hooks_go_on_in_the_next_runner(make_runner: Callable[..., Runner], gate: Any) -> None:
    starts: list[int] = []

    @task
    def tidy(outcome: RunOutcome, info: TaskInfo) -> None:
        starts.append(info.attempt)
        if info.attempt == 1:
            gate.pass_through()
        assert outcome["status"] == "failed"

    @task
    def fails() -> None:
        raise ValueError("no")

    @workflow(on_exit=tidy)
    def tidied() -> None:
        fails()

    one = make_runner(workflows=[tidied])
    run = one.submit(tidied)
    assert gate.reached()
    one.close(timeout=0.1)
    other = make_runner(workflows=[tidied])
    assert other.get(run.id).wait(20) is RunState.FAILED
    assert starts == [1, 2]
    assert states(other.get(run.id)) == {"fails": "failed", "on_exit.tidy": "completed"}


def test_a_rerun_calls_the_workflow_s_hooks_again_and_not_those_of_finished_tasks(runner: Runner, told: Told) -> None:
    broken = [True]

    @task(on_exit=told.task_ended)
    def first() -> int:
        return 1

    @task(on_exit=told.task_ended)
    def second(number: int) -> int:
        if broken[0]:
            raise ValueError("once")
        return number + 1

    @workflow(**told.of_run)
    def counting() -> int:
        return second(first())

    run = runner.submit(counting)
    assert run.wait(20) is RunState.FAILED
    assert sorted(outcome["task"] for _, outcome in told.tasks) == ["first", "second"]
    told.tasks.clear()
    told.runs.clear()
    broken[0] = False
    again = run.rerun()
    assert again.result(20) == 2
    assert [outcome["task"] for _, outcome in told.tasks] == ["second"]
    assert told.calls == ["success", "exit"]
    (skipped,) = [each for each in again.tasks() if each.name == "first.on_exit.task_ended"]
    assert (skipped.state, skipped.reason) == (TaskState.SKIPPED, "not_called")


def test_the_picture_shows_hooks_apart(sqlite_runner: Runner, told: Told) -> None:
    @task(on_exit=told.task_ended)
    def one() -> int:
        return 1

    @task
    def two(number: int) -> int:
        return number

    @workflow(on_failure=told.of_run["on_failure"])
    def drawn() -> int:
        return two(one())

    assert sqlite_runner.draw(drawn) == "one ──┐\ntwo ◄─┘\n\none.on_exit.task_ended\non_failure.failed"
