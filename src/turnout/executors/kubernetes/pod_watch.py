"""Follows the Jobs and Pods of an executor: lists them, and watches the Pods from there on."""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Awaitable, Callable, Sequence
from math import inf
from typing import Any

from turnout.errors import StoreError
from turnout.executors.kubernetes.api import JOBS, OPENED, PODS, ApiError, ClusterApi
from turnout.executors.kubernetes.watch_state import MAX_JITTER, STEADY_SECONDS, Failure, List, WatchState
from turnout.rate_limited_log import RateLimitedLog

log = logging.getLogger("turnout.kubernetes")

BOOKMARK = "BOOKMARK"
Json = dict[str, Any]
Listed = Callable[[Sequence[Json], Sequence[Json], float], Awaitable[None]]
"""Takes all Jobs, all Pods, and when they were asked for, by the monotonic clock."""
Changed = Callable[[str, Json], Awaitable[None]]
"""Takes the kind of a change (``ADDED``, ``MODIFIED``, ``DELETED``) and the Pod. Called again if it fails."""


class PodWatch:
    """One watch, on one event loop, for as long as ``run`` runs."""

    def __init__(
        self,
        api: ClusterApi,
        selector: str,
        *,
        listed: Listed,
        changed: Changed,
        synced: Callable[[bool], None],
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._api = api
        self._selector = selector
        self._listed = listed
        self._changed = changed
        self._synced = synced
        self._sleep = sleep
        self._clock = clock
        self._log = RateLimitedLog(log)
        self.state = WatchState()

    async def run(self) -> None:
        """Never returns; failures are retried for ever."""
        while True:
            step = self.state.next()
            if step.delay:
                await self._sleep(step.delay * random.uniform(1.0, MAX_JITTER))
            try:
                if isinstance(step, List):
                    await self._list()
                else:
                    await self._watch(step.version)
            except ApiError as error:
                self._failed(error.failure)
            except StoreError as error:
                self._failed(Failure(None, f"what it has said cannot be compared with the database: {error}"))
            except Exception as error:
                log.exception("the watch of Pods failed and will be continued")
                self._failed(Failure(None, str(error)))
            self._synced(self.state.in_sync)

    async def _list(self) -> None:
        # The Pods come second: what happens to them while the Jobs are read is not missed.
        asked = self._clock()
        jobs, _ = await self._api.list(JOBS, self._selector)
        pods, version = await self._api.list(PODS, self._selector)
        await self._listed(jobs, pods, asked)
        self.state.listed(version)
        self._log.recovered("the API server at %s answers again", self._api.server)

    async def _watch(self, version: str) -> None:
        opened, events = inf, 0
        try:
            async for kind, pod in self._api.watch(PODS, self._selector, version):
                if kind not in (OPENED, BOOKMARK):
                    await self._changed(kind, pod)
                was_in_sync = self.state.in_sync
                if kind == OPENED:
                    opened = self._clock()
                    self.state.opened()
                else:
                    events += 1
                    self.state.saw(pod)
                if not was_in_sync:
                    self._log.recovered("the API server at %s answers again", self._api.server)
                    self._synced(True)
        finally:
            lasted = self._clock() - opened
            self.state.closed(lasted)
        self.state.ended(quiet=not events and lasted < STEADY_SECONDS)

    def _failed(self, failure: Failure) -> None:
        self.state.failed(failure)
        if self.state.failure is not None:
            self._log.failure("the API server at %s: %s", self._api.server, failure.message)
