"""What is published and what is heard, also from handlers that say less, or nonsense."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnout.model.events import ExecutionStatus, TaskReadyEvent
from turnout.wire.documents import ResultMetadata, Step, StepBatch, StepMetadata, StepResult, StepResults
from turnout.wire.frames import Malformed
from turnout.wire.result_codec import result_of
from turnout.wire.topics import channel_of, is_for_steps, read_results, read_steps, results_frame, steps_frame

EVENT = TaskReadyEvent(run_id="r", task_id="r.0", task_name="a::b::c::t", attempt=1, max_attempts=1)

STEP = Step(
    step_id="r.0",
    task_id="r",
    step_name="ship_order",
    handler_class="Ship",
    handler_config={"send": True},
    task_context={"order_id": 1},
    previous_results={"validate": {"ok": True}},
    metadata=StepMetadata(token="r.0:1"),
)
BATCH = StepBatch(batch_id="b", protocol_version="1.0", steps=(STEP,))


def heard(**said: Any) -> Any:
    return read_results(b"results " + json.dumps({"batch_id": "b", "results": [said]}).encode()).results[0]


def test_a_step_always_shows_its_attempt_its_retries_and_its_timeout() -> None:
    topic, _, body = steps_frame(BATCH).partition(b" ")
    document = json.loads(body)
    assert topic == b"steps"
    assert document["batch_id"] == "b" and document["protocol_version"] == "1.0"
    (said,) = document["steps"]
    assert said["metadata"] == {"attempt": 0, "retry_limit": 0, "timeout_ms": None, "token": "r.0:1"}
    assert said["task_context"] == {"order_id": 1} and said["previous_results"] == {"validate": {"ok": True}}


@pytest.mark.parametrize("channel", range(4))
def test_every_channel_says_the_same_and_begins_differently(channel: int) -> None:
    frame = steps_frame(BATCH, channel)
    assert read_steps(frame) == BATCH
    assert [frame.startswith(channel_of(each)) for each in range(4)] == [each == channel for each in range(4)]
    assert frame.startswith(b"steps "), "so a subscription to `steps` is meant"


def test_results_of_our_own_handler_are_read_back() -> None:
    result = StepResult(step_id="r.0", status="completed", output={"a": 1}, metadata=ResultMetadata(token="r.0:1"))
    frame = results_frame(StepResults(batch_id="b", protocol_version="1.0", results=(result,)))
    assert read_results(frame).batch_id == "b" and read_results(frame).results == (result,)


def test_a_handler_may_say_very_little() -> None:
    result = heard(step_id=7, status="failed", error="no stock")
    assert (result.step_id, result.token, result.error.message) == ("7", "", "no stock")
    assert result.metadata.retryable is True
    plain = heard(step_id="r.0", status="completed", error=None, metadata=None)
    assert plain.status == "completed" and plain.output is None


def test_what_a_handler_says_of_its_failure_is_kept() -> None:
    result = heard(
        step_id="r.0",
        status="failed",
        output=None,
        error={"message": "no stock", "backtrace": ["ship.rb:1"]},
        metadata={"retryable": False, "handler_version": 2, "execution_time_ms": 1.5},
    )
    assert result.error.message == "no stock" and result.error.backtrace == ("ship.rb:1",)
    assert result.metadata.retryable is False and result.metadata.handler_version == "2"


@pytest.mark.parametrize(
    "said",
    [
        {"error": {"message": "no stock", "type": None, "code": None, "backtrace": None}, "metadata": None},
        {"error": {"message": "no stock", "backtrace": "ship.rb:1\nship.rb:2"}},
        {"error": "no stock", "metadata": {"token": None, "retryable": None, "retry_after_ms": 1.5}},
        {"error": "no stock", "output": None, "metadata": {"execution_time_ms": None, "handler_version": None}},
    ],
)
def test_what_a_handler_leaves_empty_is_as_if_it_were_not_there(said: dict[str, Any]) -> None:
    result = heard(step_id="r.0", status="failed", **said)
    assert (result.status, result.error.message, result.token) == ("failed", "no stock", "")
    assert result.metadata.retryable


@pytest.mark.parametrize(
    ("output", "why"),
    [
        ("NaN", "nan"),
        ("-Infinity", "inf"),
        ("1e999", "inf"),
        ("9" * 5000, "inf"),
        (r'"\ud800"', "surrogate"),
        (r'"a\u0000"', "NUL"),
        ("[" * 50_000 + "]" * 50_000, "deeper"),
    ],
    ids=["nan", "infinite", "large", "very long", "half a character", "nul", "deep"],
)
def test_an_output_that_is_no_value_fails_its_step_and_no_other(output: str, why: str) -> None:
    """Published again, the step would be answered in the same way."""
    results = f'{{"step_id":"r.0","status":"completed","output":{output}}},{{"step_id":"r.1","status":"completed"}}'
    odd, sound = read_results(f'results {{"batch_id":"b","results":[{results}]}}'.encode()).results
    assert (odd.step_id, sound.step_id, sound.status) == ("r.0", "r.1", "completed")
    ended = result_of(EVENT, odd)
    assert ended.status is ExecutionStatus.FAILED and not ended.retryable
    assert ended.error is not None and why in ended.error.message


def test_a_single_result_that_makes_no_sense_is_an_error_of_its_step() -> None:
    result = heard(step_id="r.0", status="great")
    assert result.status == "error" and result.error.type == "BadResult"
    assert "cannot be read" in result.error.message


@pytest.mark.parametrize(
    "frame",
    [
        b"",
        b"results",
        b"results ",
        b"results {",
        b"results []",
        b'results {"results": []}',
        b'results_archive {"batch_id": "b", "results": []}',
        b'steps {"batch_id": "b", "results": []}',
        b'{"batch_id": "b", "results": []}',
        b'results {"batch_id": "b", "results": [1]}',
        b'results {"batch_id": "\xff", "results": []}',
        b"results " + b"[" * 100_000,
    ],
)
def test_anything_else_is_malformed(frame: bytes) -> None:
    with pytest.raises(Malformed):
        read_results(frame)


@given(st.binary(max_size=60))
def test_random_bytes_are_malformed_and_nothing_worse(noise: bytes) -> None:
    for read in (read_results, read_steps):
        for frame in (noise, b"results " + noise, b"steps " + noise):
            with pytest.raises(Malformed):
                read(frame)


odd = st.recursive(
    st.none() | st.booleans() | st.integers() | st.integers(10**400, 10**401) | st.floats() | st.text(st.characters()),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.text(st.characters(), max_size=3), inner, max_size=2)
    ),
    max_leaves=5,
)
NAMES = ("execution_time_ms", "handler_version", "retryable", "retry_after_ms", "token")
metadatas = odd | st.fixed_dictionaries({}, optional=dict.fromkeys(NAMES, odd))
errors = odd | st.fixed_dictionaries({}, optional=dict.fromkeys(("message", "type", "backtrace", "code"), odd))


@given(
    said=st.fixed_dictionaries(
        {"step_id": st.just("r.0") | odd, "status": st.sampled_from(["completed", "failed", "error"]) | odd},
        optional={"output": odd, "error": errors, "metadata": metadatas, "more": odd},
    )
)
def test_whatever_a_result_says_it_has_an_end(said: dict[str, Any]) -> None:
    assert result_of(EVENT, heard(**said), now=1.0).task_id == EVENT.task_id


def test_a_spoiled_byte_makes_it_malformed_wherever_it_is() -> None:
    frame = steps_frame(BATCH)
    for at in range(len(frame)):
        with pytest.raises(Malformed):
            read_steps(frame[:at] + b"\xff" + frame[at + 1 :])


def test_a_batch_without_steps_or_results_is_sound() -> None:
    empty = StepBatch(batch_id="question", protocol_version="1.0", steps=())
    assert read_steps(steps_frame(empty)) == empty
    assert read_results(b'results {"batch_id":"question","results":[]}').results == ()


def test_who_subscribes_to_a_longer_topic_wants_something_else() -> None:
    assert is_for_steps(b"steps") and is_for_steps(b"") and is_for_steps(b"steps ")
    assert not is_for_steps(b"steps_archive") and not is_for_steps(b"results")
