"""Whose fault is a result? Never the executor's if it was the body's."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from turnout.errors import ExecutionFailed
from turnout.model.breaker import EXECUTION_FAILED, at_fault, worker_at_fault
from turnout.model.deferral import Defer
from turnout.model.events import ErrorInfo, ExecutionResult, ExecutionStatus, TaskReadyEvent, error_info
from turnout.model.reasons import CODE_MISSING

EVENT = TaskReadyEvent(run_id="r", task_id="r.0", task_name="a::b::c::d", attempt=1, max_attempts=1)
Make = Callable[[TaskReadyEvent], ExecutionResult]

MARKED = ErrorInfo("OSError", "gone", mro=(*error_info(OSError("gone")).mro, EXECUTION_FAILED))

TABLE: list[tuple[str, Make, bool | None]] = [
    ("completed", lambda event: ExecutionResult.success(event, 1), False),
    ("failed by its body", lambda event: ExecutionResult.failed(event, ValueError("no")), False),
    ("failed for good", lambda event: ExecutionResult.failed(event, "no", retryable=False), False),
    ("failed by a body that raises ours", lambda event: ExecutionResult.failed(event, ExecutionFailed("no")), False),
    ("failed by its executor", lambda event: ExecutionResult.failed(event, MARKED), True),
    ("timed out", lambda event: ExecutionResult.timed_out(event, 1.0), False),
    ("deferred", lambda event: ExecutionResult.deferred(event, Defer(1)), False),
    ("crashed", lambda event: ExecutionResult.crashed(event, "SIGSEGV"), False),
    ("crashed before it began", lambda event: ExecutionResult.crashed(event, "died", unavailable=True), True),
    ("refused for lack of room", lambda event: ExecutionResult.returned(event, "no_capacity"), None),
    ("refused by a broken one", lambda event: ExecutionResult.returned(event, "no fork", unavailable=True), True),
    ("cancelled", lambda event: ExecutionResult.cancelled(event), None),
]


@pytest.mark.parametrize(("make", "expected"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE])
@pytest.mark.parametrize("isolates", [True, False])
def test_who_is_at_fault(make: Make, expected: bool | None, isolates: bool) -> None:
    assert at_fault(make(EVENT), isolates=isolates) is expected


def test_a_loss_is_the_executors_failure_only_where_no_other_body_can_have_caused_it() -> None:
    lost = ExecutionResult.lost(EVENT, "gone")
    assert at_fault(lost, isolates=True) is True
    assert at_fault(lost, isolates=False) is None


@pytest.mark.parametrize("status", ExecutionStatus)
def test_every_status_is_judged(status: ExecutionStatus) -> None:
    result = ExecutionResult(run_id="r", task_id="r.0", attempt=1, status=status)
    assert at_fault(result, isolates=False) in (None, False)


WORKERS: list[tuple[str, Make, bool | None]] = [
    ("completed", lambda event: ExecutionResult.success(event, 1), False),
    ("failed by its body", lambda event: ExecutionResult.failed(event, ValueError("no")), False),
    ("failed for good", lambda event: ExecutionResult.failed(event, "no", retryable=False), False),
    ("timed out", lambda event: ExecutionResult.timed_out(event, 1.0), False),
    ("deferred", lambda event: ExecutionResult.deferred(event, Defer(1)), False),
    ("crashed", lambda event: ExecutionResult.crashed(event, "SIGSEGV"), True),
    ("lost", lambda event: ExecutionResult.lost(event, "silent"), True),
    ("without the code that it said it had", lambda event: ExecutionResult.returned(event, CODE_MISSING), True),
    ("given back", lambda event: ExecutionResult.returned(event, "the worker is stopping"), None),
    ("cancelled", lambda event: ExecutionResult.cancelled(event), None),
]


@pytest.mark.parametrize(("make", "expected"), [row[1:] for row in WORKERS], ids=[row[0] for row in WORKERS])
def test_when_a_worker_is_at_fault(make: Make, expected: bool | None) -> None:
    assert worker_at_fault(make(EVENT)) is expected
