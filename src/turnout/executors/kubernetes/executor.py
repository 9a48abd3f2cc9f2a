"""Runs attempts in Kubernetes, each in a Job of its own, and answers for those whose worker never connects.

The container of a Job is a worker that takes this attempt from the hub. So steps, results, acknowledgements, log lines
and the return to a new orchestrator are the hub's; Jobs, and what becomes of them, are handled here. Everything runs on
the engine's event loop.
"""

from __future__ import annotations

import asyncio
import logging
import time
import uuid
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Any

from turnout.contracts.executor import Loader, RemoteExecutor, Report, Work
from turnout.contracts.workers import Holders, NumberedLines, UsesHub
from turnout.errors import InvalidSetting, StoreError
from turnout.executors.kubernetes import job_outcomes
from turnout.executors.kubernetes.api import JOBS, ApiError, ClusterApi
from turnout.executors.kubernetes.attempt_jobs import AttemptJobs, resources_of
from turnout.executors.kubernetes.job_admission import JobAdmission
from turnout.executors.kubernetes.job_attempts import JobAttempt, JobTable
from turnout.executors.kubernetes.manifest import instance_of, selector_text
from turnout.executors.kubernetes.pod_events import PodEvents
from turnout.executors.kubernetes.pod_watch import PodWatch
from turnout.executors.kubernetes.settings import KubernetesSettings
from turnout.executors.workers.executor import WorkersExecutor
from turnout.executors.workers.hub_services import BackgroundTasks
from turnout.executors.workers.in_flight import token_of
from turnout.model.durations import seconds
from turnout.model.events import ExecutionResult, ExecutionStatus, ExecutorMetrics, TaskReadyEvent
from turnout.model.reasons import CLUSTER_UNAVAILABLE, HUB_UNAVAILABLE, NO_CAPACITY
from turnout.model.resources import Resources
from turnout.model.spec import TaskSpec
from turnout.model.workers import HubStatus
from turnout.wire.keys import KeyPair

log = logging.getLogger("turnout.kubernetes")

TICK = 1.0
"""Seconds between two looks at Jobs whose workers have not connected."""
FIRST_LIST_TIMEOUT = 10.0
"""Seconds that the start waits for the first list of Jobs; then it goes on in the background."""


