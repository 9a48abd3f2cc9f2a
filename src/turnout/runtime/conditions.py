"""Checks the condition of a deferred body: its predicate is called before the body."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from typing import Any

import msgspec

from turnout.errors import UndeclaredCondition
from turnout.model.deferral import Condition, Unmet
from turnout.model.info import TaskInfo
from turnout.model.verdict import undeclared_condition

Call = Callable[[TaskInfo], Any]
Predicate = Callable[..., Any]


def once_met(condition: Condition, predicate: Predicate | None, call: Call, *, is_async: bool) -> Call:
    """``call``, but only if the condition holds; otherwise ``Unmet`` is raised. Predicates may be async, too.

    ``predicate`` is the function that the task declares under the condition's name; None if it declares none.
    """

    def asked(info: TaskInfo) -> tuple[Predicate, list[Any]]:
        if predicate is None:
            raise _refusal(condition, info)
        return predicate, msgspec.json.decode(condition.args, type=list[Any])

    def sync(info: TaskInfo) -> Any:
        function, args = asked(info)
        answer = function(*args)
        if inspect.iscoroutine(answer):
            answer = asyncio.run(answer)
        if not answer:
            raise Unmet(condition.ref)
        return call(info)

    async def asynchronous(info: TaskInfo) -> Any:
        function, args = asked(info)
        # A predicate that blocks must not hold up the other bodies on their event loop.
        answer = await asyncio.to_thread(function, *args)
        if inspect.iscoroutine(answer):
            answer = await answer
        if not answer:
            raise Unmet(condition.ref)
        return await call(info)

    return asynchronous if is_async else sync


def _refusal(condition: Condition, info: TaskInfo) -> UndeclaredCondition:
    return undeclared_condition(condition.ref, info.task_name, ())
