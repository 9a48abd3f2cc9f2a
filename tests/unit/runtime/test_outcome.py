"""What a return value or an exception means for the attempt."""

from __future__ import annotations

import math

import pytest

from tests.fake_loader import FakeLoader
from turnout.contracts.executor import Work
from turnout.errors import PermanentFailure, RetryAfter
from turnout.model.branch import Branch
from turnout.model.deferral import Defer, Deferral, Unmet
from turnout.model.events import ExecutionResult, ExecutionStatus
from turnout.runtime.outcome import describe, raised, returned_value


def outcome_of(error: BaseException, **more: object) -> ExecutionResult:
    loader = FakeLoader()
    event = loader.add(lambda: None, **more)
    return raised(loader.works[event.task_id], error, 1.0, 2.0)


def value_of(value: object, limit: int = 1000) -> ExecutionResult:
    return returned_value(FakeLoader().add(None, name="charge"), value, 1.0, 2.0, limit)


def test_a_json_value_completes_with_its_times() -> None:
    result = value_of({"ok": [1, None]})
    assert result.status is ExecutionStatus.COMPLETED
    assert (result.output, result.started_at, result.finished_at) == ('{"ok":[1,null]}', 1.0, 2.0)


@pytest.mark.parametrize(
    ("value", "kind", "words"),
    [
        (object(), "NotJson", "type object"),
        ([{"a": 1j}], "NotJson", "type complex"),
        ("a\x00b", "NotJson", "NUL"),
        ("\ud800", "NotJson", "surrogate"),
        (math.nan, "NotJson", "nan"),
        ("x" * 2000, "TooLarge", "path or URI"),
    ],
)
def test_a_value_that_cannot_be_kept_fails_for_good_and_says_why(value: object, kind: str, words: str) -> None:
    result = value_of(value)
    assert result.status is ExecutionStatus.FAILED
    assert not result.retryable
    assert result.output is None
    assert result.error is not None
    assert result.error.type == kind
    assert "public::embedded::w::charge" in result.error.message
    assert f"of type {type(value).__name__}" in result.error.message
    assert words in result.error.message


def test_a_value_whose_conversion_raises_fails_too() -> None:
    class Unruly(dict[str, int]):
        def items(self) -> object:  # type: ignore[override]
            raise OSError("disk on fire")

    result = value_of(Unruly(a=1))
    assert result.error is not None
    assert "disk on fire" in result.error.message


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(), GeneratorExit(), ValueError("x")])
def test_every_exception_is_a_retryable_failure_of_the_attempt(error: BaseException) -> None:
    result = outcome_of(error)
    assert result.status is ExecutionStatus.RETRY
    assert result.error is not None
    assert result.error.type == type(error).__name__
    assert (result.started_at, result.finished_at) == (1.0, 2.0)


@pytest.mark.parametrize(("asked", "given"), [(3, 3.0), (-1, 0.0), (math.inf, 0.0), (math.nan, 0.0), ("soon", 0.0)])
def test_a_delay_that_makes_no_sense_is_none_at_all(asked: float, given: float) -> None:
    error = RetryAfter(0)
    error.seconds = asked
    assert outcome_of(error).retry_after == given


def test_the_retry_predicate_decides_on_the_exception_itself() -> None:
    def transient(error: BaseException) -> bool:
        return getattr(error, "status", 0) == 503

    error = OSError()
    assert outcome_of(error, retry_predicate=transient).status is ExecutionStatus.FAILED
    error.status = 503  # type: ignore[attr-defined]
    assert outcome_of(error, retry_predicate=transient).status is ExecutionStatus.RETRY


def test_signals_of_the_body_are_not_up_to_the_predicate() -> None:
    assert outcome_of(RetryAfter(1), retry_predicate=lambda _: False).status is ExecutionStatus.RETRY
    assert outcome_of(PermanentFailure("no"), retry_predicate=lambda _: True).status is ExecutionStatus.FAILED


def test_a_predicate_that_raises_leaves_the_failure_retryable_and_is_mentioned() -> None:
    result = outcome_of(ValueError("x"), retry_predicate=lambda error: error.missing)  # type: ignore[attr-defined]
    assert result.status is ExecutionStatus.RETRY
    assert result.error is not None
    assert result.error.message == "x"
    assert "retry predicate itself raised AttributeError" in result.error.traceback


def test_the_traceback_begins_with_the_body() -> None:
    def body() -> None:
        raise ValueError("x")

    loader = FakeLoader()
    work: Work = loader.works[loader.add(body).task_id]
    try:
        work.invoke(None)  # type: ignore[arg-type]
    except ValueError as error:
        error.__traceback__ = error.__traceback__.tb_next if error.__traceback__ else None
        text = describe(error).traceback
    assert "contracts/executor.py" not in text
    assert "in body" in text


def test_an_exception_without_readable_text_still_has_its_type() -> None:
    class Mute(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no words")

    info = describe(Mute())
    assert info.type.endswith("Mute")
    assert "cannot be had" in info.message or info.traceback


def test_a_branch_completes_with_its_value_and_its_choice() -> None:
    result = value_of(Branch("a", "b", value={"n": 1}))
    assert (result.status, result.output, result.chosen) == (ExecutionStatus.COMPLETED, '{"n":1}', ("a", "b"))
    assert value_of(Branch()).chosen == ()
    assert value_of(1).chosen is None
    assert value_of(Branch("a", value=object())).status is ExecutionStatus.FAILED


def test_a_deferral_is_no_failure() -> None:
    result = outcome_of(Defer("5m", save=1))
    assert (result.status, result.error) == (ExecutionStatus.DEFERRED, None)
    assert result.deferral == Deferral(seconds=300.0, saved="1")
    unmet = outcome_of(Unmet("m:f")).deferral
    assert unmet is not None and unmet.unmet