class KubernetesExecutor(RemoteExecutor, UsesHub):
    """Creates a Job for every attempt. ``connect`` opens the API of the cluster; by default the settings name it."""

    local: bool = False
    kinds: frozenset[str] = frozenset({"python", "shell", "handler"})
    enforces_timeouts: bool = True
    isolates: bool = True
    outlives: bool = True
    trusted: bool = True

    def __init__(
        self,
        settings: KubernetesSettings | None = None,
        *,
        name: str = "kubernetes",
        connect: Callable[[], ClusterApi] | None = None,
    ) -> None:
        self.settings = settings = settings or KubernetesSettings()
        settings.check_rules(settings.table)
        self._name = name
        self._connect = connect or (lambda: ClusterApi.of(settings.kubeconfig, settings.context, settings.namespace))
        self._api: ClusterApi | None = None
        self._hub: WorkersExecutor
        self._loader: Loader
        self._table = JobTable()
        self._background = BackgroundTasks(log)
        self._jobs: AttemptJobs
        self._admission: JobAdmission
        self._watch: PodWatch | None = None
        self._room: Callable[[], object] = lambda: None
        self._listed = asyncio.Event()
        self._stopping = False
        self._counts: Counter[str] = Counter()

    @classmethod
    def of(cls, *, name: str = "kubernetes", **options: Any) -> KubernetesExecutor:
        """Makes the executor from a table of options: ``use = "kubernetes"`` and the keys of ``KubernetesSettings``."""
        return cls(KubernetesSettings.of(options), name=name)

    # -- the contract of executors ------------------------------------------------------------------------------
    @property
    def name(self) -> str:
        return self._name

    @property
    def capacity(self) -> int:
        return self.settings.max_jobs

    def capacity_of(self, body: str) -> int:
        return self.capacity

    def has_capacity(self) -> bool:
        return self._in_sync and self._active < self.capacity

    def metrics(self) -> ExecutorMetrics:
        total = sum(self._counts.values())
        return ExecutorMetrics(
            active_tasks=self._active,
            total_executed=total,
            total_failed=total - self._counts[ExecutionStatus.COMPLETED],
            capacity=self.capacity,
            running=min(sum(job.open and job.given for job in self._table), self.capacity),
        )

    def bind(self, loader: Loader) -> None:
        self._loader = loader

    def bind_hub(self, hub: object) -> None:
        """Takes the hub that the workers of its Jobs connect to. Raises InvalidSetting if there is none with keys."""
        if not isinstance(hub, WorkersExecutor) or hub.settings.key_file is None:
            raise InvalidSetting(
                f'executor "{self._name}" starts workers in pods, which need a hub with keys: set hub.address, '
                "hub.key_file and hub.workers_file",
                code="hub_without_keys",
            )
        self._hub = hub
        # Before the hub listens: a worker of an earlier orchestrator that is refused for good would end.
        hub.attempt_workers.await_list(self._name)
        hub.on_attempt_worker(self._joined)

    @property
    def holder_lease(self) -> float:
        """Seconds for which the session of a Job's worker lasts without a renewal."""
        return seconds(self._hub.settings.lease)

    def bind_holders(self, holders: Holders) -> None:
        """The hub has them: workers are its own."""

    def bind_lines(self, store: NumberedLines) -> None:
        """The hub has them: workers are its own."""

    def on_capacity(self, callback: Callable[[], None]) -> None:
        self._room = callback

    def refuses(self, task: TaskSpec) -> str | None:
        return None

    def fits(self, resources: Resources) -> str | None:
        """Returns why no pod can ask for these resources. Whether a node has them is the scheduler's to say: clusters
        grow by what waits."""
        try:
            resources_of(resources, self.settings)
        except InvalidSetting as error:
            return error.message
        return None

    async def check(self) -> str | None:
        """Returns why the Jobs of its namespace cannot be listed; None if they can."""
        api = self._connect()
        try:
            await api.probe(JOBS)
        except ApiError as error:
            status = "" if error.failure.status is None else f" ({error.failure.status})"
            return f"Jobs of namespace {api.namespace} at {api.server}: {error.failure.message}{status}"
        finally:
            await api.close()
        return None

    async def start(self) -> None:
        """Lists what is in the cluster. A cluster that does not answer delays attempts, not the orchestrator."""
        hub = self._hub
        if hub.authenticator is None:
            return
        template = await asyncio.to_thread(self.settings.template)
        api = self._api = self._connect()
        instance = instance_of(hub.authenticator.public_key)
        self._jobs = AttemptJobs(
            api, hub, self.settings, self._table, self._ended, self._background, name=self._name, template=template
        )
        self._admission = JobAdmission(self._table, self._jobs, hub, name=self._name)
        events = PodEvents(self._table, self._admission, self._jobs, hub, self._background)
        self._watch = PodWatch(
            api,
            selector_text(instance, self._name),
            listed=events.listed,
            changed=events.changed,
            synced=self._synced,
        )
        self._background.spawn(self._watch.run())
        self._background.repeat(lambda: TICK, self._tick, "the look at Jobs that wait")
        self._background.repeat(lambda: self._jobs.renewal_interval, self._jobs.renew, "the renewal of Jobs' sessions")
        try:
            async with asyncio.timeout(FIRST_LIST_TIMEOUT):
                await self._listed.wait()
        except TimeoutError:
            log.warning("the API server at %s does not answer yet; tasks wait for it", api.server)

    async def stop(self, timeout: float) -> None:
        """Ends the watch. Jobs go on, and the next orchestrator finds them; what has none yet is returned."""
        self._stopping = True
        for job in self._table:
            if job.event is not None and job.waits and not job.created:
                self._ended(job, ExecutionResult.returned(job.event, "the orchestrator is stopping"), remove=False)
        self._background.cancel()
        if self._api is not None:
            await self._api.close()

    def _synced(self, in_sync: bool) -> None:
        if in_sync:
            self._listed.set()
            self._hub.attempt_workers.listed(self._name)
            self._room()
        else:
            self._hub.attempt_workers.await_list(self._name)

    @property
    def _in_sync(self) -> bool:
        return self._watch is not None and self._watch.state.in_sync and not self._stopping and self._hub.listening

    @property
    def _active(self) -> int:
        return sum(job.open for job in self._table)

    # -- assigning ----------------------------------------------------------------------------------------------
    def selector(
        self,
        task: TaskSpec,
        labels: Mapping[str, str] | None,
        exclusive: bool = False,
        others: Sequence[TaskSpec] = (),
        resources: Resources | None = None,
    ) -> str:
        """Every task waits for the same: a slot among the Jobs."""
        return self._name

    def assign(self, selector: str) -> str | None:
        """Returns the id of the worker that the attempt's Job will start."""
        return uuid.uuid4().hex if self._in_sync else None

    @property
    def listening(self) -> bool:
        return self._hub.listening

    def has_holder(self, holder: str) -> bool:
        job = self._table.of_holder(holder)
        return job is not None and not job.over

    def is_leaving(self, holder: str) -> bool:
        """Every worker leaves after its attempt."""
        return self.has_holder(holder)

    def assign_again(self, event: TaskReadyEvent) -> bool:
        job = self._table.of_holder(event.holder)
        if job is None or job.over or job.event is not None or self._stopping:
            return False
        worker = self._hub.protocol.workers.get(event.holder)
        return worker is None or not worker.knows(job.token)

    def unassign(self, holder: str) -> None:
        """Nothing was reserved but a number."""

    def wait_reason(self, selector: str) -> str:
        if self._watch is None or not self._hub.listening:
            return HUB_UNAVAILABLE
        failure = self._watch.state.failure
        return NO_CAPACITY if failure is None else f"{CLUSTER_UNAVAILABLE}: {failure.message}"

    def name_of(self, holder: str) -> str:
        job = self._table.of_holder(holder)
        return holder if job is None else job.name

    def seen(self) -> HubStatus:
        return self._hub.seen()

    async def keep_holders(self) -> None:
        if self._api is not None:
            await self._jobs.renew()

    # -- attempts -----------------------------------------------------------------------------------------------
    def execute_many(self, events: Sequence[TaskReadyEvent], report: Report) -> None:
        for event in events:
            token = token_of(event.task_id, event.attempt, event.shadow)
            if event.again:
                self._resume(event, token, report)
            else:
                job, pair = self._jobs.new(event, token, report)
                self._background.spawn(self._launch(job, pair, event))

    def _resume(self, event: TaskReadyEvent, token: str, report: Report) -> None:
        """Answers from now on for an attempt whose Job an earlier orchestrator has created."""
        job = self._table.of_holder(event.holder)
        if job is None or job.over:
            # Never created a second time: the first Job may have run the body.
            report(ExecutionResult.lost(event, "its Job is gone"))
            return
        job.event, job.report, job.given, job.ended, job.since = event, report, False, False, time.monotonic()
        self._jobs.expect(job)
        self._joined(job.holder)

    async def _launch(self, job: JobAttempt, pair: KeyPair, event: TaskReadyEvent) -> None:
        try:
            work = await self._loaded(event)
            await self._jobs.launch(job, pair, work)
        except StoreError as error:
            self._ended(job, ExecutionResult.returned(event, error.code))
        except ApiError as error:
            self._jobs.not_created(job, event, error.failure)
        except Exception as error:
            self._ended(job, ExecutionResult.failed(event, error, retryable=not isinstance(error, InvalidSetting)))

    async def _loaded(self, event: TaskReadyEvent) -> Work:
        work = self._loader.load_now(event)
        return work if work is not None else await self._loader.load(event)

    def _joined(self, holder: str) -> None:
        """Gives the attempt to its worker, which is connected and has a slot."""
        job = self._table.of_holder(holder)
        worker = self._hub.protocol.workers.get(holder)
        if job is None or job.event is None or not job.waits or worker is None or not worker.session:
            return
        if not worker.free:
            return
        job.given = True
        self._hub.execute_many([job.event], lambda result: self._answered(job, result))

    def _answered(self, job: JobAttempt, result: ExecutionResult) -> None:
        """Takes the result that the hub has of the worker, or of its absence. A worker that has answered ends by
        itself. A Job whose run others drive is left to them."""
        worker = self._hub.protocol.workers.get(job.holder)
        result = job_outcomes.explained(result, job.state)
        if worker is not None and job.token in worker.unacknowledged:
            self._ended(job, result, remove=False)
        elif self._hub.ports.holders.drives(result.task_id):
            self._ended(job, result)
        else:
            self._ended(job, result, remove=False)
            job.release()

    def _ended(self, job: JobAttempt, result: ExecutionResult, *, remove: bool = True) -> None:
        """Hands the result in. With ``remove``, the Job has nothing left to do."""
        if job.ended:
            return
        job.ended, job.work = True, None
        self._counts[result.status] += 1
        if remove:
            self._jobs.remove(job)
        if job.report is not None:
            job.report(result)

    def cancel(self, event: TaskReadyEvent) -> None:
        job = self._table.of_token(token_of(event.task_id, event.attempt, event.shadow))
        if job is None or not job.open:
            return
        job.cancelled = True
        if not job.given:
            self._ended(job, ExecutionResult.cancelled(event))
            return
        # The worker ends the body; the Job's deletion ends a worker that does not.
        self._hub.cancel(event)
        self._jobs.delete(job)

    def withdraw(self, events: Sequence[TaskReadyEvent], reason: str) -> Awaitable[Any] | None:
        """Returns at once what no worker has: its worker would get nothing if it came."""
        given: list[TaskReadyEvent] = []
        for event in events:
            job = self._table.of_token(token_of(event.task_id, event.attempt, event.shadow))
            if job is None or not job.open:
                continue
            if job.given:
                given.append(event)
            elif not event.again:
                self._ended(job, ExecutionResult.returned(event, reason))
        return self._hub.withdraw(given, reason) if given else None

    # -- results ------------------------------------------------------------------------------------------------
    def acknowledge(self, results: Sequence[ExecutionResult]) -> None:
        """The hub acknowledges the results of workers; others have no holder that waits."""

    def reassign(self, results: Sequence[ExecutionResult]) -> None:
        """The hub leaves the results of workers to their owners."""

    def disown(self) -> None:
        """Ends what waits here as lost. Its Jobs go on: other orchestrators answer for them."""
        for job in self._table:
            if job.event is not None and job.waits:
                self._ended(job, ExecutionResult.lost(job.event, "others drive its run"), remove=False)
                job.release()

    def holders_died(self, holders: Collection[str]) -> None:
        """Sessions of Jobs that wait are opened again by the next renewal."""

    async def _tick(self) -> None:
        now = time.monotonic()
        for job in self._table:
            await self._jobs.check(job, now)
        await self._admission.remove_strangers(now, self.settings.start_timeout)
