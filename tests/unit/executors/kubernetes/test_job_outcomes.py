"""How attempts end whose pods ended, or never started."""

from __future__ import annotations

import msgspec
import pytest

from turnout.executors.kubernetes.job_outcomes import ended, not_started, pull_failed
from turnout.executors.kubernetes.pod_status import PodState, Stage
from turnout.model.events import ExecutionStatus, TaskReadyEvent

EVENT = TaskReadyEvent(run_id="r", task_id="r.0", task_name="a::b::c::d", attempt=1, max_attempts=1)
AGAIN = msgspec.structs.replace(EVENT, again=True)


@pytest.mark.parametrize(
    ("event", "stage", "given", "status"),
    [
        (EVENT, Stage.CRASHED, True, ExecutionStatus.CRASHED),
        (EVENT, Stage.CRASHED, False, ExecutionStatus.CRASHED),
        (EVENT, Stage.LOST, True, ExecutionStatus.LOST),
        (EVENT, Stage.LOST, False, ExecutionStatus.RETURNED),
        (AGAIN, Stage.LOST, False, ExecutionStatus.LOST),
        (EVENT, Stage.SUCCEEDED, True, ExecutionStatus.LOST),
        (EVENT, Stage.SUCCEEDED, False, ExecutionStatus.RETURNED),
        (AGAIN, Stage.SUCCEEDED, False, ExecutionStatus.LOST),
        (EVENT, Stage.OVERDUE, True, ExecutionStatus.TIMED_OUT),
    ],
)
def test_the_end_of_a_pod_becomes_a_result(
    event: TaskReadyEvent, stage: Stage, given: bool, status: ExecutionStatus
) -> None:
    result = ended(event, PodState(stage, "in words"), given=given)
    assert result.status is status
    assert result.error is not None and (stage is Stage.SUCCEEDED or result.error.message == "in words")


def test_a_container_that_ends_before_it_had_the_attempt_is_the_executors_failure() -> None:
    crashed = PodState(Stage.CRASHED, "exit code 1")
    assert ended(EVENT, crashed, given=False).error.type == "ExecutorUnavailable"  # type: ignore[union-attr]
    assert ended(EVENT, crashed, given=True).error.type == "Crashed"  # type: ignore[union-attr]


def test_an_image_that_can_never_be_pulled_is_not_retried() -> None:
    found = pull_failed(EVENT, PodState(Stage.WAITING, "image_pull: InvalidImageName", hopeless=True))
    assert found.status is ExecutionStatus.FAILED and found.error_message == "InvalidImageName"
    found = pull_failed(EVENT, PodState(Stage.WAITING, "image_pull: ErrImagePull: 404", pull_fails=True))
    assert found.status is ExecutionStatus.RETRY and found.error_message == "ErrImagePull: 404"


@pytest.mark.parametrize(
    ("state", "reason"),
    [
        (None, "pod_not_connected: its Job has no pod yet"),
        (PodState(Stage.WAITING), "pod_not_connected: its pod has not started"),
        (PodState(Stage.WAITING, "pod_unschedulable: no node"), "pod_unschedulable: no node"),
        (PodState(Stage.RUNNING, began=True), "pod_not_connected: its pod runs"),
    ],
)
def test_a_worker_that_does_not_connect_costs_no_attempt_and_the_reason_is_shown(
    state: PodState | None, reason: str
) -> None:
    result = not_started(EVENT, state, 5)
    assert result.status is ExecutionStatus.RETURNED
    assert (result.error_message or "").startswith(reason)


def test_a_worker_that_may_have_begun_under_another_orchestrator_is_lost() -> None:
    assert not_started(AGAIN, PodState(Stage.RUNNING, began=True), 5).status is ExecutionStatus.LOST
    assert not_started(AGAIN, PodState(Stage.WAITING, "x: y", began=True), 5).status is ExecutionStatus.LOST
    assert not_started(AGAIN, PodState(Stage.WAITING), 5).status is ExecutionStatus.RETURNED
