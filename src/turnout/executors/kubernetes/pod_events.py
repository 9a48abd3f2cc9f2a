"""Applies what the watch reports of Jobs and Pods to the attempts that they are for."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from typing import Any

from turnout.errors import StoreError
from turnout.executors.kubernetes import job_outcomes
from turnout.executors.kubernetes.attempt_jobs import AttemptJobs
from turnout.executors.kubernetes.job_admission import JobAdmission
from turnout.executors.kubernetes.job_attempts import JobAttempt, JobTable
from turnout.executors.kubernetes.pod_status import PodState, Stage, deleted_state, job_failure, pod_state
from turnout.executors.workers.executor import WorkersExecutor
from turnout.executors.workers.hub_services import BackgroundTasks
from turnout.executors.workers.in_flight import attempt_of, event_of
from turnout.model.events import ExecutionResult
from turnout.model.logs import Stream

log = logging.getLogger("turnout.kubernetes")

DELETED = "DELETED"
Json = Mapping[str, Any]


class PodEvents:
    """Follows every known Job of the executor, also those that other orchestrators have created."""

    def __init__(
        self,
        table: JobTable,
        admission: JobAdmission,
        jobs: AttemptJobs,
        hub: WorkersExecutor,
        background: BackgroundTasks,
    ) -> None:
        self._table = table
        self._admission = admission
        self._jobs = jobs
        self._hub = hub
        self._background = background

    async def listed(self, jobs: Sequence[Json], pods: Sequence[Json], asked: float) -> None:
        """Takes everything that there was when it was asked for: what was known then and is not among it is gone."""
        await self._admission.admit([*jobs, *pods])
        self._admission.retain([*jobs, *pods])
        with_pod: set[str] = set()
        named: set[str] = set()
        for pod in pods:
            if (job := self._admission.known(pod)) is not None:
                with_pod.add(job.holder)
                self._apply(job, pod_state(pod))
        for item in jobs:
            if (job := self._admission.known(item)) is not None:
                named.add(job.holder)
                failure = job_failure(item)
                # A Pod says more than its Job, and one that has not ended may still run its body.
                if failure is not None and job.holder not in with_pod and not job.over:
                    self._apply(job, failure)
        for job in self._table:
            if job.created_at < asked and job.holder not in named | with_pod:
                self._gone(job)

    async def changed(self, kind: str, pod: Json) -> None:
        """Takes one change of a Pod."""
        if kind != DELETED:
            await self._admission.admit([pod])
        job = self._admission.known(pod)
        if job is None:
            return
        if kind != DELETED:
            self._apply(job, pod_state(pod))
        elif job.open and not pod_state(pod).over:
            self._background.spawn(self._explain(job))
        else:
            self._apply(job, deleted_state(pod_state(pod)))
            self._forget(job)

    async def _explain(self, job: JobAttempt) -> None:
        """Ends an attempt whose Pod was deleted. Its Job may say why."""
        state = deleted_state(job.state)
        if job.state is None or not job.state.disruption:
            found = await self._jobs.launcher.failure_of(job.name)
            state = (None if found is None else job_failure(found)) or state
        self._apply(job, state)
        self._forget(job)

    def _gone(self, job: JobAttempt) -> None:
        self._apply(job, deleted_state(job.state))
        self._forget(job)

    def _forget(self, job: JobAttempt) -> None:
        if not job.open:
            self._table.remove(job)

    def _apply(self, job: JobAttempt, state: PodState) -> None:
        before, job.state = job.state, state
        if before is not None and before.over:
            return
        if state.over:
            job.over_since = time.monotonic()
            self._over(job, state)
        elif job.waits and job.event is not None:
            self._waits(job, state)
        elif state.reason and state.reason != job.told:
            # Its worker numbers the lines of the attempt's log from now on.
            job.told = state.reason
            log.info("the pod of Job %s goes on: %s", job.name, state.reason)

    def _waits(self, job: JobAttempt, state: PodState) -> None:
        assert job.event is not None
        if state.hopeless:
            self._jobs.fail(job, job_outcomes.pull_failed(job.event, state))
            return
        if not state.pull_fails:
            job.pull_fails_since = None
        elif job.pull_fails_since is None:
            job.pull_fails_since = time.monotonic()
        if state.reason and state.reason != job.told and job.work is not None and job.work.output is not None:
            job.told = state.reason
            job.work.output(job.event, Stream.LOG, f"pod of Job {job.name}: {state.reason}\n")

    def _over(self, job: JobAttempt, state: PodState) -> None:
        event = job.event
        if event is None:
            self._over_elsewhere(job, state)
        elif not job.ended:
            result = job_outcomes.ended(event, state, given=job.given)
            if job.cancelled and state.stage is not Stage.OVERDUE:
                result = ExecutionResult.cancelled(event)
            if job.given:
                self._hub.end_attempt(event, result)
            self._jobs.fail(job, result)
        self._jobs.dismiss(job)

    def _over_elsewhere(self, job: JobAttempt, state: PodState) -> None:
        """Posts the result of an attempt that another orchestrator began and this one has taken over. A worker that has
        ended well has delivered its result."""
        attempt = attempt_of(job.token)
        if attempt is None or state.stage is Stage.SUCCEEDED or not self._hub.ports.holders.drives(attempt[0]):
            return
        result = job_outcomes.ended(event_of(*attempt), state, given=True)
        self._background.spawn(self._post(job, result))

    async def _post(self, job: JobAttempt, result: ExecutionResult) -> None:
        try:
            await self._hub.ports.holders.post(job.holder, [result])
        except StoreError as error:
            log.warning("the end of Job %s is not posted; its lease will run out: %s", job.name, error)
