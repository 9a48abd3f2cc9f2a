"""Results as a hub receives them: their outputs are decoded only for steps that the worker was given.

Skipping an output costs little and allocates nothing; decoding 15 MB of empty objects takes seconds. So what no
attempt waits for, and what is too large to be kept, is never decoded.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from turnout.wire.documents import ResultMetadata, StepError, StepResult, StepResults
from turnout.wire.lenient_results import forgiving, unreadable
from turnout.wire.limits import MAX_OUTPUT_FACTOR, check_complexity

Decode = Callable[[msgspec.Raw], Any]

_NONE = msgspec.Raw()


class Metadata(ResultMetadata, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    deferral: msgspec.Raw = _NONE  # pyright: ignore[reportIncompatibleVariableOverride]


class JsonResult(StepResult, frozen=True, kw_only=True, gc=False):
    metadata: Metadata
    output: msgspec.Raw = msgspec.Raw()

    def decoded(self, limit: int) -> StepResult:
        return _decoded(self, self.metadata, limit, _from_json)


class MsgpackResult(StepResult, frozen=True, kw_only=True, gc=False):
    metadata: Metadata
    output: msgspec.Raw = msgspec.Raw()

    def decoded(self, limit: int) -> StepResult:
        return _decoded(self, self.metadata, limit, msgspec.msgpack.decode)


class JsonResults(StepResults, frozen=True, kw_only=True):
    results: tuple[JsonResult, ...]


class MsgpackResults(StepResults, frozen=True, kw_only=True):
    results: tuple[MsgpackResult, ...]


def _from_json(raw: msgspec.Raw) -> Any:
    try:
        return msgspec.json.decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, ValueError):
        body = bytes(memoryview(raw))
        check_complexity(body)
        return forgiving(body.decode(errors="surrogateescape"))


def _decoded(result: StepResult, metadata: Metadata, limit: int, decode: Decode) -> StepResult:
    output = memoryview(result.output)
    deferred = metadata.deferral is not _NONE
    size = max(len(output), len(memoryview(metadata.deferral))) if deferred else len(output)
    if size > MAX_OUTPUT_FACTOR * limit:
        return _too_large(result.token, size, limit)
    try:
        return StepResult(
            step_id=result.step_id,
            status=result.status,
            output=decode(result.output) if output and result.status == "completed" else None,
            error=result.error,
            # The usual case: what would be decoded is not looked at, so nothing is copied.
            metadata=metadata if result.status == "completed" and not deferred else _decoded_metadata(metadata, decode),
        )
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, ValueError) as error:
        return unreadable(result.token, str(error))


def _decoded_metadata(metadata: Metadata, decode: Decode) -> ResultMetadata:
    raw = metadata.deferral
    return ResultMetadata(
        token=metadata.token,
        attempt=metadata.attempt,
        execution_time_ms=metadata.execution_time_ms,
        handler_version=metadata.handler_version,
        retryable=metadata.retryable,
        outcome=metadata.outcome,
        retry_after_ms=metadata.retry_after_ms,
        deferral=None if raw is _NONE else msgspec.convert(decode(raw), dict[str, Any] | None),
        chosen=metadata.chosen,
    )


def _too_large(token: str, size: int, limit: int) -> StepResult:
    what = (
        f"output is {size:,} bytes as it travels; the limit is {limit:,}. Store it elsewhere and return its path or URI"
    )
    error = StepError(what, "TooLarge", code="output_too_large")
    return StepResult(step_id="", status="failed", metadata=ResultMetadata(token=token, retryable=False), error=error)
