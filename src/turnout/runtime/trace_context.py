"""Makes the trace of an attempt the current one around its body, for bodies that use OpenTelemetry themselves."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import cache
from types import CoroutineType, ModuleType
from typing import Any

import msgspec

from turnout.contracts.executor import Work
from turnout.model.info import TaskInfo

TRACEPARENT = "TRACEPARENT"
"""The environment variable that commands get their trace by."""


def traced(work: Work, traceparent: str) -> Work:
    """Returns the work of an attempt whose body continues this trace, and finds it as ``info.traceparent``."""

    def call(info: TaskInfo) -> Any:
        info.traceparent = traceparent
        return _within(traceparent, lambda: work.invoke_current(info))

    return msgspec.structs.replace(work, traceparent=traceparent, call=call)


def _within(traceparent: str, body: Callable[[], Any]) -> Any:
    api = _context_api()
    if api is None:
        return body()
    current = _context_of(traceparent)
    token = api.attach(current)
    try:
        value = body()
    finally:
        api.detach(token)
    return _rest_within(api, current, value) if isinstance(value, CoroutineType) else value


async def _rest_within(api: ModuleType, current: Any, rest: Coroutine[Any, Any, Any]) -> Any:
    token = api.attach(current)
    try:
        return await rest
    finally:
        api.detach(token)


@cache
def _context_api() -> ModuleType | None:
    """Returns the module of current contexts; None if OpenTelemetry is not installed here."""
    try:
        from opentelemetry import context
    except ImportError:
        return None
    return context


def _context_of(traceparent: str) -> Any:
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    return TraceContextTextMapPropagator().extract({"traceparent": traceparent})
