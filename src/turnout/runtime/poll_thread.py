"""Calls a function that yields values in a thread of its own, for a bounded time and number of values."""

from __future__ import annotations

import asyncio
import inspect
import itertools
import threading
from collections.abc import AsyncIterable, Callable, Iterable
from concurrent.futures import Future
from typing import Any

Values = list[Any]


def poll_in_thread(call: Callable[[], Any], limit: int, name: str) -> Future[Values]:
    """Returns the future of what the call yields or returns, sync or async, at most ``limit`` values. A thread cannot
    be ended from outside: one that outlives its caller's patience is left alone, and its values are dropped."""
    done: Future[Values] = Future()
    done.set_running_or_notify_cancel()  # a caller that stops waiting does not cancel it

    def run() -> None:
        try:
            done.set_result(_values(call(), limit))
        except BaseException as error:
            done.set_exception(error)

    threading.Thread(target=run, name=name, daemon=True).start()
    return done


def _values(found: Any, limit: int) -> Values:
    if inspect.isawaitable(found) or isinstance(found, AsyncIterable):
        return asyncio.run(_async_values(found, limit))
    return _taken(found, limit)


async def _async_values(found: Any, limit: int) -> Values:
    if not isinstance(found, AsyncIterable):
        return _taken(await found, limit)
    values: Values = []
    async for each in found:
        values.append(each)
        if len(values) >= limit:
            break
    return values


def _taken(found: Any, limit: int) -> Values:
    if found is None:
        return []
    values: Iterable[Any] = found
    return list(itertools.islice(values, limit))
