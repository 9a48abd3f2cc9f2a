"""Conditions: asked in the body's place, sync or async, and only if the task declares them."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable
from typing import Any

import pytest

from turnout.errors import UndeclaredCondition
from turnout.model.deferral import Condition, Unmet
from turnout.model.info import TaskInfo
from turnout.runtime.conditions import once_met

INFO = TaskInfo(run_id="run", task_id="run.0", task_name="a::b::c::d", attempt=1, max_attempts=1)
asked_in: list[str] = []


def says(answer: Any) -> Any:
    asked_in.append(threading.current_thread().name)
    return answer


async def says_later(answer: Any) -> Any:
    await asyncio.sleep(0)
    return answer


def condition(*args: Any) -> Condition:
    return Condition("shop:says", json.dumps(list(args)))


@pytest.mark.parametrize("predicate", [says, says_later])
def test_a_sync_body_runs_only_if_the_condition_holds(predicate: Callable[..., Any]) -> None:
    ran: list[TaskInfo] = []
    once_met(condition(True), predicate, ran.append, is_async=False)(INFO)
    assert ran == [INFO]
    with pytest.raises(Unmet):
        once_met(condition(0), predicate, ran.append, is_async=False)(INFO)
    assert len(ran) == 1


@pytest.mark.parametrize("predicate", [says, says_later])
def test_an_async_body_is_awaited_only_if_the_condition_holds(predicate: Callable[..., Any]) -> None:
    async def body(info: TaskInfo) -> int:
        return info.attempt

    assert asyncio.run(once_met(condition("yes"), predicate, body, is_async=True)(INFO)) == 1
    with pytest.raises(Unmet):
        asyncio.run(once_met(condition(None), predicate, body, is_async=True)(INFO))


def test_a_predicate_that_may_block_does_not_run_on_the_loop() -> None:
    async def body(info: TaskInfo) -> None: ...

    asked_in.clear()
    asyncio.run(once_met(condition(1), says, body, is_async=True)(INFO))
    assert asked_in != [threading.current_thread().name]


def test_a_condition_that_the_task_does_not_declare_is_named_and_nothing_is_called() -> None:
    async def body(info: TaskInfo) -> None:
        raise AssertionError("it was called")

    for is_async in (False, True):
        with pytest.raises(UndeclaredCondition, match="'a::b::c::d' waits for the condition 'shop:says'") as caught:
            answer = once_met(condition(1), None, body, is_async=is_async)(INFO)
            asyncio.run(answer)
        assert caught.value.code == "undeclared_condition"
