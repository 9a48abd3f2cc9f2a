"""Decodes what can be read of results that are not valid as they are, and the tokens of the others.

A worker sends a result again until it is acknowledged. One that its hub could never read would come back for ever, and
take with it whatever shares its message: so it ends its own attempt, with an error that says what is wrong with it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import msgspec

from turnout.wire.documents import ResultMetadata, StepError, StepResult, StepResults
from turnout.wire.limits import check_complexity, check_results
from turnout.wire.messages import VERSION

DEEPEST = 200
"""Deeper than any value that is kept, and not too deep to be looked at: what lies below is left out."""
MAX_DIGITS = 1000
UNREADABLE = "unreadable_result"

_PART = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}]', re.DOTALL)


class _Named(msgspec.Struct):
    token: str


class _Result(msgspec.Struct):
    metadata: _Named


class _Results(msgspec.Struct):
    results: msgspec.Raw
    batch_id: str = ""


def salvage_json(body: bytes) -> StepResults | None:
    """The results of this message, with those that cannot be read as failures; None if no token can be read. Raises
    OverLimit if that would take long."""
    check_complexity(body)
    try:
        document = forgiving(body.decode(errors="surrogateescape"))
        parts: list[Any] = list(document["results"])
        batch_id = document.get("batch_id")
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
    check_results(len(parts))
    return _gathered(batch_id, (_read(part) for part in parts))


def salvage_msgpack(body: bytes) -> StepResults | None:
    """The same for MessagePack."""
    try:
        document = msgspec.msgpack.decode(body, type=_Results)
        count = _count(memoryview(document.results))
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
    check_results(count)
    try:
        parts = msgspec.msgpack.decode(document.results, type=tuple[msgspec.Raw, ...])
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
    return _gathered(document.batch_id, (_decoded(part) for part in parts))


def _count(array: memoryview) -> int:
    """Returns the number of items of a MessagePack array without decoding them. Raises ValueError for other values."""
    head = array[0] if len(array) else 0
    if head & 0xF0 == 0x90:
        return head & 0x0F
    if head not in (0xDC, 0xDD):
        raise ValueError("no array")
    return int.from_bytes(array[1 : 3 if head == 0xDC else 5], "big")


def forgiving(text: str) -> Any:
    """The document that this JSON was meant to be; raises ValueError or RecursionError if it is none. Its complexity
    has been checked.

    Numbers that are too large, NaN, and text that is none stay in the value: the store of values refuses them, and
    says why.
    """
    try:
        return json.loads(text, parse_int=_integer)
    except RecursionError:
        return json.loads(_cut(text), parse_int=_integer)


def _integer(digits: str) -> float:
    # Python refuses to read very long ones; as a float it is infinite.
    return int(digits) if len(digits) <= MAX_DIGITS else float(digits)


def _gathered(batch_id: Any, found: Iterator[StepResult | None]) -> StepResults | None:
    results = tuple(result for result in found if result is not None and _is_text(result.token))
    if not results:
        return None
    return StepResults(
        batch_id=batch_id if isinstance(batch_id, str) else "", protocol_version=VERSION, results=results
    )


def _is_text(token: str) -> bool:
    """True if it can be encoded again: no step is given under any other."""
    try:
        token.encode()
    except UnicodeEncodeError:
        return False
    return True


def _read(part: Any) -> StepResult | None:
    try:
        return msgspec.convert(part, StepResult)
    except msgspec.ValidationError as error:
        why = str(error)
    try:
        return unreadable(msgspec.convert(part, _Result).metadata.token, why)
    except msgspec.ValidationError:
        return None


def _decoded(part: msgspec.Raw) -> StepResult | None:
    try:
        return msgspec.msgpack.decode(part, type=StepResult)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        why = str(error)
    try:
        return unreadable(msgspec.msgpack.decode(part, type=_Result).metadata.token, why)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None


def unreadable(token: str, why: str) -> StepResult:
    """The failure that a result is which cannot be read."""
    error = StepError(f"its result cannot be read: {why}", "UnreadableResult", code=UNREADABLE)
    return StepResult(step_id="", status="error", metadata=ResultMetadata(token=token, retryable=False), error=error)


def _cut(text: str) -> str:
    """JSON with everything that is nested too deeply replaced by null: reading does not know an end to depth."""
    kept: list[str] = []
    depth = start = 0
    for part in _PART.finditer(text):
        match part[0]:
            case "[" | "{":
                depth += 1
                if depth == DEEPEST + 1:
                    kept += (text[start : part.start()], "null")
            case "]" | "}":
                if depth == DEEPEST + 1:
                    start = part.end()
                depth -= 1
            case _:
                pass
    if depth > DEEPEST:
        raise ValueError("it has no end")
    return "".join((*kept, text[start:]))
