"""Conditions: asked in the body's place, sync or async, found by their names."""

from __future__ import annotations

import asyncio
import json
import threading
from typing import Any

import pytest

from turnout.bodies.conditions import find, once_met
from turnout.errors import InvalidInput
from turnout.model.deferral import Condition, Unmet
from turnout.model.info import TaskInfo

INFO = TaskInfo(run_id="run", task_id="run.0", task_name="a::b::c::d", attempt=1, max_attempts=1)
HERE = __name__
asked_in: list[str] = []


def says(answer: Any) -> Any:
    asked_in.append(threading.current_thread().name)
    return answer


async def says_later(answer: Any) -> Any:
    await asyncio.sleep(0)
    return answer


class Shelf:
    @staticmethod
    def full() -> bool:
        return True


def condition(name: str, *args: Any) -> Condition:
    return Condition(f"{HERE}:{name}", json.dumps(list(args)))


@pytest.mark.parametrize("name", ["says", "says_later"])
def test_a_sync_body_runs_only_if_the_condition_holds(name: str) -> None:
    ran: list[TaskInfo] = []
    once_met(condition(name, True), ran.append, is_async=False)(INFO)
    assert ran == [INFO]
    with pytest.raises(Unmet):
        once_met(condition(name, 0), ran.append, is_async=False)(INFO)
    assert len(ran) == 1


@pytest.mark.parametrize("name", ["says", "says_later"])
def test_an_async_body_is_awaited_only_if_the_condition_holds(name: str) -> None:
    async def body(info: TaskInfo) -> int:
        return info.attempt

    assert asyncio.run(once_met(condition(name, "yes"), body, is_async=True)(INFO)) == 1
    with pytest.raises(Unmet):
        asyncio.run(once_met(condition(name, None), body, is_async=True)(INFO))


def test_a_predicate_that_may_block_does_not_run_on_the_loop() -> None:
    async def body(info: TaskInfo) -> None: ...

    asked_in.clear()
    asyncio.run(once_met(condition("says", 1), body, is_async=True)(INFO))
    assert asked_in != [threading.current_thread().name]


def test_a_predicate_is_found_in_modules_and_classes() -> None:
    assert find(f"{HERE}:says") is says
    assert find(f"{HERE}:Shelf.full")()
    assert find("os.path:exists")("/")


@pytest.mark.parametrize("ref", ["no_such_module:f", "os.path:no_such_function", f"{HERE}:HERE"])
def test_a_predicate_that_is_not_there_is_named(ref: str) -> None:
    with pytest.raises(InvalidInput, match=ref) as caught:
        find(ref)
    assert caught.value.code == "condition_missing"
