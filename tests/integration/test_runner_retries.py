"""Retries: how many attempts, after which delays, and who has a say in it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from turnout import PermanentFailure, RetryAfter, TaskInfo, task, workflow
from turnout.errors import RunFailed
from turnout.model.states import TaskState

pytestmark = pytest.mark.timeout(60)


class Attempts:
    """Counts what a body was called for, and says how often it fails."""

    def __init__(self) -> None:
        self.seen: list[int] = []

    def fail_until(self, attempt: int, info: TaskInfo, error: BaseException) -> int:
        self.seen.append(info.attempt)
        if info.attempt < attempt:
            raise error
        return info.attempt


@pytest.fixture
def attempts() -> Attempts:
    return Attempts()


def delays_in(history: list[tuple[float, Any]]) -> list[float]:
    """What the run's history says of the wait before each retry."""
    details = [json.loads(row.detail) for _, row in history if row.new == "ready" and row.detail]
    return [detail["retry_in"] for detail in details]


def test_a_task_without_retries_has_one_attempt(sqlite_runner, attempts):
    @task
    def once(info: TaskInfo) -> int:
        return attempts.fail_until(9, info, ValueError("no"))

    @workflow
    def single() -> int:
        return once()

    with pytest.raises(RunFailed) as caught:
        sqlite_runner.run(single)
    assert attempts.seen == [1]
    assert caught.value.fields["failures"][0].attempts == 1


def test_three_retries_are_four_attempts(runner, attempts):
    @task(retries=3)
    def stubborn(info: TaskInfo) -> int:
        return attempts.fail_until(9, info, ValueError("no"))

    @workflow
    def trying() -> int:
        return stubborn()

    with pytest.raises(RunFailed) as caught:
        runner.run(trying)
    assert attempts.seen == [1, 2, 3, 4]
    assert caught.value.fields["failures"][0].attempts == 4


def test_a_retry_that_succeeds_completes_the_run_and_leaves_no_error(runner, attempts):
    @task(retries=3)
    def unsteady(info: TaskInfo) -> int:
        return attempts.fail_until(3, info, ValueError("no"))

    @workflow
    def trying() -> int:
        return unsteady()

    run = runner.submit(trying)
    assert run.result(20) == 3
    assert attempts.seen == [1, 2, 3]
    [seen] = run.tasks()
    assert (seen.state, seen.attempt, seen.error) == (TaskState.COMPLETED, 3, None)


def test_async_bodies_are_tried_again_too(sqlite_runner, attempts):
    @task(retries=2)
    async def unsteady(info: TaskInfo) -> int:
        return attempts.fail_until(3, info, ValueError("no"))

    @workflow
    def trying_async() -> int:
        return unsteady()

    assert sqlite_runner.run(trying_async) == 3


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"retry_delay": 0.02}, [0.02, 0.02, 0.02]),
        ({"retry_delay": "20ms", "backoff": "linear"}, [0.02, 0.04, 0.06]),
        ({"retry_delay": 0.02, "backoff": "exponential"}, [0.02, 0.04, 0.08]),
        ({"retry_delay": 0.02, "backoff": "exponential", "max_delay": 0.03}, [0.02, 0.03, 0.03]),
    ],
    ids=["fixed", "linear", "exponential", "capped"],
)
def test_delays_grow_as_the_backoff_says(sqlite_runner, attempts, options, expected):
    @task(retries=3, **options)
    def slow(info: TaskInfo) -> int:
        return attempts.fail_until(4, info, ValueError("no"))

    @workflow
    def patient() -> int:
        return slow()

    run = sqlite_runner.submit(patient)
    assert run.result(20) == 4
    assert delays_in(run.history()) == expected


def test_jitter_only_shortens_a_delay(sqlite_runner, attempts):
    @task(retries=4, retry_delay=0.02, jitter=0.5)
    def slow(info: TaskInfo) -> int:
        return attempts.fail_until(5, info, ValueError("no"))

    @workflow
    def jittery() -> int:
        return slow()

    run = sqlite_runner.submit(jittery)
    assert run.result(20) == 5
    assert all(0.01 <= delay <= 0.02 for delay in delays_in(run.history()))


