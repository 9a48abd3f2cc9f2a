"""Translates results of attempts into result documents at the worker, and back at the hub.

Whatever comes from the other side is checked here: a result that cannot be kept is a failure, never an error of ours.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import msgspec

from turnout.errors import InputError
from turnout.model.breaker import EXECUTION_FAILED
from turnout.model.deferral import MAX_SAVED, Condition, Deferral
from turnout.model.events import (
    STATUS_COMPLETED,
    ErrorInfo,
    ExecutionResult,
    ExecutionStatus,
    TaskReadyEvent,
    clipped,
    short_text,
)
from turnout.model.reasons import CODE_MISSING
from turnout.model.values import MAX_BYTES, dump_output
from turnout.wire.documents import Outcome, ResultMetadata, Step, StepError, StepResult, StepStatus
from turnout.wire.step_codec import milliseconds

MAX_MS = 10**15
"""Longer than any wait, and still a number that can be added."""
MAX_FRAMES = 200
"""Lines of a backtrace that travel, from its end."""

_decode = msgspec.json.Decoder().decode


class _Put(msgspec.Struct, frozen=True, omit_defaults=True):
    """A deferral as it travels: what is saved is a value, not text."""

    seconds: float = 0.0
    until: float | None = None
    condition: Condition | None = None
    saved: Any = None
    unmet: bool = False


# At import, for the reason that ``decode_spec`` has.
msgspec.convert({"condition": {"ref": ""}}, _Put)


# -- the hub's side --------------------------------------------------------------------------------------------------
def result_of(
    event: TaskReadyEvent,
    result: StepResult,
    *,
    now: float | None = None,
    context: Mapping[str, Any] | None = None,
    limit: int = MAX_BYTES,
) -> ExecutionResult:
    """The attempt's result. ``now`` is when it came, ``context`` is given for a handler in Context style: what it
    returns is set in it."""
    metadata = result.metadata
    started_at, finished_at = _times(metadata.execution_time_ms, now)
    version = metadata.handler_version and short_text(metadata.handler_version)
    if result.status == "completed":
        return _completed(event, result, context, limit, (started_at, finished_at), version)
    about: dict[str, Any] = {"started_at": started_at, "finished_at": finished_at, "handler_version": version}
    error = _error_info(result)
    match metadata.outcome:
        case "timed_out":
            return _ended(event, ExecutionStatus.TIMED_OUT, _timeout(error), about)
        case "cancelled":
            return _ended(event, ExecutionStatus.CANCELLED, _named("Cancelled", error), about)
        case "crashed":
            return _ended(event, ExecutionStatus.CRASHED, _named("Crashed", error), about)
        case "lost":
            return _ended(event, ExecutionStatus.LOST, _named("Lost", error), about)
        case "skipped":
            return _ended(event, ExecutionStatus.SKIPPED, _named("Skipped", error), about)
        case "returned":
            return ExecutionResult.returned(event, error.message)
        case "handler_missing":
            return ExecutionResult.returned(event, CODE_MISSING)
        case "deferred":
            return _deferred(event, metadata.deferral or {}, about)
        case None:
            after = metadata.retry_after_ms
            retry_after = None if after is None else min(max(0, after), MAX_MS) / 1000
            return ExecutionResult.failed(event, error, metadata.retryable, retry_after=retry_after, **about)


def _completed(
    event: TaskReadyEvent,
    result: StepResult,
    context: Mapping[str, Any] | None,
    limit: int,
    times: tuple[float | None, float | None],
    version: str,
) -> ExecutionResult:
    value = result.output
    if context is not None:
        own = (
            value if isinstance(value, dict) else {} if value is None else {event.task_name.rpartition("::")[2]: value}
        )
        value = {**context, **own}
    try:
        output = dump_output(value, limit=limit)
    except InputError as error:
        error_info = ErrorInfo(
            type(error).__qualname__, clipped(f"{event.task_name}: {error.message}"), code=error.code
        )
        started_at, finished_at = times
        return ExecutionResult.failed(
            event,
            error_info,
            retryable=False,
            started_at=started_at,
            finished_at=finished_at,
            handler_version=version,
        )
    return ExecutionResult(
        run_id=event.run_id,
        task_id=event.task_id,
        attempt=event.attempt,
        status=STATUS_COMPLETED,
        output=output,
        started_at=times[0],
        finished_at=times[1],
        shadow=event.shadow,
        chosen=result.metadata.chosen,
        handler_version=version,
    )


def _deferred(event: TaskReadyEvent, document: Mapping[str, Any], about: Mapping[str, Any]) -> ExecutionResult:
    try:
        put = msgspec.convert(document, _Put)
        saved = None if put.saved is None else dump_output(put.saved, limit=MAX_SAVED, what="saved")
        condition = None if put.condition is None else _sound(put.condition)
    except (msgspec.ValidationError, InputError, ValueError) as error:
        bad = ErrorInfo("BadDeferral", clipped(f"the worker put it off in a way that cannot be read: {error}"))
        return ExecutionResult.failed(event, bad, retryable=False, **about)
    seconds = put.seconds if math.isfinite(put.seconds) else 0.0
    until = put.until if put.until is not None and math.isfinite(put.until) else None
    deferral = Deferral(max(0.0, seconds), until, condition, saved, put.unmet)
    return _ended(event, ExecutionStatus.DEFERRED, None, {"deferral": deferral, **about})


def _sound(condition: Condition) -> Condition:
    """The condition with arguments and times that can be used. Whether it is ever called, the task's code decides."""
    args = msgspec.json.decode(condition.args, type=list[Any])
    every, longest = condition.every, condition.max_every
    if not (math.isfinite(every) and every > 0 and math.isfinite(longest)):
        raise ValueError(f"its condition would be asked every {every} to {longest} s")
    return Condition(condition.ref, dump_output(args, limit=MAX_SAVED, what="args"), every, longest)


