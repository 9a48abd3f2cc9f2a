"""Makes the result of an attempt from what its body returned or raised."""

from __future__ import annotations

import math
import os
from types import TracebackType
from typing import Any

import msgspec

import turnout.errors
from turnout.contracts.executor import Work
from turnout.errors import AttemptFenced, InputError, PermanentFailure, RetryAfter, WrongType
from turnout.model.branch import Branch
from turnout.model.deferral import Defer, Unmet
from turnout.model.events import STATUS_COMPLETED, ErrorInfo, ExecutionResult, TaskReadyEvent, error_info
from turnout.model.values import MAX_BYTES, dump_output

_OUR_CODE = os.path.dirname(os.path.abspath(turnout.errors.__file__)) + os.sep


def returned_value(
    event: TaskReadyEvent, value: Any, started_at: float, finished_at: float, limit: int = MAX_BYTES
) -> ExecutionResult:
    """Returns the result of a body that returned: completed, or failed for good if the value cannot be kept."""
    chosen = None
    if isinstance(value, Branch):
        chosen, value = value.chosen, value.value
    try:
        output = dump_output(value, limit=limit)
    except Exception as error:
        return ExecutionResult.failed(
            event, _bad_output(event, value, error), retryable=False, started_at=started_at, finished_at=finished_at
        )
    return ExecutionResult(
        run_id=event.run_id,
        task_id=event.task_id,
        attempt=event.attempt,
        status=STATUS_COMPLETED,
        output=output,
        started_at=started_at,
        finished_at=finished_at,
        shadow=event.shadow,
        chosen=chosen,
    )


def raised(work: Work, error: BaseException, started_at: float, finished_at: float) -> ExecutionResult:
    """Returns the result of a body that raised: SystemExit and KeyboardInterrupt are failures like any other."""
    if isinstance(error, AttemptFenced):
        return ExecutionResult.returned(work.event, error.code)
    if isinstance(error, Defer | Unmet):
        return ExecutionResult.deferred(work.event, error, started_at=started_at, finished_at=finished_at)
    retryable, retry_after, remark = True, None, ""
    match error:
        case RetryAfter():
            retry_after = _delay(error.seconds)
        case PermanentFailure() | WrongType():
            retryable = False
        case _ if work.retry_predicate is not None:
            try:
                retryable = bool(work.retry_predicate(error))
            except Exception as second:
                # The budget limits the attempts; a broken predicate must not make a temporary failure final.
                remark = f"\nThe retry predicate itself raised {type(second).__qualname__}: {second}"
        case _:
            pass
    return ExecutionResult.failed(
        work.event,
        describe(error, remark),
        retryable=retryable,
        retry_after=retry_after,
        started_at=started_at,
        finished_at=finished_at,
    )


def describe(error: BaseException, remark: str = "") -> ErrorInfo:
    """Returns the exception as text, its traceback beginning with the first frame outside of Turnout."""
    try:
        info = error_info(error.with_traceback(_theirs(error.__traceback__)))
    except Exception as second:
        name = type(error).__qualname__
        return ErrorInfo(name, f"a {name} whose text cannot be had: {type(second).__qualname__} was raised instead")
    if not remark:
        return info
    return msgspec.structs.replace(info, traceback=info.traceback + remark)


def _theirs(frames: TracebackType | None) -> TracebackType | None:
    while frames is not None and frames.tb_frame.f_code.co_filename.startswith(_OUR_CODE):
        frames = frames.tb_next
    return frames


def _delay(seconds: Any) -> float:
    try:
        delay = float(seconds)
    except (TypeError, ValueError):
        return 0.0
    return max(0.0, delay) if math.isfinite(delay) else 0.0


def _bad_output(event: TaskReadyEvent, value: Any, error: Exception) -> ErrorInfo:
    reason = error.message if isinstance(error, InputError) else f"{type(error).__qualname__}: {error}"
    kinds = tuple(f"{kind.__module__}.{kind.__qualname__}" for kind in type(error).__mro__ if kind is not object)
    message = f"{event.task_name} returned a value of type {type(value).__qualname__} that cannot be kept: {reason}"
    code = error.code if isinstance(error, InputError) else ""
    return ErrorInfo(type(error).__qualname__, message, mro=kinds, code=code)
