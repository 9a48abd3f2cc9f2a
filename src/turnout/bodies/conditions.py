"""Does the condition hold that a deferred body waits for? The predicate is asked first, in the body's place."""

from __future__ import annotations

import asyncio
import inspect
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

import msgspec

from turnout.errors import InvalidInput
from turnout.model.deferral import Condition, Unmet
from turnout.model.info import TaskInfo

Call = Callable[[TaskInfo], Any]


def once_met(condition: Condition, call: Call, *, is_async: bool) -> Call:
    """``call``, but only if the condition holds; otherwise ``Unmet`` is raised. Predicates may be async, too."""
    args: list[Any] = msgspec.json.decode(condition.args)

    def sync(info: TaskInfo) -> Any:
        answer = find(condition.ref)(*args)
        if inspect.iscoroutine(answer):
            answer = asyncio.run(answer)
        if not answer:
            raise Unmet(condition.ref)
        return call(info)

    async def asynchronous(info: TaskInfo) -> Any:
        predicate = find(condition.ref)
        # A predicate that blocks must not hold up the other bodies on their event loop.
        answer = await asyncio.to_thread(predicate, *args)
        if inspect.iscoroutine(answer):
            answer = await answer
        if not answer:
            raise Unmet(condition.ref)
        return await call(info)

    return asynchronous if is_async else sync


def find(ref: str) -> Callable[..., Any]:
    """The function that ``module:qualname`` names."""
    module, _, path = ref.partition(":")
    try:
        found: Any = sys.modules.get(module) or import_module(module)
        for name in path.split("."):
            found = getattr(found, name)
    except (ImportError, AttributeError) as error:
        raise InvalidInput(
            f"the condition {ref!r} cannot be imported here: {error}", code="condition_missing"
        ) from error
    if not callable(found):
        raise InvalidInput(f"the condition {ref!r} is not a function but {found!r}", code="condition_missing")
    return found