def _ended(
    event: TaskReadyEvent, status: ExecutionStatus, error: ErrorInfo | None, more: Mapping[str, Any]
) -> ExecutionResult:
    return ExecutionResult.of(event, status, error=error, **more)


def _error_info(result: StepResult) -> ErrorInfo:
    error = result.error
    if error is None:
        return ErrorInfo("Error", f"the worker says {result.status} and not why")
    names = error.mro or ((error.type,) if error.type else ())
    return ErrorInfo(
        clipped(error.type) or "Error",
        clipped(error.message),
        clipped("\n".join(error.backtrace[-MAX_FRAMES:])),
        # That an executor failed is for its dispatcher to say, not for a worker.
        tuple(clipped(_qualified(name)) for name in names[:MAX_FRAMES] if name != EXECUTION_FAILED),
        clipped(error.code),
        error.exit_code,
    )


def _qualified(name: str) -> str:
    """``Net::OpenTimeout`` as retry rules can name it; a bare name is what they take for a builtin."""
    plain = name.replace("::", ".")
    return plain if "." in plain else f"builtins.{plain}"


def _timeout(error: ErrorInfo) -> ErrorInfo:
    return ErrorInfo("TimeoutError", error.message, error.traceback, mro=("builtins.TimeoutError",))


def _named(kind: str, error: ErrorInfo) -> ErrorInfo:
    return ErrorInfo(kind, error.message, error.traceback)


def _times(took_ms: float | None, now: float | None) -> tuple[float | None, float | None]:
    """Returns when the attempt began and ended, by the clock of the caller."""
    if now is None or took_ms is None:
        return now, now
    # NaN, infinity and negative numbers are no durations.
    took = took_ms / 1000 if 0.0 < took_ms < math.inf else 0.0
    return max(0.0, now - took), now


# -- the worker's side -----------------------------------------------------------------------------------------------
_ENDS: Mapping[ExecutionStatus, tuple[StepStatus, Outcome | None]] = {
    ExecutionStatus.COMPLETED: ("completed", None),
    ExecutionStatus.FAILED: ("failed", None),
    ExecutionStatus.RETRY: ("failed", None),
    ExecutionStatus.TIMED_OUT: ("failed", "timed_out"),
    ExecutionStatus.CANCELLED: ("failed", "cancelled"),
    ExecutionStatus.SKIPPED: ("failed", "skipped"),
    ExecutionStatus.DEFERRED: ("failed", "deferred"),
    ExecutionStatus.CRASHED: ("error", "crashed"),
    ExecutionStatus.RETURNED: ("error", "returned"),
    ExecutionStatus.LOST: ("error", "lost"),
}


def answer_of(step: Step, result: ExecutionResult, handler_version: str = "") -> StepResult:
    """The result as it travels."""
    status, outcome = _ENDS[result.status]
    error = result.error
    if outcome == "returned" and error is not None and error.message == CODE_MISSING:
        outcome = "handler_missing"
    took = None
    if result.started_at is not None and result.finished_at is not None:
        took = max(0.0, round((result.finished_at - result.started_at) * 1000, 3))
    step_error = None
    if status != "completed":
        step_error = StepError("deferred", "Deferred") if error is None else _step_error(error)
    return StepResult(
        step_id=step.step_id,
        status=status,
        output=None if result.output is None else _decode(result.output),
        error=step_error,
        metadata=ResultMetadata(
            token=step.token,
            attempt=step.metadata.attempt,
            execution_time_ms=took,
            handler_version=handler_version,
            retryable=result.retryable,
            outcome=outcome,
            retry_after_ms=None if result.retry_after is None else milliseconds(result.retry_after),
            deferral=None if result.deferral is None else _deferral(result.deferral),
            chosen=result.chosen,
        ),
    )


def _step_error(error: ErrorInfo) -> StepError:
    backtrace = tuple(error.traceback.rstrip("\n").split("\n")[-MAX_FRAMES:]) if error.traceback else ()
    return StepError(error.message, error.type, backtrace, error.mro, error.code, error.exit_code)


def _deferral(deferral: Deferral) -> dict[str, Any]:
    saved = None if deferral.saved is None else _decode(deferral.saved)
    return msgspec.to_builtins(_Put(deferral.seconds, deferral.until, deferral.condition, saved, deferral.unmet))