def test_no_attempt_starts_before_its_delay_is_over(runner, attempts):
    @task(retries=1, retry_delay=0.3)
    def slow(info: TaskInfo) -> int:
        return attempts.fail_until(2, info, ValueError("no"))

    @workflow
    def patient() -> int:
        return slow()

    run = runner.submit(patient)
    assert run.result(20) == 2
    moves = [(at, row.new) for at, row in run.history() if row.pos == 0]
    assert [new for _, new in moves] == ["running", "ready", "running", "completed"]
    assert moves[2][0] - moves[1][0] >= 0.29


def test_a_task_that_waits_for_its_retry_says_so(runner, attempts, until):
    @task(retries=1, retry_delay="1h")
    def slow(info: TaskInfo) -> int:
        return attempts.fail_until(2, info, ValueError("the service is down"))

    @workflow
    def patient() -> int:
        return slow()

    run = runner.submit(patient)
    until(lambda: run.tasks()[0].state is TaskState.READY and run.tasks()[0].attempt == 1)
    [seen] = run.tasks()
    assert seen.reason == "retry_at"
    assert 3500 < seen.retry_in <= 3600
    assert seen.error is not None and seen.error.message == "the service is down"
    run.cancel()


def test_retry_after_overrides_the_delay_but_not_the_number_of_attempts(runner, attempts):
    @task(retries=2, retry_delay="1h")
    def asked(info: TaskInfo) -> int:
        return attempts.fail_until(9, info, RetryAfter(0.03, "busy"))

    @workflow
    def asking() -> int:
        return asked()

    run = runner.submit(asking)
    with pytest.raises(RunFailed, match="busy"):
        run.result(20)
    assert attempts.seen == [1, 2, 3]
    assert delays_in(run.history()) == [0.03, 0.03]


def test_a_permanent_failure_is_not_tried_again(sqlite_runner, attempts):
    @task(retries=5)
    def hopeless(info: TaskInfo) -> int:
        return attempts.fail_until(9, info, PermanentFailure("no such customer"))

    @workflow
    def hoping() -> int:
        return hopeless()

    with pytest.raises(RunFailed, match="no such customer"):
        sqlite_runner.run(hoping)
    assert attempts.seen == [1]


class Transient(ConnectionError):
    pass


@pytest.mark.parametrize(
    ("options", "error", "expected"),
    [
        ({"retry_on": ConnectionError}, ConnectionError("down"), [1, 2, 3]),
        ({"retry_on": ConnectionError}, Transient("down"), [1, 2, 3]),
        ({"retry_on": ["ConnectionError", KeyError]}, Transient("down"), [1, 2, 3]),
        ({"retry_on": ConnectionError}, ValueError("wrong"), [1]),
        ({"never_on": (ValueError,)}, ValueError("wrong"), [1]),
        ({"never_on": (ValueError,)}, UnicodeError("a ValueError too"), [1]),
        ({"never_on": (ValueError,)}, ConnectionError("down"), [1, 2, 3]),
        ({"retry_on": Exception, "never_on": Transient}, Transient("down"), [1]),
        ({"retry_if": lambda error: "down" in str(error)}, ConnectionError("down"), [1, 2, 3]),
        ({"retry_if": lambda error: "down" in str(error)}, ConnectionError("refused"), [1]),
    ],
)
def test_exception_types_and_a_predicate_decide(make_sqlite_runner, attempts, options, error, expected):
    @task(retries=2, **options)
    def choosy(info: TaskInfo) -> int:
        return attempts.fail_until(9, info, error)

    @workflow
    def choosing() -> int:
        return choosy()

    with pytest.raises(RunFailed):
        make_sqlite_runner().run(choosing)
    assert attempts.seen == expected


def test_a_body_that_exits_is_a_failure_like_any_other(sqlite_runner, attempts):
    @task(retries=1)
    def leaves(info: TaskInfo) -> int:
        return attempts.fail_until(2, info, SystemExit(3))

    @workflow
    def leaving() -> int:
        return leaves()

    assert sqlite_runner.run(leaving) == 2
