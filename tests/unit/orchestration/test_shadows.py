"""Shadow attempts are compared with the real ones, logged, and forgotten."""

from __future__ import annotations

import logging

import msgspec
import pytest

import turnout.orchestration.stages.results as module
from turnout.model.events import ExecutionResult, TaskReadyEvent
from turnout.orchestration.stages.results import Shadows

EVENT = TaskReadyEvent(run_id="run", task_id="run.0", task_name="public::embedded::w::t", attempt=1, max_attempts=1)
SHADOW = msgspec.structs.replace(EVENT, shadow=True)


@pytest.mark.parametrize("shadow_first", [False, True])
def test_the_same_answer_is_counted_in_either_order(shadow_first: bool) -> None:
    shadows = Shadows()
    shadows.expect(EVENT, "gpu")
    results = [ExecutionResult.success(EVENT, {"x": 1}), ExecutionResult.success(SHADOW, {"x": 1})]
    for result in reversed(results) if shadow_first else results:
        shadows.compare(result)
    assert (shadows.metrics.same, shadows.metrics.different) == (1, 0)
    assert not shadows.expected


@pytest.mark.parametrize("shadow_first", [False, True])
@pytest.mark.parametrize(
    "other", [ExecutionResult.success(SHADOW, 2), ExecutionResult.failed(SHADOW, "broken")], ids=["output", "status"]
)
def test_another_answer_is_counted_and_logged_with_the_real_one_first(
    other: ExecutionResult, shadow_first: bool, caplog: pytest.LogCaptureFixture
) -> None:
    shadows = Shadows()
    shadows.expect(EVENT, "gpu")
    results = [ExecutionResult.success(EVENT, 1), other]
    with caplog.at_level(logging.WARNING, "turnout.shadow"):
        for result in reversed(results) if shadow_first else results:
            shadows.compare(result)
    assert (shadows.metrics.same, shadows.metrics.different) == (0, 1)
    assert "run.0 attempt 1 differs: completed 1, shadow" in caplog.text


def test_how_it_failed_is_not_compared_only_that_it_did() -> None:
    shadows = Shadows()
    shadows.expect(EVENT, "gpu")
    shadows.compare(ExecutionResult.failed(EVENT, "one"))
    shadows.compare(ExecutionResult.failed(SHADOW, "other"))
    assert shadows.metrics.same == 1


@pytest.mark.parametrize("shadow_first", [False, True])
@pytest.mark.parametrize(
    "results",
    [
        (ExecutionResult.success(EVENT, 1), ExecutionResult.returned(SHADOW, "its worker has gone")),
        (ExecutionResult.success(EVENT, 1), ExecutionResult.lost(SHADOW, "its worker has gone")),
        (ExecutionResult.cancelled(EVENT), ExecutionResult.success(SHADOW, 1)),
    ],
    ids=["returned", "lost", "cancelled"],
)
def test_what_ended_without_an_answer_says_nothing_about_the_other(
    results: tuple[ExecutionResult, ...], shadow_first: bool, caplog: pytest.LogCaptureFixture
) -> None:
    shadows = Shadows()
    shadows.expect(EVENT, "gpu")
    for result in reversed(results) if shadow_first else results:
        shadows.compare(result)
    assert (shadows.metrics.same, shadows.metrics.different, shadows.metrics.unanswered) == (0, 0, 1)
    assert not shadows.expected and not caplog.text


def test_a_result_that_nobody_expected_is_let_pass() -> None:
    shadows = Shadows()
    shadows.compare(ExecutionResult.success(EVENT, 1))
    shadows.expect(msgspec.structs.replace(EVENT, attempt=2), "gpu")
    shadows.compare(ExecutionResult.success(SHADOW, 1))
    assert (shadows.metrics.same, shadows.metrics.different) == (0, 0)
    assert len(shadows.expected) == 1


def test_each_attempt_is_compared_with_its_own_shadow() -> None:
    shadows = Shadows()
    second = msgspec.structs.replace(EVENT, attempt=2)
    shadows.expect(EVENT, "gpu")
    shadows.expect(second, "gpu")
    shadows.compare(ExecutionResult.success(EVENT, 1))
    shadows.compare(ExecutionResult.success(second, 2))
    assert len(shadows.expected) == 2
    shadows.compare(ExecutionResult.success(msgspec.structs.replace(second, shadow=True), 2))
    shadows.compare(ExecutionResult.success(SHADOW, 1))
    assert shadows.metrics.same == 2


def test_the_oldest_are_forgotten_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_REMEMBERED", 2)
    shadows = Shadows()
    for attempt in (1, 2, 3):
        shadows.expect(msgspec.structs.replace(EVENT, attempt=attempt), "gpu")
    assert shadows.metrics.forgotten == 1
    assert list(shadows.expected) == [("run.0", 2), ("run.0", 3)]
