"""Creates and deletes Jobs with their Secrets, and repeats what the API server did not serve for the time being."""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar

from turnout.executors.kubernetes.api import JOBS, SECRETS, ApiError, ClusterApi
from turnout.executors.kubernetes.manifest import HOLDER
from turnout.executors.kubernetes.watch_state import MAX_JITTER, Failure, backoff

log = logging.getLogger("turnout.kubernetes")

CONFLICT, NOT_FOUND = 409, 404
DELETE_TIMEOUT = 300.0
"""Seconds for which the deletion of a Job is repeated."""
T = TypeVar("T")
Json = dict[str, Any]


class JobLauncher:
    """Creates and deletes Jobs of one namespace."""

    def __init__(self, api: ClusterApi, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep) -> None:
        self._api = api
        self._sleep = sleep

    async def create(
        self,
        job: Mapping[str, Any],
        secret: Callable[[Mapping[str, Any]], Json],
        *,
        until: float,
        wanted: Callable[[], bool],
    ) -> bool:
        """Creates the Job and then its Secret, which belongs to it: the pod waits for that. Returns False if the
        attempt was not wanted any more before both were there. Raises ApiError if the server refuses them, or has not
        served them until that time.

        A second creation of the same attempt finds the Job of the first, whatever became of the answer.
        """
        made = await self._repeated(lambda: self._created(JOBS, job), until, wanted)
        if made is None:
            return False
        if _holder_of(made) != _holder_of(job):
            raise ApiError(Failure(CONFLICT, f"there is another Job of the name {job['metadata']['name']}"))
        return await self._repeated(lambda: self._created(SECRETS, secret(made)), until, wanted) is not None

    async def delete(self, name: str) -> bool:
        """Deletes the Job, its Pod and its Secret. Returns False if that failed for good, which is logged: the Job ends
        by itself."""
        until = time.monotonic() + DELETE_TIMEOUT
        try:
            return bool(await self._repeated(lambda: self._deleted(name), until, lambda: True, patient=True))
        except ApiError as error:
            log.warning("Job %s cannot be deleted: %s", name, error.failure.message)
            return False

    async def failure_of(self, name: str) -> Json | None:
        """Returns the Job, None if it is gone or the server does not say."""
        try:
            return await self._api.get(JOBS, name)
        except ApiError:
            return None

    async def _deleted(self, name: str) -> bool:
        await self._api.delete(JOBS, name)
        return True

    async def _created(self, kind: str, item: Mapping[str, Any]) -> Json:
        try:
            return await self._api.create(kind, item)
        except ApiError as error:
            if error.failure.status != CONFLICT:
                raise
            # It may be ours: the answer to an earlier request was lost. A Secret is never read.
            return await self._api.get(kind, item["metadata"]["name"]) if kind == JOBS else dict(item)

    async def _repeated(
        self,
        request: Callable[[], Awaitable[T]],
        until: float,
        wanted: Callable[[], bool],
        *,
        patient: bool = False,
    ) -> T | None:
        """``patient``: also while the server does not allow it, as with credentials that have run out."""
        failures = 0
        while wanted():
            try:
                return await request()
            except ApiError as error:
                failures += 1
                delay = backoff(failures, error.failure) * random.uniform(1.0, MAX_JITTER)
                passes = error.failure.passes or (patient and not error.failure.is_refusal)
                if not passes or time.monotonic() + delay > until:
                    raise
                await self._sleep(delay)
        return None


def _holder_of(item: Mapping[str, Any]) -> str | None:
    return ((item.get("metadata") or {}).get("labels") or {}).get(HOLDER)
