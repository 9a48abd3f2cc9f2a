"""Results that cannot be read end their own attempts and nobody else's."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from turnout.model.events import ExecutionStatus, TaskReadyEvent
from turnout.model.values import MAX_BYTES
from turnout.wire.documents import StepResult, StepResults
from turnout.wire.frames import JSON, MSGPACK, Malformed, check_of, read, unpack
from turnout.wire.result_codec import result_of

EVENT = TaskReadyEvent(run_id="r", task_id="r.1", task_name="a::b::c::t", attempt=1, max_attempts=1)
SOUND = '{"step_id":"2","status":"completed","output":"fine","metadata":{"token":"sound"}}'
DEEP = "[" * 50_000 + "]" * 50_000


def results(*bodies: str | bytes) -> tuple[StepResult, ...]:
    parts = b",".join(body.encode() if isinstance(body, str) else body for body in bodies)
    return taken(b'{"batch_id":"b","protocol_version":"1.0","results":[' + parts + b"]}", JSON)


def taken(body: bytes, codec: str) -> tuple[StepResult, ...]:
    parts = [b"results", b"s1", body]
    message = unpack([*parts, check_of(parts)], codec).message
    as_received = read("results", "s1", body, codec, lazily=True)
    assert isinstance(message, StepResults) and isinstance(as_received, StepResults)
    results = tuple(each.decoded(MAX_BYTES) for each in as_received.results)
    assert [each.token for each in results] == [each.token for each in message.results]
    return results


def with_output(output: str | bytes) -> bytes:
    said = output.encode() if isinstance(output, str) else output
    return b'{"step_id":"1","status":"completed","output":' + said + b',"metadata":{"token":"odd"}}'


@pytest.mark.parametrize(
    ("output", "why"),
    [
        ("1e999", "inf"),
        ("9" * 5000, "inf"),
        ("NaN", "nan"),
        (r'"\ud800"', "surrogate"),
        (b'"\xff\xfe"', "surrogate"),
        (f'{{"a":{DEEP}}}', "deeper"),
        (r'"a\u0000"', "NUL"),
    ],
    ids=["too large", "too long", "nan", "half a character", "no text", "too deep", "nul"],
)
def test_an_output_that_is_no_value_fails_its_attempt_and_no_other(output: str | bytes, why: str) -> None:
    odd, sound = results(with_output(output), SOUND)
    assert (odd.token, sound.token, sound.output) == ("odd", "sound", "fine")
    ended = result_of(EVENT, odd)
    assert ended.status is ExecutionStatus.FAILED and not ended.retryable
    assert ended.error is not None and why in ended.error.message


@pytest.mark.parametrize(
    "part",
    [
        '{"step_id":"1","status":"maybe","metadata":{"token":"odd"}}',
        '{"status":"completed","metadata":{"token":"odd"}}',
        '{"step_id":"1","status":"failed","error":{"type":"Oops"},"metadata":{"token":"odd"}}',
        '{"step_id":"1","status":"completed","metadata":{"token":"odd","attempt":"first"}}',
    ],
)
def test_a_result_that_is_none_fails_its_attempt_and_says_why(part: str) -> None:
    sound, odd = results(SOUND, part)
    assert (odd.token, odd.status, sound.output) == ("odd", "error", "fine")
    ended = result_of(EVENT, odd)
    assert ended.status is ExecutionStatus.FAILED and not ended.retryable
    assert ended.error is not None and ended.error.code == "unreadable_result"


def test_what_names_no_token_is_malformed_unless_others_do() -> None:
    for parts in (('{"step_id":"1"}',), ("7", "null"), (f'{{"metadata":{{"token":{DEEP}}}}}',)):
        with pytest.raises(Malformed):
            results(*parts)
    assert [each.token for each in results("7", SOUND)] == ["sound"]


@pytest.mark.parametrize("body", [b"", b"{", b"[" * 100_000, b'{"results":7}', b'{"results":[]', b"7", b'"' * 3])
def test_what_is_no_message_stays_malformed(body: bytes) -> None:
    for codec in (JSON, MSGPACK):
        with pytest.raises(Malformed):
            taken(body, codec)


def test_in_messagepack_text_that_is_none_fails_its_attempt_and_no_other() -> None:
    def packed(output: Any, token: str) -> dict[str, Any]:
        return {"step_id": "1", "status": "completed", "output": output, "metadata": {"token": token}}

    message = {"batch_id": "b", "protocol_version": "1.0", "results": [packed("??", "odd"), packed("fine", "sound")]}
    odd, sound = taken(msgspec.msgpack.encode(message).replace(b"\xa2??", b"\xa2\xff\xfe"), MSGPACK)
    assert (odd.token, odd.status, sound.output) == ("odd", "error", "fine")


odd = st.recursive(
    st.none() | st.booleans() | st.integers() | st.just(10**400) | st.floats() | st.text(st.characters(), max_size=3),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.text(st.characters(), max_size=3), inner, max_size=2)
    ),
    max_leaves=5,
)
OUTCOMES = st.sampled_from(["timed_out", "cancelled", "deferred", "returned", "crashed", "lost", "handler_missing"])
deferrals = st.fixed_dictionaries(
    {}, optional={"seconds": odd, "until": odd, "condition": odd, "saved": odd, "unmet": odd, "\ud800": odd}
)


@given(
    said=st.fixed_dictionaries(
        {"step_id": st.just("1"), "status": st.sampled_from(["completed", "failed", "error"])},
        optional={"output": odd, "error": st.fixed_dictionaries({"message": odd}, optional={"type": odd, "mro": odd})},
    ),
    metadata=st.fixed_dictionaries(
        {},
        optional={
            "outcome": OUTCOMES,
            "deferral": deferrals,
            "retry_after_ms": odd,
            "execution_time_ms": odd,
            "attempt": odd,
            "chosen": odd,
        },
    ),
)
@example({"step_id": "1", "status": "failed"}, {"retry_after_ms": 10**400})
@example({"step_id": "1", "status": "failed"}, {"outcome": "deferred", "deferral": {"\ud800": 1}})
def test_whatever_a_result_with_a_token_says_its_attempt_has_an_end(
    said: dict[str, Any], metadata: dict[str, Any]
) -> None:
    (odd_one,) = results(json.dumps(said | {"metadata": metadata | {"token": "odd"}}))
    assert odd_one.token == "odd" and result_of(EVENT, odd_one, now=1.0).task_id == EVENT.task_id
