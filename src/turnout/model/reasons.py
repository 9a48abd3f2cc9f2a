"""Holds the reasons of task and run states, their meanings and remedies, and the details of history rows."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import msgspec

from turnout.model.events import ExecutionResult, clipped

RUN_TIMED_OUT, STORE_REJECTED, TURN_FAILED = "run_timed_out", "store_rejected", "turn_failed"
FAILING_REASONS = frozenset({RUN_TIMED_OUT, STORE_REJECTED, TURN_FAILED})
"""Reasons for which a run that is being cancelled ends as failed."""
DATA_DISCARDED = frozenset({STORE_REJECTED, TURN_FAILED})
"""Reasons for which the data of the run are discarded."""
NOT_CHOSEN, TRIGGER_RULE = "not_chosen", "trigger_rule"
"""Reasons of a skip by choice, by a branch (``not_chosen:name``) or by a rule, which the default rule accepts."""
PRECONDITION = "precondition"
"""The reason of a task that its own preconditions skipped, and what was found: ``precondition:test -f data failed``."""
CONTINUED = "continue_on"
"""The reason of a failure by an exit code or an output after which the dependents of the task run all the same."""
NO_CAPACITY, WAITING_FOR_POLLER, WAITING_TO_RUN_ALONE = "no_capacity", "waiting_for_poller", "waiting_to_run_alone"
WAITING_TO_RUN_ALONE_ON_A_WORKER = "waiting_to_run_alone_on_a_worker"
BREAKER_OPEN = "breaker_open"
"""The reason of a task whose executor has failed repeatedly and gets probes only."""
LIMIT = "limit"
"""The reason of a task that waits for a slot of a limit, with the name: ``limit:customer-17``. Alone it is that of a
run, whose limits have rows of their own, and of an item whose group runs as many items as ``max_parallel`` allows."""
MAX_ACTIVE_STEPS = "limit:max_active_steps"
"""The reason of a task whose run has as many tasks at work as its workflow allows."""
NO_WORKER_MATCHES = "no_worker_matches"
WAITING_FOR_ITS_WORKER = "waiting_for_its_worker"
"""The reason of a task whose run stays on one worker, which is not connected here and whose lease is not over."""
CLUSTER_UNAVAILABLE = "cluster_unavailable"
"""The reason of a task whose executor runs attempts in a cluster that does not serve it."""
NO_NODE_FITS = "no_node_fits"
"""The reason of a task that asks for resources that no node of its cluster has, and what the nearest has."""
HUB_UNAVAILABLE = "hub_unavailable"
"""The reason of a task that goes to workers while its owner has no hub that is up."""
PAUSED, CANCELLED = "paused", "cancelled"
"""The reason of a returned attempt that had not begun when its run was paused or cancelled."""
CODE_MISSING = "code_missing"
"""The reason of an attempt that was returned by a process without its code."""
ITEMS_FAILED = "items_failed"
DEFERRED, DEFERRED_TOO_OFTEN = "deferred", "deferred_too_often"
UNDECLARED_CONDITION = "undeclared_condition"
"""The reason of a failed task that was to wait for a predicate which its code does not declare."""

UNMET = "unmet"
"""In the detail of an attempt that only evaluated a condition: its body did not begin."""

MAX_MESSAGE_LENGTH, MAX_TRACEBACK_LENGTH = 2_000, 10_000
"""Characters of an error that are kept for each attempt; of a traceback the first half and the last. The error of a
task's last attempt is complete on its row."""

MAX_NAMED_WORKERS = 3
"""Workers that a reason names."""


class WaitReason(NamedTuple):
    """The meaning of a waiting reason, and what ends or shortens the wait."""

    meaning: str
    remedy: str


