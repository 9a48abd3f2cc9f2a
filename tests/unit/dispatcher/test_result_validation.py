"""Whatever an executor answers becomes a sound result for the attempt."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnout.dispatcher import ErrorInfo, ExecutionResult, ExecutionStatus, ExecutorUnavailable, NoCapacity, Work
from turnout.dispatcher.result_validation import accepted, raised
from turnout.errors import PermanentFailure, RetryAfter
from turnout.model.branch import Branch
from turnout.model.breaker import at_fault
from turnout.model.deferral import Defer, Deferral
from turnout.model.events import TaskReadyEvent
from turnout.model.info import info_of
from turnout.model.spec import Body, TaskSpec

Make = Callable[..., Any]


def made_by_hand(event: TaskReadyEvent, **fields: Any) -> ExecutionResult:
    base: dict[str, Any] = {"run_id": event.run_id, "task_id": event.task_id, "attempt": event.attempt}
    return ExecutionResult(**{**base, "status": ExecutionStatus.COMPLETED, **fields})


def test_a_sound_result_passes_unchanged(event_of: Make) -> None:
    event = event_of()
    for result in (
        ExecutionResult.success(event, {"a": [1, 2.5, "x", None]}, started_at=1.5, finished_at=2.5),
        ExecutionResult.failed(event, ValueError("no"), retryable=False),
        ExecutionResult.failed(event, ValueError("no"), retry_after=3.0),
        ExecutionResult.timed_out(event, 3),
        ExecutionResult.returned(event, "full"),
    ):
        assert accepted(event, result, "gpu") == result


@pytest.mark.parametrize("answer", [None, 42, {"status": "completed"}, object()])
def test_what_is_no_result_is_nonsense(event_of: Make, answer: object) -> None:
    result = accepted(event_of(), answer, "gpu")
    assert result.status is ExecutionStatus.RETRY
    assert result.error_message is not None and 'executor "gpu" returned nonsense' in result.error_message


@pytest.mark.parametrize(
    "fields", [{"task_id": "run.2"}, {"attempt": 2}, {"run_id": "x"}, {"status": "great"}, {"status": []}]
)
def test_a_result_for_something_else_or_of_no_status_is_nonsense(event_of: Make, fields: dict[str, Any]) -> None:
    event = event_of()
    result = accepted(event, made_by_hand(event, **fields), "gpu")
    assert (result.task_id, result.attempt, result.status) == (event.task_id, event.attempt, ExecutionStatus.RETRY)
    assert result.error_message is not None and "returned nonsense" in result.error_message


@pytest.mark.parametrize(
    ("output", "error"),
    [
        ({"a": 1}, "NotJson"),
        (b"{}", "NotJson"),
        ("{", "NotJson"),
        ("", "NotJson"),
        ("NaN", "NotJson"),
        ("{'a': 1}", "NotJson"),
        ('"\\u0000"', "NotJson"),
        ('"\x00"', "NotJson"),
        ('"\\ud800"', "NotJson"),
        ('"\ud800"', "NotJson"),
        ("[" * 200 + "]" * 200, "NotJson"),
        ("[" * 100_000 + "]" * 100_000, "NotJson"),
        ('"' + "x" * 1024 * 1024 + '"', "TooLarge"),
        ('"' + "é" * 600_000 + '"', "TooLarge"),
    ],
)
def test_an_output_that_no_store_could_keep_fails_the_attempt(event_of: Make, output: Any, error: str) -> None:
    event = event_of()
    result = accepted(event, made_by_hand(event, output=output), "gpu")
    assert result.status is ExecutionStatus.FAILED
    assert result.error is not None and result.error.type == error


def test_the_limit_is_a_setting(event_of: Make) -> None:
    event = event_of()
    result = accepted(event, ExecutionResult.success(event, "x" * 100), "gpu", limit=50)
    assert result.error is not None and result.error.type == "TooLarge"


def test_what_is_only_untidy_is_mended(event_of: Make) -> None:
    event = event_of(shadow=True)
    result = accepted(
        event, made_by_hand(event, status="completed", started_at="noon", retry_after=float("nan")), "gpu"
    )
    assert result == ExecutionResult.success(event, None)
    failed = made_by_hand(event, status="failed", error=ErrorInfo("E", "a\x00b\ud800", mro=("x\x00",)))
    error = accepted(event, failed, "gpu").error
    assert error is not None
    msgspec.json.encode(error)
    assert "\x00" not in error.message + error.mro[0]
    odd = accepted(event, made_by_hand(event, status="failed", error="just text"), "gpu")
    assert odd.error_message == "just text"


def test_an_exception_keeps_its_type_and_is_also_an_execution_failure(event_of: Make) -> None:
    result = raised(event_of(), ConnectionResetError("gone"))
    assert result.status is ExecutionStatus.RETRY
    assert result.error is not None
    assert (result.error.type, result.error.message) == ("ConnectionResetError", "gone")
    assert "builtins.ConnectionError" in result.error.mro
    assert "turnout.errors.ExecutionFailed" in result.error.mro


def body_of(event: TaskReadyEvent, body: Callable[[], Any]) -> Work:
    task = TaskSpec("step", Body("python", "module:function"), full_name="a::b::c::step")
    return Work(event=event, task=task, body=body)


def test_what_a_body_raised_is_no_failure_of_an_executor_that_lets_it_through(event_of: Make) -> None:
    def body() -> None:
        raise ConnectionResetError("the body's own")

    async def async_body() -> None:
        body()

    event = event_of()
    info = info_of(event, idempotency_key="", token="")
    for call in (
        lambda: body_of(event, body).invoke(info),
        lambda: asyncio.run(body_of(event, async_body).invoke(info)),
    ):
        with pytest.raises(ConnectionResetError) as caught:
            call()
        wrapped = RuntimeError("wrapped")
        wrapped.__cause__ = caught.value
        for error in (caught.value, wrapped):
            assert at_fault(raised(event, error), isolates=False) is False
    assert at_fault(raised(event, ConnectionResetError("its own")), isolates=False) is True


def test_an_executor_that_is_not_available_has_not_begun(event_of: Make) -> None:
    result = raised(event_of(), ExecutorUnavailable("no cluster"))
    assert (result.status, result.error_message) == (ExecutionStatus.RETURNED, "no cluster")
    assert at_fault(result, isolates=False) is True
    kept = accepted(event_of(), result, "gpu")
    assert at_fault(kept, isolates=False) is True


def test_exceptions_that_say_what_to_do_are_heard(event_of: Make) -> None:
    event = event_of()
    assert raised(event, NoCapacity("full")).status is ExecutionStatus.RETURNED
    assert raised(event, PermanentFailure("no use")).status is ExecutionStatus.FAILED
    assert raised(event, RetryAfter(7)).retry_after == 7


def test_an_exception_without_a_readable_message_is_still_a_failure(event_of: Make) -> None:
    class Mute(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no text")

    result = raised(event_of(), Mute())
    assert result.error is not None and result.error.type == "Mute"


anything = st.one_of(
    st.none(), st.integers(), st.text(), st.floats(), st.lists(st.integers()), st.sampled_from(ExecutionStatus)
)


@given(status=anything, output=anything, error=anything, retryable=anything, times=anything, answer=st.booleans())
def test_every_answer_becomes_a_result_that_can_be_stored(
    status: Any, output: Any, error: Any, retryable: Any, times: Any, answer: bool
) -> None:
    event = TaskReadyEvent(run_id="r", task_id="t", task_name="n", attempt=1, max_attempts=1)
    fields = {"status": status, "output": output, "error": error, "retryable": retryable, "started_at": times}
    result = accepted(event, made_by_hand(event, **fields) if answer else output, "gpu")
    assert (result.run_id, result.task_id, result.attempt) == ("r", "t", 1)
    again = msgspec.json.decode(msgspec.json.encode(result), type=ExecutionResult)
    assert again == result
    assert result.output is None or isinstance(msgspec.json.decode(result.output), object)


def test_a_choice_and_a_deferral_come_through(event_of: Make) -> None:
    event = event_of()
    chose = accepted(event, ExecutionResult.success(event, Branch("a", value=1)), "own")
    assert (chose.status, chose.output, chose.chosen) == (ExecutionStatus.COMPLETED, "1", ("a",))
    signal = Defer(condition="m:f", args=[1], save={"n": 2})
    put_off = accepted(event, ExecutionResult.deferred(event, signal), "own")
    assert (put_off.status, put_off.deferral) == (ExecutionStatus.DEFERRED, signal.deferral)
    assert raised(event, signal).deferral == signal.deferral, "an executor that lets it through says the same"


@pytest.mark.parametrize(
    "wrong",
    [
        {"status": "completed", "output": "1", "chosen": "a"},
        {"status": "completed", "output": "1", "chosen": (1,)},
        {"status": "deferred", "deferral": "soon"},
        {"status": "deferred", "deferral": Deferral(seconds="x")},  # pyright: ignore[reportArgumentType]
        {"status": "deferred", "deferral": Deferral(saved="{")},
        {"status": "deferred", "deferral": Deferral(saved='"\\u0000"')},
    ],
)
def test_a_choice_or_deferral_that_makes_no_sense_is_a_failure(event_of: Make, wrong: dict[str, Any]) -> None:
    event = event_of()
    result = accepted(event, made_by_hand(event, **wrong), "own")
    assert result.status in (ExecutionStatus.RETRY, ExecutionStatus.FAILED)
    assert (result.chosen, result.deferral) == (None, None)


def test_times_of_a_deferral_that_are_no_times_are_mended(event_of: Make) -> None:
    event = event_of()
    given = Deferral(seconds=-3.0, until=float("-inf"))
    result = accepted(event, made_by_hand(event, status="deferred", deferral=given), "own")
    assert result.deferral == Deferral()
