"""Inline runs: the real machine, without a database, in time that a test turns."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from turnout import (
    Context,
    PermanentFailure,
    RetryAfter,
    TaskInfo,
    Workflow,
    current_task,
    shell,
    task,
    task_failed,
    workflow,
)
from turnout.errors import DefinitionError, InvalidInput, InvalidWorkflow, RunCancelled, RunFailed, RunTimedOut
from turnout.model.states import RunState, TaskState
from turnout.testing import ManualClock, inline, run_inline


@dataclass
class Order:
    id: int
    amount: int = 1


@dataclass
class Receipt:
    order: Order
    payment: str


@task
def charge(order: Order, info: TaskInfo) -> str:
    raise AssertionError("no test pays for real")


@task
def ship(order: Order, payment: str) -> Receipt:
    return Receipt(order, payment)


@workflow
def fulfil(order: Order) -> Receipt:
    return ship(order, charge(order))


def test_one_line_runs_a_workflow_with_a_fake_and_gives_its_typed_result() -> None:
    receipt = run_inline(fulfil, Order(7), fakes={charge: lambda order: f"paid {order.id}"})
    assert receipt == Receipt(Order(7), "paid 7")


@pytest.mark.parametrize(
    "fakes",
    [
        {"charge": lambda order: "paid"},
        {charge: "paid"},
        {charge.function: lambda order: "paid"},
        {charge: lambda *anything: "paid"},
    ],
)
def test_fakes_are_given_by_task_function_or_name_and_may_be_plain_values(fakes: Any) -> None:
    assert run_inline(fulfil, {"id": 1}, fakes=fakes).payment == "paid"


def test_a_fake_gets_the_info_only_if_it_asks() -> None:
    def pay(order: Order, mine: TaskInfo) -> str:
        assert current_task() is mine
        return f"{mine.name} {order.id} {mine.attempt}"

    assert run_inline(fulfil, order=Order(3), fakes={charge: pay}).payment == "charge 3 1"


async def later(order: Any) -> str:
    await asyncio.sleep(0)
    return "paid later"


def test_a_fake_may_be_async() -> None:
    assert run_inline(fulfil, Order(3), fakes={charge: later}).payment == "paid later"


def test_it_works_inside_of_a_running_event_loop() -> None:
    async def main() -> Any:
        return run_inline(fulfil, Order(3), fakes={charge: later})

    assert asyncio.run(main()).payment == "paid later"


def test_a_fake_that_fails_fails_the_run_as_it_would_for_real() -> None:
    with pytest.raises(RunFailed, match="no bank today") as caught:
        run_inline(fulfil, Order(3), fakes={charge: ConnectionError("no bank today")})
    [failure] = caught.value.fields["failures"]
    assert (failure.task, failure.type, failure.attempts) == ("charge", "ConnectionError", 1)
    assert isinstance(caught.value.__cause__, ConnectionError), "the exception itself, for the debugger"


def test_a_fake_for_no_task_is_refused() -> None:
    with pytest.raises(DefinitionError, match="did you mean 'charge'"):
        run_inline(fulfil, Order(3), fakes={"chrage": 1})


def test_input_is_checked_as_at_submission() -> None:
    with pytest.raises(InvalidInput, match="must be Order"):
        run_inline(fulfil, "seven")
    with pytest.raises(InvalidWorkflow, match="not a workflow"):
        run_inline(charge, 1)  # pyright: ignore


@task(retries=3, retry_delay="1h", backoff="exponential")
def flaky(times: int, info: TaskInfo) -> int:
    if info.attempt <= times:
        raise ConnectionError(str(info.attempt))
    assert info.is_last_attempt is (info.attempt == 4)
    return info.attempt


@workflow
def patient(times: int) -> int:
    return flaky(times)


def test_retries_take_no_time_but_the_clock_says_how_long_they_would_have() -> None:
    clock = ManualClock()
    assert run_inline(patient, 3, clock=clock) == 4
    assert clock.passed == 3600 * (1 + 2 + 4)


def test_retries_are_bounded_as_they_are_for_real() -> None:
    with pytest.raises(RunFailed, match="attempt 4"):
        run_inline(patient, 4)


def test_stepping_stops_where_time_has_to_pass() -> None:
    run = inline(patient, 1)
    assert (run.state, run.tasks["flaky"].state) == (RunState.RUNNING, TaskState.READY)
    assert run.step() == "flaky"
    waiting = run.tasks["flaky"]
    assert (waiting.state, waiting.attempts, waiting.reason) == (TaskState.READY, 1, "retry_at")
    assert waiting.error is not None and waiting.error.type == "ConnectionError"
    assert run.step() is None
    run.clock.advance("59m")
    assert run.step() is None
    run.clock.advance(timedelta(minutes=1))
    assert run.step() == "flaky"
    assert (run.state, run.tasks["flaky"].output, run.result()) == (RunState.COMPLETED, 2, 2)
    assert [each.new for each in run.history if each.pos == 0] == [
        *("ready", "running", "ready"),
        *("running", "completed"),
    ]


@task
def fetch(url: str) -> str:
    raise RetryAfter(10, "busy")


@task
def fallback(nothing: None) -> str:
    return "old copy"


@task
def after_all(page: str | None, copy: str | None) -> str | None:
    return page or copy


@workflow
def robust(url: str) -> str | None:
    page = fetch(url)
    return after_all(page, fallback.options(trigger_rule=task_failed(page))(page))


def test_trigger_rules_decide_as_they_do_for_real() -> None:
    run = inline(robust, "x")
    assert run.result() is None, "the failure is handled, and what the result is made of was skipped"
    states = {name: each.state for name, each in run.tasks.items()}
    assert states == {"fetch": "failed", "fallback": "completed", "after_all": "skipped"}
    assert run.tasks["after_all"].reason == "dependency_failed:fetch"
    assert inline(robust, "x", fakes={fetch: "new"}).result() == "new"


def test_a_permanent_failure_is_not_tried_again() -> None:
    run = inline(patient, 1, fakes={flaky: PermanentFailure("never")})
    assert run.finish() is RunState.FAILED
    assert run.tasks["flaky"].attempts == 1


@workflow(timeout="90m")
def hasty(times: int) -> int:
    return flaky(times)


def test_a_runs_timeout_counts_by_the_manual_clock() -> None:
    assert run_inline(hasty, 1) == 2
    run = inline(hasty, 3)
    with pytest.raises(RunTimedOut):
        run.result()
    assert run.clock.passed == 5400


def test_a_run_can_be_cancelled_and_paused() -> None:
    run = inline(patient, 1)
    run.step()
    run.pause()
    run.clock.advance("2h")
    assert (run.step(), run.finish()) == (None, RunState.PAUSED)
    run.resume()
    assert run.step() == "flaky"
    assert run.finish() is RunState.COMPLETED
    run = inline(patient, 1)
    run.step()
    run.cancel("enough")
    with pytest.raises(RunCancelled, match="enough"):
        run.result()


@task
def extract(context: Context) -> None:
    context["rows"] = [1, 2]


@task(depends_on=[extract])
def load(context: Context) -> dict[str, Any]:
    return {"total": sum(context["rows"])}


def test_context_style_with_and_without_fakes() -> None:
    etl = Workflow("inline-etl", tasks=[extract, load])
    assert run_inline(etl, {"day": 1}) == {"day": 1, "rows": [1, 2], "total": 3}
    found = run_inline(etl, {"day": 1}, fakes={extract: lambda context: {"rows": [context["day"], 5]}})
    assert found["total"] == 6
    assert run_inline(etl, fakes={extract: lambda: {"rows": [9]}})["total"] == 9


def test_large_outputs_need_no_store() -> None:
    @task
    def big() -> str:
        return "x" * 100_000

    @task
    def size(text: str) -> int:
        return len(text)

    @workflow
    def large() -> int:
        return size(big())

    assert run_inline(large) == 100_000


def test_the_most_urgent_task_goes_first() -> None:
    order: list[str] = []

    @task
    def note(name: str) -> None:
        order.append(name)

    @workflow
    def urgent() -> None:
        note("low")
        note.options(priority=5)("high")

    run_inline(urgent)
    assert order == ["high", "low"]


def test_waiting_for_cancellation_takes_no_time_here() -> None:
    @task
    def waits(info: TaskInfo) -> bool:
        return info.wait_cancelled(3600)

    @workflow
    def waiting() -> bool:
        return waits()

    assert run_inline(waiting) is False


def test_the_clock_starts_where_it_is_told_and_refuses_to_go_back() -> None:
    clock = ManualClock(datetime(2024, 1, 1, tzinfo=UTC))
    clock.advance("1d")
    assert clock.now() == datetime(2024, 1, 2, tzinfo=UTC).timestamp()
    with pytest.raises(InvalidWorkflow, match="advance"):
        clock.advance(-1)


def test_a_command_runs_plainly_unless_it_is_faked() -> None:
    greet = shell(["echo", "hello {name}"], parse="text")

    @workflow
    def greeting(name: str) -> str:
        return greet(name=name)

    assert run_inline(greeting, "world") == "hello world"
    assert run_inline(greeting, "world", fakes={greet: lambda name: f"goodbye {name}"}) == "goodbye world"


def test_a_body_without_annotations_can_be_faked() -> None:
    @task
    def double(number):  # type: ignore
        return 2 * number

    @workflow
    def doubled(number: int) -> int:
        return double(number)

    assert run_inline(doubled, 4, fakes={double: lambda number: number + 1}) == 5
