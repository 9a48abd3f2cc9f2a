"""Reads the status of a pod: how far it is, and in words why it waits or has failed (pure)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

import msgspec

from turnout.executors.kubernetes.pod_template import CONTAINER

UNSCHEDULABLE, IMAGE_PULL = "pod_unschedulable", "image_pull"
POD_WAITS, NOT_CONNECTED = "pod_waits", "pod_not_connected"
"""Words that reasons begin with."""

_PULL_ERRORS = frozenset({"ErrImagePull", "ImagePullBackOff", "RegistryUnavailable", "ImageInspectError"})
_HOPELESS = frozenset({"InvalidImageName", "ErrImageNeverPull"})
"""Waits that no time ends."""
_ORDINARY = frozenset({"ContainerCreating", "PodInitializing"})
_DISRUPTIONS: Mapping[str, str] = {
    "PreemptionByScheduler": "it was preempted by a pod of higher priority",
    "DeletionByTaintManager": "its node is not reachable, or was tainted",
    "EvictionByEvictionAPI": "it was evicted: its node is drained",
    "DeletionByPodGC": "its node is gone",
    "TerminationByKubelet": "its node ended it: the node shuts down, or a critical pod needs the room",
}
_POD_REASONS: Mapping[str, str] = {
    "Evicted": "it was evicted by its node",
    "Preempting": "it was preempted by a critical pod",
    "NodeLost": "its node is not reachable",
    "NodeShutdown": "its node was shut down",
    "Shutdown": "its node was shut down",
    "Terminated": "its node was shut down",
    "NodeAffinity": "its node does not fit any more",
    "UnexpectedAdmissionError": "its node refused it",
    "OutOfcpu": "its node has no free cores for it",
    "OutOfmemory": "its node has no free memory for it",
    "OutOfpods": "its node takes no more pods",
}
"""Reasons of pods that their nodes, not their containers, have ended."""
DEADLINE = "DeadlineExceeded"
DELETED = "its pod was deleted"
OOM_EXIT = 137
_ENDED_FROM_OUTSIDE = (137, 143)
"""Exit codes of a container that SIGKILL or SIGTERM has ended."""
_FINAL = ("Succeeded", "Failed")
"""Phases of a pod whose containers have all ended."""
SIGNAL_BASE = 128


class Stage(StrEnum):
    """The progress of a pod towards its end."""

    WAITING = "waiting"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    CRASHED = "crashed"
    """The container ended by itself, or for what it did."""
    LOST = "lost"
    """The cluster took the pod away."""
    OVERDUE = "overdue"
    """A deadline of the pod, or of its Job, has passed."""


class PodState(msgspec.Struct, frozen=True):
    """The facts that the status of a pod has."""

    stage: Stage
    reason: str = ""
    """In words; empty if there is nothing to say."""
    pull_fails: bool = False
    """The image cannot be pulled at present."""
    hopeless: bool = False
    """It waits for something that will not come."""
    began: bool = False
    """The container has been started."""
    exit_code: int | None = None
    disruption: str = ""
    """In words why the cluster takes the pod away, also while its container still runs."""
    lingers: bool = False
    """Its container has ended, and others of the pod run on."""

    @property
    def over(self) -> bool:
        return self.stage not in (Stage.WAITING, Stage.RUNNING)


def pod_state(pod: Mapping[str, Any]) -> PodState:
    """Returns the state of a pod by its status."""
    status: Mapping[str, Any] = pod.get("status") or {}
    container = _container(status)
    states: Mapping[str, Any] = container.get("state") or {}
    ended = states.get("terminated") or (container.get("lastState") or {}).get("terminated")
    began = bool(states.get("running") or ended)
    phase = status.get("phase", "Pending")
    if phase == "Succeeded":
        return PodState(Stage.SUCCEEDED, began=True, exit_code=0)
    disruption = "its node is not reachable" if phase == "Unknown" else _disruption(status)
    if phase == "Failed" or (ended and ended.get("exitCode", 0) != 0):
        found = _failed(pod, status, ended, began)
        return msgspec.structs.replace(found, disruption=disruption, lingers=phase not in _FINAL)
    if states.get("terminated"):
        return PodState(Stage.SUCCEEDED, began=True, exit_code=0, lingers=True)
    if states.get("running"):
        # A disruption lets it end within its grace. The hub's lease covers nodes that are not reachable.
        return PodState(Stage.RUNNING, disruption, began=True, disruption=disruption)
    found = _waiting(status, states.get("waiting") or {})
    reason = f"{POD_WAITS}: {disruption}" if disruption else found.reason
    return msgspec.structs.replace(found, reason=reason, began=began, disruption=disruption)


def deleted_state(last: PodState | None) -> PodState:
    """Returns the state of a pod that was removed, by what was known of it before."""
    if last is not None and last.over:
        return last
    began, disruption = (False, "") if last is None else (last.began, last.disruption)
    return PodState(Stage.LOST, disruption or DELETED, began=began)


def job_failure(job: Mapping[str, Any]) -> PodState | None:
    """Returns why a Job has failed, by its conditions; None if it has not."""
    for condition in (job.get("status") or {}).get("conditions") or ():
        if condition.get("type") in ("Failed", "FailureTarget") and condition.get("status") == "True":
            message = condition.get("message") or condition.get("reason") or ""
            if condition.get("reason") == DEADLINE:
                return PodState(Stage.OVERDUE, _joined("the deadline of its Job has passed", message), began=True)
            return PodState(Stage.LOST, _joined("its Job has failed", message), began=True)
    return None


def _failed(
    pod: Mapping[str, Any], status: Mapping[str, Any], ended: Mapping[str, Any] | None, began: bool
) -> PodState:
    message, code = status.get("message") or "", (ended or {}).get("exitCode")
    if status.get("reason") == DEADLINE:
        return PodState(
            Stage.OVERDUE, _joined("the deadline of its pod has passed", message), began=began, exit_code=code
        )
    if disruption := _disruption(status):
        return PodState(Stage.LOST, _joined(disruption, message), began=began, exit_code=code)
    if (known := _POD_REASONS.get(status.get("reason") or "")) is not None:
        return PodState(Stage.LOST, _joined(known, message), began=began, exit_code=code)
    if ended is None:
        return PodState(Stage.LOST, _joined("its pod has failed", message or status.get("reason") or ""), began=began)
    if ended.get("reason") == "OOMKilled":
        limit = _memory_limit(pod)
        words = f"its container was killed: out of memory{f' (limit {limit})' if limit else ''}"
        return PodState(Stage.CRASHED, words, began=True, exit_code=code)
    if code in _ENDED_FROM_OUTSIDE and (pod.get("metadata") or {}).get("deletionTimestamp"):
        return PodState(Stage.LOST, DELETED, began=True, exit_code=code)
    words = _joined(_exit_words(code), ended.get("message") or "")
    return PodState(Stage.CRASHED, words, began=True, exit_code=code)


def _waiting(status: Mapping[str, Any], waiting: Mapping[str, Any]) -> PodState:
    reason, message = waiting.get("reason") or "", waiting.get("message") or ""
    if reason in _HOPELESS:
        return PodState(Stage.WAITING, f"{IMAGE_PULL}: {_joined(reason, message)}", hopeless=True)
    if reason in _PULL_ERRORS:
        return PodState(Stage.WAITING, f"{IMAGE_PULL}: {_joined(reason, message)}", pull_fails=True)
    if reason and reason not in _ORDINARY:
        return PodState(Stage.WAITING, f"{POD_WAITS}: {_joined(reason, message)}")
    for condition in status.get("conditions") or ():
        if condition.get("type") == "PodScheduled" and condition.get("status") == "False":
            why = condition.get("message") or condition.get("reason") or "no node takes it"
            return PodState(Stage.WAITING, f"{UNSCHEDULABLE}: {why}")
    for each in status.get("initContainerStatuses") or ():
        inner = (each.get("state") or {}).get("waiting") or {}
        if inner.get("reason") and inner["reason"] not in _ORDINARY:
            return _waiting({}, inner)
    return PodState(Stage.WAITING)


def _container(status: Mapping[str, Any]) -> Mapping[str, Any]:
    found: Sequence[Mapping[str, Any]] = status.get("containerStatuses") or ()
    return next((each for each in found if each.get("name") == CONTAINER), {})


def _disruption(status: Mapping[str, Any]) -> str:
    for condition in status.get("conditions") or ():
        if condition.get("type") == "DisruptionTarget" and condition.get("status") == "True":
            return _DISRUPTIONS.get(condition.get("reason") or "", condition.get("message") or "it was disrupted")
    return ""


def _memory_limit(pod: Mapping[str, Any]) -> str:
    for container in (pod.get("spec") or {}).get("containers") or ():
        if container.get("name") == CONTAINER:
            limits: Mapping[str, Any] = (container.get("resources") or {}).get("limits") or {}
            return str(limits.get("memory", ""))
    return ""


def _exit_words(code: int | None) -> str:
    if code is not None and code > SIGNAL_BASE:
        killed = f"its container was killed by signal {code - SIGNAL_BASE}"
        return f"{killed}, perhaps for its use of memory" if code == OOM_EXIT else killed
    return f"its container ended with exit code {code} and without a result"


def _joined(words: str, message: str) -> str:
    return f"{words}: {message}" if message and message != words else words
