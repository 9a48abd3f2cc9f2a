"""Makes a sound result of whatever an executor hands in for an attempt."""

from __future__ import annotations

import math
from typing import Any, cast

import msgspec

from turnout.contracts.executor import came_from_body
from turnout.errors import (
    AttemptFenced,
    ExecutorUnavailable,
    InputError,
    NoCapacity,
    NotJson,
    PermanentFailure,
    RetryAfter,
    StoreUnreachable,
    StoreUnusable,
    TaskSignal,
    TooLarge,
)
from turnout.model.breaker import EXECUTION_FAILED
from turnout.model.deferral import MAX_SAVED, Defer, Deferral, Unmet
from turnout.model.events import (
    ErrorInfo,
    ExecutionResult,
    ExecutionStatus,
    TaskReadyEvent,
    clipped,
    error_info,
    short_text,
)
from turnout.model.values import MAX_BYTES, dump_output, too_deep


def accepted(event: TaskReadyEvent, result: object, executor: str, limit: int = MAX_BYTES) -> ExecutionResult:
    """The result if it is sound, mended where that is harmless; else a failure that says what was wrong with it."""
    if not isinstance(result, ExecutionResult):
        return nonsense(event, executor, f"{type(result).__name__} instead of an ExecutionResult")
    if (result.task_id, result.attempt, result.run_id) != (event.task_id, event.attempt, event.run_id):
        return nonsense(event, executor, "a result of another attempt")
    if isinstance(result.error, ErrorInfo) and result.error.code == AttemptFenced.code:
        # Executors that take every exception of ``Work.invoke`` for a failure: the body was not called.
        return ExecutionResult.returned(event, AttemptFenced.code)
    try:
        return _mended(event, result, limit)
    except InputError as error:
        return ExecutionResult.failed(event, error, retryable=False)
    except Exception as error:
        return nonsense(event, executor, clipped(str(error)))


def nonsense(event: TaskReadyEvent, executor: str, what: str) -> ExecutionResult:
    """A failure for an answer that cannot be understood."""
    message = f'executor "{executor}" returned nonsense: {what}'
    return ExecutionResult.failed(event, ErrorInfo("ExecutionFailed", message, mro=(EXECUTION_FAILED,)))


def raised(event: TaskReadyEvent, error: BaseException) -> ExecutionResult:
    """Returns the result of an attempt for which its executor raised this exception."""
    # An attempt whose work could not be loaded for want of a database has not begun: that costs it nothing.
    if isinstance(error, NoCapacity | StoreUnreachable | StoreUnusable):
        return ExecutionResult.returned(event, clipped(str(error)))
    if isinstance(error, AttemptFenced):
        return ExecutionResult.returned(event, error.code)
    if isinstance(error, ExecutorUnavailable):
        return ExecutionResult.returned(event, clipped(str(error)), unavailable=True)
    if isinstance(error, Defer | Unmet):
        return ExecutionResult.deferred(event, error)
    try:
        info = error_info(error)
    except Exception:
        # An exception whose own text cannot be had still has a type.
        info = ErrorInfo(type(error).__name__, "its message could not be read")
    # What a body raised, or what its arguments are, is not the executor's failure, though it let it through.
    if not (isinstance(error, TaskSignal | InputError) or came_from_body(error)):
        info = msgspec.structs.replace(info, mro=(*info.mro, EXECUTION_FAILED))
    retry_after = _seconds(error.seconds) if isinstance(error, RetryAfter) else None
    return ExecutionResult.failed(event, info, not isinstance(error, PermanentFailure), retry_after=retry_after)


def _mended(event: TaskReadyEvent, result: ExecutionResult, limit: int) -> ExecutionResult:
    status = ExecutionStatus(result.status)
    output = cast("Any", result.output)
    if status is ExecutionStatus.COMPLETED:
        output = "null" if output is None else output
        check_output(output, limit)
    else:
        output = None
    return ExecutionResult(
        run_id=event.run_id,
        task_id=event.task_id,
        attempt=event.attempt,
        status=status,
        output=output,
        error=_clean(result.error),
        retryable=bool(result.retryable),
        retry_after=_seconds(result.retry_after),
        started_at=_seconds(result.started_at),
        finished_at=_seconds(result.finished_at),
        shadow=event.shadow,
        chosen=_chosen(result.chosen) if status is ExecutionStatus.COMPLETED else None,
        deferral=_deferral(result.deferral) if status is ExecutionStatus.DEFERRED else None,
        handler_version=result.handler_version and short_text(result.handler_version),
    )


def _chosen(names: object) -> tuple[str, ...] | None:
    if names is None:
        return None
    if not isinstance(names, tuple) or not all(isinstance(name, str) for name in cast("tuple[object, ...]", names)):
        raise TypeError(f"chosen is {names!r}, not a tuple of names")
    return tuple(clipped(name) for name in cast("tuple[str, ...]", names))


def _deferral(given: object) -> Deferral:
    # Through the codec, so that every field is of its type.
    deferral = msgspec.convert(msgspec.to_builtins(given or Deferral()), Deferral)
    for text in (deferral.saved, deferral.condition and deferral.condition.args):
        if text is not None:
            check_output(text, MAX_SAVED)
    return msgspec.structs.replace(deferral, seconds=_seconds(deferral.seconds) or 0.0, until=_seconds(deferral.until))


def check_output(output: object, limit: int = MAX_BYTES) -> None:
    """Raises unless the output is the text of a JSON value that every store can keep."""
    if not isinstance(output, str):
        raise NotJson(
            f"output is {type(output).__name__}, not JSON text; ExecutionResult.success(event, value) makes it"
        )
    try:
        data = output.encode()
    except UnicodeEncodeError as error:
        raise NotJson("output holds a lone surrogate, which is not text", code="json_surrogate") from error
    if len(data) > limit:
        raise TooLarge(
            f"output is {len(data):,} bytes; the limit is {limit:,}", code="output_too_large", size=len(data)
        )
    try:
        value = msgspec.json.decode(data)
    except RecursionError:
        raise too_deep("output") from None
    except msgspec.DecodeError as error:
        raise NotJson(f"output is not JSON: {error}") from error
    dump_output(value, limit=max(limit, 2 * len(data)))


def _clean(error: object) -> ErrorInfo | None:
    if error is None:
        return None
    if not isinstance(error, ErrorInfo):
        return ErrorInfo("Error", clipped(str(error)))
    return ErrorInfo(
        clipped(str(error.type)),
        clipped(str(error.message)),
        clipped(str(error.traceback)),
        tuple(clipped(str(name)) for name in error.mro),
        clipped(str(error.code)),
        error.exit_code if isinstance(error.exit_code, int) else None,
    )


def _seconds(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and math.isfinite(value) and value >= 0 else None
