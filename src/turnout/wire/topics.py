"""Encodes the messages of a publisher and its one subscriber: ``steps {json}`` and ``results {json}``, one frame each.

The documents are those of the worker protocol. Handlers that were written from the oldest description of them answer
with less: without a token, often without metadata, with an error that is only text. All of that is understood here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from turnout.errors import InvalidInput
from turnout.model.values import MAX_BYTES
from turnout.wire.documents import (
    ResultMetadata,
    Step,
    StepBatch,
    StepError,
    StepResult,
    StepResults,
    StepStatus,
)
from turnout.wire.lenient_results import forgiving
from turnout.wire.limits import MAX_OUTPUT_FACTOR, check_complexity, check_results
from turnout.wire.messages import Malformed, OverLimit

T = TypeVar("T")

STEPS, RESULTS = b"steps", b"results"
VERSION = "1.0"
MAX_POSITION, MAX_RUN_NUMBER, MAX_DIGITS = 2**20, 2**33, 16


class _Error(msgspec.Struct, frozen=True):
    message: str | None = None
    type: str | None = None
    backtrace: tuple[str, ...] | str | None = None
    code: str | None = None


class _Metadata(msgspec.Struct, frozen=True):
    token: str | None = None
    execution_time_ms: float | None = None
    handler_version: Any = None
    retryable: bool | None = None
    retry_after_ms: float | None = None


class _Result(msgspec.Struct, frozen=True):
    step_id: str | int
    status: StepStatus
    output: Any = None
    error: _Error | str | None = None
    metadata: _Metadata | None = None


class _Results(msgspec.Struct, frozen=True):
    batch_id: str
    results: tuple[msgspec.Raw, ...] = ()


class _Step(Step, frozen=True, kw_only=True):
    step_id: Any
    task_id: Any


class _Batch(msgspec.Struct, frozen=True):
    batch_id: str
    protocol_version: str
    steps: tuple[_Step, ...]


class _Forgiven(msgspec.Struct, frozen=True):
    batch_id: str
    results: tuple[dict[str, Any], ...] = ()


class _About(msgspec.Struct, frozen=True):
    step_id: str | int


class Heard(msgspec.Struct, frozen=True):
    """An answer as it came. A result without a token has an empty one."""

    batch_id: str
    results: tuple[StepResult, ...]
    unread: int = 0
    """Results of a batch that is not awaited."""


_encode = msgspec.json.Encoder().encode
_decode_entry = msgspec.json.Decoder(dict[str, Any]).decode
_decode_about = msgspec.json.Decoder(_About).decode
_decode_results = msgspec.json.Decoder(_Results).decode
_decode_steps = msgspec.json.Decoder(_Batch).decode
# At import, for the reason that ``decode_spec`` has.
msgspec.convert({"step_id": "", "status": "failed", "error": {}, "metadata": {}}, _Result)


def channel_of(number: int) -> bytes:
    """Returns the first bytes of frames on this channel.

    No channel's frames begin like those of another. For readers of JSON, which skip spaces, all are the same.

    >>> channel_of(0), channel_of(2)
    (b'steps {', b'steps   {')
    """
    return STEPS + b" " * (number + 1) + b"{"


def is_for_steps(topic: bytes) -> bool:
    """True if a subscription to this asks for steps."""
    return STEPS.startswith(topic) or topic == STEPS + b" "


def steps_frame(batch: StepBatch, channel: int = 0) -> bytes:
    """The steps as they are published. What the oldest description shows of each step is always there."""
    document = msgspec.to_builtins(batch)
    for step, published in zip(batch.steps, document["steps"], strict=True):
        metadata = step.metadata
        always = {
            "attempt": metadata.attempt,
            "retry_limit": metadata.retry_limit,
            "timeout_ms": metadata.timeout_ms,
        }
        published["metadata"] = always | published["metadata"]
        published["step_id"], published["task_id"] = _number(step.step_id), _number(step.task_id)
    return channel_of(channel)[:-1] + _encode(document)


def read_steps(frame: bytes) -> StepBatch:
    """The other side of ``steps_frame``; raises Malformed, never anything else. Ids are text again."""
    batch = _read(frame, STEPS, _decode_steps)
    steps = (msgspec.to_builtins(step, builtin_types=(msgspec.Raw,)) for step in batch.steps)
    ids = ({"step_id": str(step.step_id), "task_id": str(step.task_id)} for step in batch.steps)
    return StepBatch(
        batch_id=batch.batch_id,
        protocol_version=batch.protocol_version,
        steps=tuple(msgspec.convert(step | known, Step) for step, known in zip(steps, ids, strict=True)),
    )


def results_frame(results: StepResults) -> bytes:
    document = msgspec.to_builtins(results, builtin_types=(msgspec.Raw,))
    for result in document["results"]:
        result["step_id"] = _number(result["step_id"])
    return RESULTS + b" " + _encode(document)


def step_number(run: int, pos: int) -> int:
    """The number of a step: that of its run, and its position there. Below 2^53, so that every language can hold it.

    >>> step_number(1, 7), step_number(2**33 - 1, 2**20 - 1) < 2**53
    (1048583, True)
    """
    if not (0 < run < MAX_RUN_NUMBER and 0 <= pos < MAX_POSITION):
        raise InvalidInput(
            f"step {pos} of run number {run} has no number: runs have up to {MAX_POSITION:,} tasks on PUB/SUB",
            code="too_many_tasks",
        )
    return run * MAX_POSITION + pos


def _number(id: str) -> int | str:
    return int(id) if id.isdecimal() and len(id) <= MAX_DIGITS else id


def read_results(frame: bytes, wanted: Callable[[str], bool] = lambda batch_id: True) -> Heard:
    """Returns the results that a handler sent. Raises Malformed and no other error.

    An invalid result becomes an error of its step: a retry would bring the same. Results of batches that are not
    ``wanted`` are not read.
    """
    return _read(frame, RESULTS, lambda text: _heard(text, wanted))


def _heard(text: str, wanted: Callable[[str], bool]) -> Heard:
    try:
        document = _decode_results(text)
        check_results(len(document.results))
        if not wanted(document.batch_id):
            return Heard(document.batch_id, (), len(document.results))
        entries = tuple(_entry(each) for each in document.results)
    except OverLimit:
        raise
    except (msgspec.MsgspecError, RecursionError, ValueError):
        check_complexity(text.encode(errors="surrogatepass"))
        document = msgspec.convert(forgiving(text), _Forgiven)
        entries = document.results
        check_results(len(entries))
    return Heard(document.batch_id, tuple(_result(each) for each in entries if "step_id" in each))


def _entry(raw: msgspec.Raw) -> dict[str, Any]:
    size = len(memoryview(raw))
    if size <= MAX_OUTPUT_FACTOR * MAX_BYTES:
        return _decode_entry(raw)
    error = {"message": f"the result is {size:,} bytes", "type": "TooLarge", "code": "output_too_large"}
    metadata = {"retryable": False}
    return {"step_id": _decode_about(raw).step_id, "status": "failed", "error": error, "metadata": metadata}


def _read(frame: bytes, topic: bytes, decode: Callable[[str], T]) -> T:
    begins, _, body = frame.partition(b" ")
    if begins != topic:
        raise Malformed(f"a frame begins with {begins[:32]!r} instead of {topic.decode()!r}")
    try:
        # All of it is text: the decoder alone would not look at the bytes of fields that are not read.
        return decode(body.decode())
    except OverLimit:
        raise
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, ValueError) as error:
        raise Malformed(f"{topic.decode()}: {error}") from error


def _result(entry: dict[str, Any]) -> StepResult:
    step_id = str(entry["step_id"])
    try:
        result = msgspec.convert(entry, _Result)
    except (msgspec.ValidationError, RecursionError, ValueError) as error:
        bad = StepError(f"the handler's answer cannot be read: {error}", "BadResult")
        return StepResult(step_id=step_id, status="error", error=bad, metadata=ResultMetadata(token=""))
    metadata = result.metadata or _Metadata()
    return StepResult(
        step_id=step_id,
        status=result.status,
        output=result.output,
        error=_error(result.error),
        metadata=ResultMetadata(
            token=metadata.token or "",
            execution_time_ms=metadata.execution_time_ms,
            handler_version="" if metadata.handler_version is None else str(metadata.handler_version),
            retryable=metadata.retryable is not False,
            retry_after_ms=None if metadata.retry_after_ms is None else round(metadata.retry_after_ms),
        ),
    )


def _error(error: _Error | str | None) -> StepError | None:
    if error is None or isinstance(error, str):
        return None if error is None else StepError(error)
    backtrace = error.backtrace.splitlines() if isinstance(error.backtrace, str) else error.backtrace or ()
    return StepError(error.message or "", error.type or "", tuple(backtrace), (), error.code or "")
