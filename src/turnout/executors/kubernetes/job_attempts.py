"""Holds the Jobs that are known, those of this orchestrator and of others, and what is known of each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import inf
from typing import Any

import msgspec

from turnout.contracts.executor import Report, Work
from turnout.executors.kubernetes.manifest import HOLDER, KEY, TOKEN
from turnout.executors.kubernetes.pod_status import PodState
from turnout.model.events import TaskReadyEvent


class JobAttempt(msgspec.Struct, eq=False, kw_only=True):
    """One Job, and the attempt that it is for."""

    name: str
    holder: str
    token: str
    key: str
    """The public key of its worker."""
    since: float
    """When the wait for its worker began, by the monotonic clock."""
    event: TaskReadyEvent | None = None
    """The attempt, if this orchestrator has to answer it."""
    report: Report | None = None
    work: Work | None = None
    created_at: float = inf
    """When the API server was seen to have the Job, by the monotonic clock."""
    given: bool = False
    """The hub has given the attempt to the worker."""
    ended: bool = False
    """The attempt has its result."""
    removed: bool = False
    """The Job is deleted, or about to be."""
    cancelled: bool = False
    state: PodState | None = None
    over_since: float = inf
    """When its container was seen to have ended, by the monotonic clock."""
    pull_fails_since: float | None = None
    told: str = ""
    """The last reason that was written to the attempt's log."""

    @property
    def created(self) -> bool:
        return self.created_at < inf

    def release(self) -> None:
        """Called when another orchestrator answers for the attempt."""
        self.event = self.report = None
        self.given = self.ended = self.cancelled = False

    @property
    def open(self) -> bool:
        """True if this orchestrator has to answer the attempt."""
        return self.event is not None and not self.ended

    @property
    def waits(self) -> bool:
        """True if this orchestrator answers for it while its worker has not connected."""
        return self.open and not self.given

    @property
    def over(self) -> bool:
        """True if its container will not run any more."""
        return self.removed or (self.state is not None and self.state.over)


class JobTable:
    """Jobs by holder and by token."""

    def __init__(self) -> None:
        self._by_holder: dict[str, JobAttempt] = {}
        self._by_token: dict[str, JobAttempt] = {}

    def __iter__(self) -> Iterator[JobAttempt]:
        return iter(list(self._by_holder.values()))

    def __len__(self) -> int:
        return len(self._by_holder)

    def add(self, job: JobAttempt) -> None:
        self._by_holder[job.holder] = self._by_token[job.token] = job

    def remove(self, job: JobAttempt) -> None:
        if self._by_holder.get(job.holder) is job:
            del self._by_holder[job.holder]
        if self._by_token.get(job.token) is job:
            del self._by_token[job.token]

    def of_holder(self, holder: str) -> JobAttempt | None:
        return self._by_holder.get(holder)

    def of_token(self, token: str) -> JobAttempt | None:
        return self._by_token.get(token)


def found_job(item: Mapping[str, Any], now: float) -> JobAttempt | None:
    """Returns the Job that a Job or a Pod of the cluster belongs to, as one that was not known before; None if its
    labels are none of ours."""
    metadata: Mapping[str, Any] = item.get("metadata") or {}
    labels: Mapping[str, str] = metadata.get("labels") or {}
    annotations: Mapping[str, str] = metadata.get("annotations") or {}
    holder, token, key = labels.get(HOLDER), annotations.get(TOKEN), annotations.get(KEY)
    if not holder or not token or not key:
        return None
    return JobAttempt(name=job_name_of(item), holder=holder, token=token, key=key, since=now, created_at=now)


def job_name_of(item: Mapping[str, Any]) -> str:
    """Returns the name of a Job, or of the Job that a Pod belongs to."""
    metadata: Mapping[str, Any] = item.get("metadata") or {}
    for owner in metadata.get("ownerReferences") or ():
        if owner.get("kind") == "Job":
            return str(owner.get("name", ""))
    return str(metadata.get("name", ""))