RETRY_AT = "retry_at"
WAIT_REASONS: Mapping[str, WaitReason] = {
    NO_CAPACITY: WaitReason(
        "All slots of the task's executor, or of the workers that fit, are in use.",
        "Wait, raise the executor's capacity, or start more workers.",
    ),
    WAITING_FOR_POLLER: WaitReason(
        "The task is offered to pollers of its executor key, and none has claimed it.",
        "Start a poller for the executor key.",
    ),
    NO_WORKER_MATCHES: WaitReason(
        "No connected worker has the handler and the labels that the reason names.",
        "Start a worker with this handler and these labels, or correct the task's worker selector.",
    ),
    WAITING_FOR_ITS_WORKER: WaitReason(
        "The run stays on one worker (``affinity``). That worker is not connected, and its lease is not over.",
        "Wait: once the lease of the worker is over, the run goes to any worker with the labels that the reason names.",
    ),
    HUB_UNAVAILABLE: WaitReason(
        "The task goes to workers, and the hub of the run's owner is not up, or not configured with "
        "``strict_selectors``.",
        "Start the hub: the task starts when its run has an owner whose hub is up.",
    ),
    BREAKER_OPEN: WaitReason(
        "The breaker of the task's executor, or of the workers that fit, is open after repeated failures.",
        "Repair the executor or worker; probes close the breaker as soon as they succeed.",
    ),
    CLUSTER_UNAVAILABLE: WaitReason(
        "The cluster of the task's executor (Ray, Dask, Kubernetes) does not answer the run's owner, or does not let "
        "Turnout create what it needs; the reason, or the log of the owner, has its words.",
        "Start the cluster, or mend its address or permissions; the task starts as soon as the cluster answers.",
    ),
    NO_NODE_FITS: WaitReason(
        "No node of the cluster (Ray, Dask) has the resources of the task; the reason says what the nearest has.",
        "Add such a node, or ask for less. With ``scales`` the executor leaves it to a cluster that adds nodes.",
    ),
    "pod_unschedulable": WaitReason(
        "No node of the Kubernetes cluster took the pod of the last attempt; the reason has the scheduler's words.",
        "Add nodes, or ask for less: resources, node selectors, tolerations.",
    ),
    "pod_waits": WaitReason(
        "The pod of the last attempt did not start; the reason has the words of the cluster.",
        "Repair what the reason names, such as a volume or a Secret of the pod template.",
    ),
    "pod_not_connected": WaitReason(
        "The Job of the last attempt was created, and its worker did not reach the hub in time.",
        "Check the hub's address as pods see it, network policies, and the log of the pod.",
    ),
    LIMIT: WaitReason(
        "The limit that the reason names has no free slot. A reason that names none is a limit of the whole run, or "
        "``max_parallel`` of a mapped task.",
        "Wait: ``turnout limits show NAME`` shows the holders and the position; or raise the limit.",
    ),
    WAITING_TO_RUN_ALONE: WaitReason(
        "The task's attempts were lost with their processes, so it starts only while its executor runs nothing else.",
        "Wait; find out why its processes die, or route the task to an executor that isolates its attempts.",
    ),
    WAITING_TO_RUN_ALONE_ON_A_WORKER: WaitReason(
        "The task's attempts were lost with their workers, so it starts only on a worker that runs nothing else.",
        "Wait, or start another worker; find out why its workers die.",
    ),
    RETRY_AT: WaitReason(
        "The last attempt failed, and the delay of the retry policy is not over.",
        "Wait; correct the cause of the failure, which the task shows.",
    ),
    DEFERRED: WaitReason(
        "The task's body deferred itself until a time, or until the condition that follows the colon holds.",
        "Wait, or bring about the condition.",
    ),
    PAUSED: WaitReason("The run is paused.", "Resume the run."),
    CODE_MISSING: WaitReason(
        "The process that got the task does not have its code, or not in the version of the run.",
        "Start an orchestrator, poller or worker with the code of the run.",
    ),
    "no_orchestrator_has": WaitReason(
        "The task is a child run of a workflow that the owner of the run does not have.",
        "Add the workflow to the orchestrators that have the parent workflow.",
    ),
    "lost": WaitReason(
        "The process that ran the last attempt is gone, and the next attempt has not started.",
        "Wait; see the attempts of the task if it happens repeatedly.",
    ),
    "crashed": WaitReason(
        "The process of the last attempt ended without a result, and the next attempt has not started.",
        "Wait; see the attempts and the logs of the task if it happens repeatedly.",
    ),
    "not_importable": WaitReason(
        "The task's body cannot be imported by the executor that isolates attempts; it is offered to another executor.",
        "Define the body at the top level of a module.",
    ),
    "attempt_fenced": WaitReason(
        "The last attempt was not allowed to begin, since another process may have held it; it is offered again.",
        "Wait; check the connection to the database if it happens repeatedly.",
    ),
    "store_unreachable": WaitReason(
        "The executor could not read the task's data from the database.",
        "Restore the connection to the database.",
    ),
}
"""Reasons of ready tasks by the word that they begin with. Reasons in an executor's own words are not among
them. The reference of the documentation is generated from this table."""

_WORD = re.compile(r"[a-z_]+")
_encode = msgspec.json.Encoder().encode


