"""Makes the Job of an attempt and its worker's key, keeps its session while it waits, and removes it."""

from __future__ import annotations

import logging
import socket
import time
from collections.abc import Callable
from typing import Any

import msgspec
import zmq

from turnout.contracts.executor import Report, Work
from turnout.errors import StoreError
from turnout.executors.kubernetes import job_outcomes
from turnout.executors.kubernetes.api import ClusterApi
from turnout.executors.kubernetes.job_attempts import JobAttempt, JobTable
from turnout.executors.kubernetes.job_launcher import JobLauncher
from turnout.executors.kubernetes.manifest import Identity, WorkerCall, instance_of, job_of, secret_of
from turnout.executors.kubernetes.quantities import requirements
from turnout.executors.kubernetes.settings import KubernetesSettings
from turnout.executors.kubernetes.watch_state import Failure
from turnout.executors.workers.attempt_workers import AttemptWorker
from turnout.executors.workers.executor import WorkersExecutor
from turnout.executors.workers.hub_services import BackgroundTasks
from turnout.executors.workers.in_flight import attempt_of
from turnout.executors.workers.settings import is_loopback
from turnout.model.durations import seconds
from turnout.model.events import ErrorInfo, ExecutionResult, TaskReadyEvent
from turnout.model.reasons import CLUSTER_UNAVAILABLE
from turnout.model.resources import Resources
from turnout.model.rows import Session
from turnout.model.workers import WorkerFacts, WorkerFigures, WorkerReport
from turnout.wire.keys import KeyPair

log = logging.getLogger("turnout.kubernetes")

RENEWALS = 2
"""Renewals of sessions per heartbeat interval of a worker."""

Ended = Callable[[JobAttempt, ExecutionResult], None]


