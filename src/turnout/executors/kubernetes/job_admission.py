"""Decides which Jobs of the cluster are known: those of this orchestrator, and others that the database confirms.

Labels and annotations can be written by anything that may create Pods in the namespace. A Job that was found is known,
and the hub admits its worker, only if the session that was stored before its creation has the same key.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from math import inf
from typing import Any

from turnout.executors.kubernetes.attempt_jobs import AttemptJobs
from turnout.executors.kubernetes.job_attempts import JobAttempt, JobTable, found_job
from turnout.executors.workers.executor import WorkersExecutor

log = logging.getLogger("turnout.kubernetes")

Json = Mapping[str, Any]


class JobAdmission:
    """The Jobs of one executor, as Jobs and Pods of the cluster announce them."""

    def __init__(self, table: JobTable, jobs: AttemptJobs, hub: WorkersExecutor, *, name: str) -> None:
        self._table = table
        self._jobs = jobs
        self._hub = hub
        self._waits = f"{name}, a Job that was found"
        self._strangers: dict[str, float] = {}
        """When Jobs were found that the database does not confirm, by name; inf once they were deleted."""

    def known(self, item: Json) -> JobAttempt | None:
        """Returns the Job that an object belongs to."""
        found = found_job(item, 0.0)
        job = None if found is None else self._table.of_holder(found.holder)
        if found is None or job is None or (job.name, job.token, job.key) != (found.name, found.token, found.key):
            return None
        return job

    async def admit(self, items: Sequence[Json]) -> None:
        """Makes the Jobs of these objects known. Raises StoreError if the database does not answer."""
        found = {each.holder: each for item in items if (each := self._unknown(item)) is not None}
        if not found:
            return
        keys = self._hub.attempt_workers
        # A worker that connects before the answer is asked to come again.
        keys.await_list(self._waits)
        try:
            stored = await self._hub.ports.holders.keys_of(sorted(found))
            for job in found.values():
                if stored.get(job.holder) != job.key or self._is_ordinary(job.key):
                    log.warning("Job %s is ignored: the database knows no such worker", job.name)
                    self._strangers[job.name] = time.monotonic()
                elif self._table.of_holder(job.holder) is None:
                    self._table.add(job)
                    self._jobs.expect(job)
        finally:
            keys.listed(self._waits)

    def retain(self, items: Sequence[Json]) -> None:
        """Forgets the strangers that are not among these."""
        names = {found.name for item in items if (found := found_job(item, 0.0)) is not None}
        self._strangers = {name: since for name, since in self._strangers.items() if name in names}

    async def remove_strangers(self, now: float, timeout: float) -> None:
        """Deletes Jobs that no database has confirmed within this time."""
        for name, since in list(self._strangers.items()):
            if now - since > timeout:
                self._strangers[name] = inf
                log.info("Job %s is removed: no run waits for it", name)
                await self._jobs.launcher.delete(name)

    def _unknown(self, item: Json) -> JobAttempt | None:
        found = found_job(item, time.monotonic())
        if found is None or found.name in self._strangers or self._table.of_holder(found.holder) is not None:
            return None
        return found

    def _is_ordinary(self, key: str) -> bool:
        """True if the key is that of a worker which is no Job's."""
        return self._hub.authenticator is not None and key in self._hub.authenticator.allowed.list
