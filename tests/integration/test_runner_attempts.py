"""What a handle tells of a run's tasks and of their attempts, from both databases."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from turnout import AsyncRunner, Runner, TaskInfo, injected, task, workflow
from turnout.errors import InvalidInput, RunFailed, TaskFailure
from turnout.model.reasons import MAX_MESSAGE_LENGTH, MAX_TRACEBACK_LENGTH

pytestmark = pytest.mark.timeout(60)


@task(retries=2)
def unsteady(info: TaskInfo = injected()) -> str:
    if info.attempt < 3:
        raise ConnectionError(f"no answer to call {info.attempt}")
    return "paid"


@workflow
def paying() -> str:
    return unsteady()


@task(retries=1)
def hopeless(text: str) -> None:
    raise ValueError(text)


@workflow
def failing(text: str = "never") -> None:
    hopeless(text)


@task
def double(number: int) -> int:
    return 2 * number


@workflow
def doubling(numbers: list[int]) -> list[int]:
    return double.map(numbers)


def test_attempts_that_were_retried_keep_their_errors(runner: Runner) -> None:
    run = runner.submit(paying)
    assert run.result(20) == "paid"
    first, second, last = run.task("unsteady").attempts
    assert [first.message, second.message, last.message] == ["no answer to call 1", "no answer to call 2", None]
    assert first.traceback is not None and first.traceback.endswith("ConnectionError: no answer to call 1\n")
    assert run.attempts() == [first, second, last]


def test_a_failed_task_keeps_the_errors_of_all_its_attempts_and_none_twice(
    runner: Runner, query: Callable[..., list[tuple[Any, ...]]]
) -> None:
    run = runner.submit(failing)
    with pytest.raises(RunFailed) as caught:
        run.result(20)
    first, last = run.task("hopeless").attempts
    assert (first.outcome, last.outcome) == ("retry", "failed")
    assert first.traceback == last.traceback is not None
    assert "in hopeless" in (last.traceback or "")
    assert caught.value.failures == (TaskFailure("hopeless", "ValueError", "never", last.traceback or "", attempts=2),)
    assert caught.value.failures[0].attempt == 2
    details = [
        json.loads(text) for (text,) in query(runner.url, "select detail from history where old = 'running'") if text
    ]
    assert ["traceback" in detail for detail in details if "error" in detail] == [True, False]


def test_an_attempt_that_succeeds_writes_nothing_of_it(
    runner: Runner, query: Callable[..., list[tuple[Any, ...]]]
) -> None:
    assert runner.submit(doubling, [1, 2]).result(20) == [2, 4]
    assert {detail for (detail,) in query(runner.url, "select detail from history where new = 'completed'")} == {None}


def test_what_is_kept_of_an_error_is_bounded(sqlite_runner: Runner) -> None:
    run = sqlite_runner.submit(failing, "x" * 50_000)
    run.wait(20)
    first, last = run.task("hopeless").attempts
    assert first.message is not None and len(first.message) == MAX_MESSAGE_LENGTH
    assert first.traceback is not None and len(first.traceback) <= MAX_TRACEBACK_LENGTH + 20
    assert first.traceback.startswith("Traceback") and "… cut …" in first.traceback
    assert last.traceback is not None and len(last.traceback) <= 20_020


def test_the_errors_of_attempts_go_with_their_run(runner: Runner, query: Callable[..., list[tuple[Any, ...]]]) -> None:
    run = runner.submit(failing)
    run.wait(20)
    assert runner.delete(run.id)
    assert query(runner.url, "select count(*) from history")[0][0] == 0


def test_a_handle_has_the_output_of_each_task(runner: Runner) -> None:
    run = runner.submit(doubling, [1, 2, 3])
    run.wait(20)
    assert run.task("double").output == [2, 4, 6]
    item = run.task("double[1]")
    assert (item.output, item.index, item.group) == (4, 1, "double")
    assert run.status().input == {"numbers": [1, 2, 3]}
    assert runner.list()[0].input == {"numbers": [1, 2, 3]}
    with pytest.raises(InvalidInput, match=r"has no task 'doubel': did you mean 'double'") as caught:
        run.task("doubel")
    assert caught.value.code == "unknown_task"


def test_a_task_without_output_has_none(runner: Runner) -> None:
    run = runner.submit(failing)
    run.wait(20)
    assert run.task("hopeless").output is None


def test_an_asynchronous_handle_has_the_same(sqlite_url: str) -> None:
    async def main() -> None:
        async with AsyncRunner(sqlite_url, workflows=()) as runner:
            run = await runner.submit(paying)
            assert await run.result(20) == "paid"
            detail = await run.task("unsteady")
            assert detail.output == "paid"
            assert [attempt.failed for attempt in detail.attempts] == [True, True, False]
            assert (await run.status()).input == {}

    asyncio.run(main())
