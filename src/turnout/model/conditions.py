"""Which predicates a deferred task may wait for: those that the task's own code declares, and no others.

A reference to a predicate comes back from executors, workers, pollers and the database, so it is text from outside. It
is compared with what the task declares where a result comes in, and again where the predicate would be called; it is
never imported.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

import msgspec

from turnout.errors import UndeclaredCondition
from turnout.model.events import ErrorInfo, ExecutionResult, ExecutionStatus, short


def vetted(result: ExecutionResult, task: str, declared: Collection[str]) -> ExecutionResult:
    """The result; a failure in its place if it waits for a predicate that the task does not declare."""
    condition = None if result.deferral is None else result.deferral.condition
    if condition is None or condition.ref in declared:
        return result
    error = undeclared(condition.ref, task, declared)
    said = ErrorInfo(type(error).__qualname__, error.message, code=error.code)
    return msgspec.structs.replace(
        result, status=ExecutionStatus.FAILED, error=said, retryable=False, retry_after=None, deferral=None
    )


def undeclared(ref: str, task: str, declared: Iterable[str]) -> UndeclaredCondition:
    """The error of a task that would wait for this predicate."""
    shown, known = short(ref), sorted(declared)
    has = f" (it declares {', '.join(known)})" if known else ""
    return UndeclaredCondition(
        f"task {task!r} waits for the condition {shown!r}, which it does not declare{has}: "
        f"name the function in its option conditions, as in @task(conditions=[{shown.rpartition(':')[2] or '…'}])",
        task=task,
        condition=shown,
    )
