"""Workflows whose bodies use OpenTelemetry themselves, for tests of telemetry."""

from __future__ import annotations

from typing import Any

from opentelemetry import trace

from turnout import TaskInfo, shell, task, workflow


def here(info: TaskInfo) -> dict[str, Any]:
    """The trace and the span that are current."""
    context = trace.get_current_span().get_span_context()
    return {
        "name": info.name,
        "trace_id": f"{context.trace_id:032x}",
        "span_id": f"{context.span_id:016x}",
        "traceparent": info.traceparent,
    }


@task
def look(info: TaskInfo) -> dict[str, Any]:
    return here(info)


@task
async def look_async(info: TaskInfo) -> dict[str, Any]:
    return here(info)


@task
def look_in_child(info: TaskInfo) -> dict[str, Any]:
    return here(info)


@workflow
def looking() -> list[dict[str, Any]]:
    return [look(), look_async(), look_in_child()]


@task(retries=1, retry_delay="10ms")
def second_try(info: TaskInfo) -> int:
    if info.attempt == 1:
        raise ValueError("not yet")
    return info.attempt


@workflow
def retrying() -> int:
    return second_try()


@task
def fail() -> None:
    raise RuntimeError("no luck")


@workflow
def failing() -> None:
    return fail()


@workflow
def innermost() -> dict[str, Any]:
    return look()


@workflow
def inner() -> dict[str, Any]:
    return innermost()


@workflow
def outer() -> dict[str, Any]:
    return inner()


@task
def double(number: int) -> int:
    return 2 * number


@workflow
def mapping() -> list[int]:
    return double.map([1, 2, 3])


say_trace = shell('printf %s "$TRACEPARENT"', parse="text", name="say_trace")


@workflow
def commanding() -> str:
    return say_trace()
