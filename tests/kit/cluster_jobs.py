"""The statuses that the Job controller of a cluster writes, and when it removes a Job that has ended."""

from __future__ import annotations

import calendar
import time
from typing import Any

Json = dict[str, Any]
STAMP = "%Y-%m-%dT%H:%M:%SZ"
ENDED = ("Succeeded", "Failed")


def stamp() -> str:
    return time.strftime(STAMP, time.gmtime())


def job_status(job: Json, pod: Json | None) -> Json | None:
    """Returns the status of a Job whose Pod has ended, or was deleted; None while that goes on, and if it is there."""
    phase = "Failed" if pod is None else pod["status"].get("phase")
    if phase not in ENDED or finished_at(job) is not None:
        return None
    now = stamp()
    begun = {"startTime": job["metadata"]["creationTimestamp"], "ready": 0, "terminating": 0}
    if phase == "Succeeded":
        conditions = [_condition(each, now, "CompletionsReached") for each in ("SuccessCriteriaMet", "Complete")]
        return {**begun, "completionTime": now, "succeeded": 1, "conditions": conditions}
    words = "Job has reached the specified backoff limit"
    conditions = [_condition(each, now, "BackoffLimitExceeded", words) for each in ("FailureTarget", "Failed")]
    return {**begun, "failed": 1, "conditions": conditions}


def finished_at(job: Json) -> float | None:
    """Returns when the Job has ended, in seconds since the epoch; None if it goes on."""
    for condition in (job.get("status") or {}).get("conditions") or ():
        if condition["type"] in ("Complete", "Failed"):
            return calendar.timegm(time.strptime(condition["lastTransitionTime"], STAMP))
    return None


def is_outdated(job: Json) -> bool:
    """True if the Job has ended longer ago than its ``ttlSecondsAfterFinished``."""
    ended, ttl = finished_at(job), job["spec"].get("ttlSecondsAfterFinished")
    return ended is not None and ttl is not None and time.time() >= ended + ttl


def _condition(kind: str, now: str, reason: str, message: str = "") -> Json:
    times = {"lastTransitionTime": now, "lastProbeTime": now}
    return {"type": kind, "status": "True", "reason": reason, "message": message, **times}