def wait_reason(reason: str | None) -> WaitReason | None:
    """Returns the meaning and the remedy of a waiting reason; None if it is in an executor's own words.

    >>> wait_reason("no_worker_matches{gpu=true} handler train").remedy[:14]
    'Start a worker'
    """
    word = None if reason is None else _WORD.match(reason)
    return None if word is None else WAIT_REASONS.get(word[0])


def in_words(reason: str | None) -> str:
    """Returns the meaning of a waiting reason, with the reason itself; a reason in an executor's own words as it is.

    >>> in_words("paused")
    'the run is paused (paused)'
    """
    found = wait_reason(reason)
    if found is None:
        return reason or ""
    meaning = found.meaning.partition(". ")[0].rstrip(".").replace("``", "")
    return f"{meaning[0].lower()}{meaning[1:]} ({reason})"


@lru_cache(maxsize=1024)
def start_detail(executor: str, reason: str, worker: str | None = None) -> str:
    """Returns the detail of a start; ``worker`` is the name of the worker that gets it."""
    detail = {"executor": executor, "reason": reason}
    return _encode(detail if worker is None else {**detail, "worker": worker}).decode()


@lru_cache(maxsize=1024)
def reason_detail(reason: str | None) -> str | None:
    """Returns the detail of a move that no result caused."""
    return None if reason is None else _encode({"reason": reason}).decode()


def no_worker_matches(labels: Mapping[str, str], handler: str) -> str:
    """Returns the reason of a task that no connected worker fits, with the labels and the handler that it needs.

    >>> no_worker_matches({"gpu": "true"}, "train")
    'no_worker_matches{gpu=true} handler train'
    """
    return f"{NO_WORKER_MATCHES}{{{_labelled(labels)}}} handler {handler}"


def waiting_for_its_worker(name: str, labels: Mapping[str, str]) -> str:
    """Returns the reason of a task whose run stays on the worker of this name, with the labels of any later one.

    >>> waiting_for_its_worker("north-1", {"zone": "north"})
    'waiting_for_its_worker{north-1; zone=north}'
    """
    return f"{WAITING_FOR_ITS_WORKER}{{{name}; {_labelled(labels)}}}"


def _labelled(labels: Mapping[str, str]) -> str:
    return ", ".join(f"{name}={value}" for name, value in sorted(labels.items()))


def waits_for_limits(names: Sequence[str]) -> str:
    """Returns the reason of a task that waits for slots of these limits.

    >>> waits_for_limits(["customer-17", "mail"])
    'limit:customer-17, mail'
    """
    return f"{LIMIT}:{', '.join(names)}"


def breaker_open_on_workers(names: Sequence[str]) -> str:
    """Returns the reason of a task whose only workers have breakers that are not closed.

    >>> workers_barred(["gpu-1", "gpu-2", "gpu-3", "gpu-4"])
    'breaker_open{worker gpu-1, gpu-2, gpu-3 and 1 more}'
    """
    more = f" and {len(names) - MAX_NAMED_WORKERS} more" if len(names) > MAX_NAMED_WORKERS else ""
    return f"{BREAKER_OPEN}{{worker {', '.join(names[:MAX_NAMED_WORKERS])}{more}}}"


@lru_cache(maxsize=1024)
def success_detail(chosen: tuple[str, ...] | None, handler_version: str) -> str:
    """Returns the detail of a success that has one: the choice of a branch, and the version of a handler."""
    detail: dict[str, object] = {} if chosen is None else {"chosen": chosen}
    if handler_version:
        detail["handler_version"] = handler_version
    return _encode(detail).decode()


def end_detail(result: ExecutionResult, reason: str | None, delay: float | None) -> str:
    """Returns the detail of an attempt's end that is not success. ``delay`` is given if the attempt is retried."""
    detail: dict[str, object] = {"status": result.status}
    if reason:
        detail["reason"] = reason
    if result.error:
        detail["error"] = f"{result.error.type}: {result.error.message[:MAX_MESSAGE_LENGTH]}"
        # The error of the last attempt is on the task's row, so it is not written twice.
        if delay is not None and result.error.traceback:
            detail["traceback"] = clipped(result.error.traceback, MAX_TRACEBACK_LENGTH)
    if result.deferral is not None and result.deferral.unmet:
        detail[UNMET] = True
    if result.handler_version:
        detail["handler_version"] = result.handler_version
    if delay is not None:
        detail["retry_in"] = round(delay, 3)
        # The times on the task's row are those of its newest attempt.
        if result.started_at is not None:
            detail["started_at"] = round(result.started_at, 6)
    return _encode(detail).decode()
