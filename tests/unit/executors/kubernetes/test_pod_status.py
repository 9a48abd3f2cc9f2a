"""What a pod's status says, in words: a table of statuses as real clusters write them."""

from __future__ import annotations

from typing import Any

import pytest

from turnout.executors.kubernetes.pod_status import PodState, Stage, deleted_state, job_failure, pod_state


def container(**state: Any) -> dict[str, Any]:
    return {"containerStatuses": [{"name": "sidecar", "state": {"running": {}}}, {"name": "turnout", "state": state}]}


def waiting(reason: str, message: str = "") -> dict[str, Any]:
    return {"phase": "Pending", **container(waiting={"reason": reason, "message": message})}


def ended(code: int, reason: str = "Error", message: str = "") -> dict[str, Any]:
    return {"phase": "Failed", **container(terminated={"exitCode": code, "reason": reason, "message": message})}


def disrupted(reason: str) -> dict[str, Any]:
    return {"phase": "Failed", "conditions": [{"type": "DisruptionTarget", "status": "True", "reason": reason}]}


def preempted() -> dict[str, Any]:
    return {**disrupted("PreemptionByScheduler"), "phase": "Pending"}


UNSCHEDULED = {
    "phase": "Pending",
    "conditions": [
        {
            "type": "PodScheduled",
            "status": "False",
            "reason": "Unschedulable",
            "message": "0/3 nodes are available: 3 Insufficient nvidia.com/gpu.",
        }
    ],
}
LIMITED = {"containers": [{"name": "turnout", "resources": {"limits": {"memory": "512Mi"}}}]}

TABLE: list[tuple[str, dict[str, Any], Stage, str]] = [
    ("nothing known yet", {}, Stage.WAITING, ""),
    ("accepted", {"phase": "Pending"}, Stage.WAITING, ""),
    ("image is being pulled", waiting("ContainerCreating"), Stage.WAITING, ""),
    (
        "no node",
        UNSCHEDULED,
        Stage.WAITING,
        "pod_unschedulable: 0/3 nodes are available: 3 Insufficient nvidia.com/gpu.",
    ),
    ("pull fails", waiting("ErrImagePull", "not found"), Stage.WAITING, "image_pull: ErrImagePull: not found"),
    ("pull backs off", waiting("ImagePullBackOff"), Stage.WAITING, "image_pull: ImagePullBackOff"),
    ("image cannot be", waiting("InvalidImageName", "A B"), Stage.WAITING, "image_pull: InvalidImageName: A B"),
    (
        "no Secret yet",
        waiting("CreateContainerConfigError", 'secret "x" not found'),
        Stage.WAITING,
        'pod_waits: CreateContainerConfigError: secret "x" not found',
    ),
    (
        "an init container cannot start",
        {"phase": "Pending", "initContainerStatuses": [{"state": {"waiting": {"reason": "ErrImagePull"}}}]},
        Stage.WAITING,
        "image_pull: ErrImagePull",
    ),
    ("runs", {"phase": "Running", **container(running={"startedAt": "x"})}, Stage.RUNNING, ""),
    ("ended well", {"phase": "Succeeded", **container(terminated={"exitCode": 0})}, Stage.SUCCEEDED, ""),
    (
        "ended well beside others that run",
        {"phase": "Running", **container(terminated={"exitCode": 0})},
        Stage.SUCCEEDED,
        "",
    ),
    ("exit code", ended(7), Stage.CRASHED, "its container ended with exit code 7 and without a result"),
    (
        "exit code with a message",
        ended(1, message="no module shop"),
        Stage.CRASHED,
        "its container ended with exit code 1 and without a result: no module shop",
    ),
    ("a signal", ended(139), Stage.CRASHED, "its container was killed by signal 11"),
    (
        "killed",
        ended(137),
        Stage.CRASHED,
        "its container was killed by signal 9, perhaps for its use of memory",
    ),
    ("memory", ended(137, "OOMKilled"), Stage.CRASHED, "its container was killed: out of memory (limit 512Mi)"),
    (
        "memory, while the pod counts as running",
        {"phase": "Running", **container(terminated={"exitCode": 137, "reason": "OOMKilled"})},
        Stage.CRASHED,
        "its container was killed: out of memory (limit 512Mi)",
    ),
    (
        "evicted",
        {"phase": "Failed", "reason": "Evicted", "message": "The node was low on resource: memory."},
        Stage.LOST,
        "it was evicted by its node: The node was low on resource: memory.",
    ),
    ("node gone", disrupted("DeletionByTaintManager"), Stage.LOST, "its node is not reachable, or was tainted"),
    ("drained", disrupted("EvictionByEvictionAPI"), Stage.LOST, "it was evicted: its node is drained"),
    ("preempted", disrupted("PreemptionByScheduler"), Stage.LOST, "it was preempted by a pod of higher priority"),
    ("shut down", {"phase": "Failed", "reason": "NodeShutdown"}, Stage.LOST, "its node was shut down"),
    (
        "its node is silent, and its container may run",
        {"phase": "Unknown", **container(running={"startedAt": "x"})},
        Stage.RUNNING,
        "its node is not reachable",
    ),
    ("its node is silent", {"phase": "Unknown"}, Stage.WAITING, "pod_waits: its node is not reachable"),
    ("failed, nothing more", {"phase": "Failed"}, Stage.LOST, "its pod has failed"),
    (
        "deadline",
        {"phase": "Failed", "reason": "DeadlineExceeded", "message": "active on the node longer than 60 s"},
        Stage.OVERDUE,
        "the deadline of its pod has passed: active on the node longer than 60 s",
    ),
]


