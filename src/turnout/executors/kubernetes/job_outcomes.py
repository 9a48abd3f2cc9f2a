"""Turns the end of a pod, or its absence, into the result of its attempt (pure)."""

from __future__ import annotations

import msgspec

from turnout.executors.kubernetes.pod_status import IMAGE_PULL, NOT_CONNECTED, PodState, Stage
from turnout.model.events import ErrorInfo, ExecutionResult, ExecutionStatus, TaskReadyEvent

NO_POD = "its Job has no pod yet; the namespace may have no quota left for it"


def ended(event: TaskReadyEvent, state: PodState, *, given: bool) -> ExecutionResult:
    """Returns the result of an attempt whose pod has ended without one. ``given``: its worker had the attempt, so the
    body may have begun. An attempt that an earlier orchestrator may have given counts as given."""
    given = given or event.again
    match state.stage:
        case Stage.OVERDUE:
            error = ErrorInfo("TimeoutError", state.reason, mro=("builtins.TimeoutError",))
            return ExecutionResult.of(event, ExecutionStatus.TIMED_OUT, error=error)
        case Stage.CRASHED:
            return ExecutionResult.crashed(event, state.reason, unavailable=not given)
        case Stage.SUCCEEDED:
            reason = "its worker has ended without a result"
        case _:
            reason = state.reason or "its pod is gone"
    return ExecutionResult.lost(event, reason) if given else ExecutionResult.returned(event, reason)


def explained(result: ExecutionResult, state: PodState | None) -> ExecutionResult:
    """Returns the result of a worker; a loss has the reason for which the cluster takes its pod away."""
    if result.status is not ExecutionStatus.LOST or result.error is None or state is None or not state.disruption:
        return result
    error = msgspec.structs.replace(result.error, message=f"{result.error.message}: {state.disruption}")
    return msgspec.structs.replace(result, error=error)


def pull_failed(event: TaskReadyEvent, state: PodState) -> ExecutionResult:
    """Returns the result of an attempt whose image cannot be pulled. Its name may be wrong, or the registry away."""
    error = ErrorInfo("ImagePullError", state.reason.removeprefix(f"{IMAGE_PULL}: "), code=IMAGE_PULL)
    return ExecutionResult.failed(event, error, retryable=not state.hopeless)


def not_started(event: TaskReadyEvent, state: PodState | None, seconds: float) -> ExecutionResult:
    """Returns the result of an attempt whose worker has not connected within this time. Its body has not begun, unless
    an earlier orchestrator may have given it to a container that has."""
    began = state is not None and state.began
    if state is not None and state.stage is Stage.RUNNING:
        reason = f"{NOT_CONNECTED}: its pod runs, and its worker has not reached the hub within {seconds:g} s"
        if event.again:
            return ExecutionResult.lost(event, reason)
        return ExecutionResult.returned(event, reason, unavailable=True)
    reason = NO_POD if state is None else state.reason or "its pod has not started"
    if event.again and began:
        return ExecutionResult.lost(event, reason)
    return ExecutionResult.returned(event, reason if ": " in reason else f"{NOT_CONNECTED}: {reason}")