class AttemptJobs:
    """The Jobs of one executor in the cluster."""

    def __init__(
        self,
        api: ClusterApi,
        hub: WorkersExecutor,
        settings: KubernetesSettings,
        table: JobTable,
        ended: Ended,
        background: BackgroundTasks,
        *,
        name: str,
        template: dict[str, Any],
    ) -> None:
        assert hub.authenticator is not None
        self._hub = hub
        self._settings = settings
        self._table = table
        self._ended = ended
        self._background = background
        self._name = name
        self._template = template
        self._server_key = hub.authenticator.public_key
        self._instance = instance_of(self._server_key)
        self.launcher = JobLauncher(api)

    # -- creation -----------------------------------------------------------------------------------------------
    def new(self, event: TaskReadyEvent, token: str, report: Report) -> tuple[JobAttempt, KeyPair]:
        """Returns a Job that is to be created, and new keys for its worker. The secret half is kept nowhere."""
        public, secret = zmq.curve_keypair()
        pair = KeyPair(public.decode(), secret.decode())
        identity = self._identity(event, token)
        job = JobAttempt(
            name=identity.job_name,
            holder=event.holder,
            token=token,
            key=pair.public,
            since=time.monotonic(),
            event=event,
            report=report,
        )
        self._table.add(job)
        return job, pair

    async def launch(self, job: JobAttempt, pair: KeyPair, work: Work) -> None:
        """Creates the Job, with a session in the database first: an attempt of an unknown holder would be lost."""
        assert job.event is not None
        job.work = work
        identity = self._identity(job.event, job.token)
        call = WorkerCall(
            connect=await self._addresses(), server_key=self._server_key, keys=pair, modules=self._modules(work)
        )
        manifest = job_of(
            identity,
            self._settings,
            call,
            template=self._template,
            labels=work.labels,
            resources=resources_of(work.resources, self._settings),
        )
        await self._hub.ports.holders.open_session(_session(job), self._about(job))
        self.expect(job)
        until = job.since + self._settings.start_timeout
        if await self.launcher.create(
            manifest, lambda made: secret_of(identity, call, made), until=until, wanted=lambda: job.open
        ):
            job.created_at = time.monotonic()
        if not job.open:
            # It ended while it was being created: the first deletion may have come too early.
            job.removed = False
            self.remove(job)

    def not_created(self, job: JobAttempt, event: TaskReadyEvent, failure: Failure) -> None:
        """Ends an attempt whose Job the API server has refused, or not created in time."""
        words = f"its Job was not created: {failure.message}"
        if failure.is_refusal:
            result = ExecutionResult.failed(event, ErrorInfo("JobRefused", words), retryable=False)
        else:
            result = ExecutionResult.returned(event, f"{CLUSTER_UNAVAILABLE}: {words}", unavailable=True)
        self._ended(job, result)

    def _identity(self, event: TaskReadyEvent, token: str) -> Identity:
        return Identity(
            run_id=event.run_id,
            task_name=event.task_name,
            attempt=event.attempt,
            token=token,
            holder=event.holder,
            executor=self._name,
            instance=self._instance,
        )

    def _modules(self, work: Work) -> tuple[str, ...]:
        """Returns what the worker imports: the module of the function, unless others are named."""
        module, colon, _ = work.task.body.ref.partition(":")
        own = (module,) if work.task.body.kind == "python" and colon else ()
        return self._settings.modules or own

    async def _addresses(self) -> tuple[str, ...]:
        """Returns the address of this hub, and of others, to which the worker turns if this orchestrator dies."""
        mine = self._settings.hub_address or self._hub.address
        others = await self._hub.ports.holders.hubs()
        return (mine, *sorted(each for each in others if each != self._hub.address and not is_loopback(each)))

    # -- workers ------------------------------------------------------------------------------------------------
    def expect(self, job: JobAttempt) -> None:
        """Lets the hub admit the worker of this Job, for as long as that may run."""
        self._hub.attempt_workers.expect(AttemptWorker(job.holder, job.key))

    def dismiss(self, job: JobAttempt) -> None:
        """Called when the container of a Job has ended."""
        self._hub.dismiss(job.holder)

    @property
    def renewal_interval(self) -> float:
        return seconds(self._hub.settings.heartbeat) / RENEWALS

    async def renew(self) -> None:
        """Renews the sessions of Jobs that wait for their worker; the hub renews those of connected workers."""
        waiting = {job.holder: job for job in self._table if job.waits and (job.created or job.work is not None)}
        if not waiting:
            return
        renewed = await self._hub.ports.holders.renew({holder: self._about(job) for holder, job in waiting.items()})
        for holder in renewed.dead:
            await self._hub.ports.holders.open_session(_session(waiting[holder]), self._about(waiting[holder]))

    def _about(self, job: JobAttempt) -> str:
        facts = WorkerFacts(name=job.name)
        figures = WorkerFigures(id=job.holder, name=job.name)
        return msgspec.json.encode(WorkerReport(facts=facts, hub=self._hub.hub_id, figures=figures)).decode()

    # -- waits --------------------------------------------------------------------------------------------------
    async def check(self, job: JobAttempt, now: float) -> None:
        """Answers an attempt whose worker has not connected in time, and removes a Job that no run waits for, or whose
        other containers go on."""
        if job.state is not None and job.state.lingers and now - job.over_since > self._settings.grace:
            self.delete(job)
        late = now - job.since > self._settings.start_timeout
        if job.waits and job.event is not None:
            state = job.state
            if state is not None and state.pull_fails and job.pull_fails_since is not None:
                if now - job.pull_fails_since > self._settings.image_pull_timeout:
                    self._ended(job, job_outcomes.pull_failed(job.event, state))
            elif late and job.created:
                self._ended(job, job_outcomes.not_started(job.event, state, self._settings.start_timeout))
        elif late and job.event is None and not job.over and job.holder not in self._hub.protocol.workers:
            await self._remove_unwanted(job, now)

    async def _remove_unwanted(self, job: JobAttempt, now: float) -> None:
        job.since = now
        attempt = attempt_of(job.token)
        wanted = attempt is not None and await self._hub.ports.holders.extend_attempts(job.holder, [attempt])
        if not wanted:
            log.info("Job %s is removed: no run waits for it", job.name)
            self.remove(job)

    def fail(self, job: JobAttempt, result: ExecutionResult) -> None:
        """Ends an attempt by what became of its pod."""
        self._ended(job, result)

    # -- removal ------------------------------------------------------------------------------------------------
    def remove(self, job: JobAttempt) -> None:
        """Deletes the Job, and lets its worker in no longer. One whose pod has ended stays for people to look at, until
        the cluster removes it."""
        if job.state is None or not job.state.over:
            self.delete(job)
        self.dismiss(job)
        self._background.spawn(self._end_session(job.holder))

    def delete(self, job: JobAttempt) -> None:
        """Deletes the Job; its pod gets SIGTERM, and SIGKILL when its grace is over."""
        if not job.removed:
            job.removed = True
            self._background.spawn(self._delete(job))

    async def _delete(self, job: JobAttempt) -> None:
        # A Job without a Pod is not heard of again. One that could not be deleted is listed some day.
        if await self.launcher.delete(job.name) and job.removed and job.state is None and not job.open:
            self._table.remove(job)

    async def _end_session(self, holder: str) -> None:
        try:
            await self._hub.ports.holders.end_session(holder)
        except StoreError as error:
            log.warning("the session of worker %s will run out instead: %s", holder, error)


def resources_of(wanted: Resources | None, settings: KubernetesSettings) -> dict[str, Any]:
    """Returns the ``resources`` of a container by those of its task; None: it asks for nothing."""
    if wanted is None:
        return {}
    return requirements(
        cpu=wanted.cpu,
        memory=wanted.memory,
        gpu=wanted.gpu,
        custom=wanted.custom,
        gpu_resource=settings.gpu_resource,
        names=settings.custom_resources,
    )


def _session(job: JobAttempt) -> Session:
    return Session(id=job.holder, kind="worker", host=socket.gethostname(), key=job.key)