@pytest.mark.parametrize(("status", "stage", "reason"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE])
def test_a_status_becomes_a_stage_and_a_reason_in_words(status: dict[str, Any], stage: Stage, reason: str) -> None:
    found = pod_state({"metadata": {}, "spec": LIMITED, "status": status})
    assert (found.stage, found.reason) == (stage, reason)
    assert found.over == (stage not in (Stage.WAITING, Stage.RUNNING))


def test_pulls_that_may_succeed_are_told_from_those_that_cannot() -> None:
    assert pod_state({"status": waiting("ErrImagePull")}).pull_fails
    found = pod_state({"status": waiting("InvalidImageName")})
    assert found.hopeless and not found.pull_fails


def test_a_container_that_was_never_started_is_told_from_one_that_was() -> None:
    assert not pod_state({"status": UNSCHEDULED}).began
    assert not pod_state({"status": {"phase": "Failed", "reason": "Evicted"}}).began
    assert pod_state({"status": {"phase": "Running", **container(running={"startedAt": "x"})}}).began
    assert pod_state({"status": ended(1)}).began


def test_a_pod_that_is_being_deleted_for_a_disruption_runs_until_its_container_has_ended() -> None:
    drained = "it was evicted: its node is drained"
    status = {**disrupted("EvictionByEvictionAPI"), "phase": "Running", **container(running={"startedAt": "x"})}
    found = pod_state({"metadata": {"deletionTimestamp": "x"}, "status": status})
    assert (found.stage, found.reason) == (Stage.RUNNING, drained)
    assert deleted_state(found) == PodState(Stage.LOST, drained, began=True)
    killed = {**status, "phase": "Failed", **container(terminated={"exitCode": 143})}
    found = pod_state({"metadata": {"deletionTimestamp": "x"}, "status": killed})
    assert (found.stage, found.reason) == (Stage.LOST, drained)
    well = {**status, "phase": "Succeeded", **container(terminated={"exitCode": 0})}
    assert pod_state({"metadata": {"deletionTimestamp": "x"}, "status": well}).stage is Stage.SUCCEEDED


def test_a_pod_that_is_taken_away_before_it_started_waits_until_it_is_deleted() -> None:
    found = pod_state({"metadata": {"deletionTimestamp": "x"}, "status": {**UNSCHEDULED, **preempted()}})
    assert (found.stage, found.reason) == (Stage.WAITING, "pod_waits: it was preempted by a pod of higher priority")
    assert deleted_state(found) == PodState(Stage.LOST, "it was preempted by a pod of higher priority")


@pytest.mark.parametrize("code", [137, 143])
def test_a_container_that_ends_by_the_deletion_of_its_pod_has_not_crashed(code: int) -> None:
    assert pod_state({"metadata": {}, "status": ended(code)}).stage is Stage.CRASHED
    found = pod_state({"metadata": {"deletionTimestamp": "x"}, "status": ended(code)})
    assert (found.stage, found.reason) == (Stage.LOST, "its pod was deleted")
    oom = pod_state({"metadata": {"deletionTimestamp": "x"}, "status": ended(137, "OOMKilled")})
    assert oom.stage is Stage.CRASHED


def test_a_pod_whose_other_containers_go_on_lingers() -> None:
    for code in (0, 1):
        states = container(terminated={"exitCode": code})
        assert pod_state({"status": {"phase": "Running", **states}}).lingers
        assert not pod_state({"status": {"phase": "Failed" if code else "Succeeded", **states}}).lingers
    assert not pod_state({"status": {"phase": "Running", **container(running={"startedAt": "x"})}}).lingers


def test_a_deleted_pod_is_lost_unless_it_had_ended() -> None:
    assert deleted_state(None) == PodState(Stage.LOST, "its pod was deleted")
    assert deleted_state(PodState(Stage.RUNNING, began=True)).began
    assert deleted_state(PodState(Stage.SUCCEEDED)).stage is Stage.SUCCEEDED


def test_a_failed_job_says_why() -> None:
    def job(**condition: str) -> dict[str, Any]:
        return {"status": {"conditions": [{"type": "Failed", "status": "True", **condition}]}}

    late = job_failure(job(reason="DeadlineExceeded", message="Job was active longer than specified deadline"))
    assert late is not None and late.stage is Stage.OVERDUE and "longer than" in late.reason
    other = job_failure(job(reason="BackoffLimitExceeded"))
    assert other is not None and other.stage is Stage.LOST
    assert job_failure({"status": {"conditions": [{"type": "Complete", "status": "True"}]}}) is None
    assert job_failure({}) is None
