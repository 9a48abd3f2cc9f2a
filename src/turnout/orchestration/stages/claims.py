"""Claims stored runs that have no owner, and reloads owned ones. Stage ``task_claimer``."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence

import msgspec

from turnout.authoring.registry import Registry
from turnout.contracts.store import Store
from turnout.errors import StoreError
from turnout.model.spec import WorkflowSpec, decode_spec
from turnout.orchestration.active_runs import ActiveRun, ActiveRuns
from turnout.orchestration.background import Background
from turnout.orchestration.session import OrchestratorSession
from turnout.orchestration.settings import EngineSettings
from turnout.orchestration.stages.stage import WorkQueue
from turnout.orchestration.stages.takeover import Takeover
from turnout.rate_limited_log import RateLimitedLog

log = logging.getLogger("turnout.claims")

INITIAL_BACKOFF, MAX_BACKOFF = 0.5, 5.0
"""Seconds until the reload of a run is retried."""


class ClaimScope(msgspec.Struct, frozen=True):
    """The runs that an orchestrator claims."""

    only: frozenset[str] | None = None
    """Workflows whose runs are claimed; None: all that are registered."""
    drives_stored: Callable[[WorkflowSpec], bool] | None = None
    """Returns whether runs of a workflow can be driven without its code; None: none can."""


class Claims:
    """Claims runs that have no owner."""

    def __init__(
        self,
        store: Store,
        registry: Registry,
        session: OrchestratorSession,
        runs: ActiveRuns,
        *,
        takeover: Takeover,
        background: Background,
        queue: WorkQueue,
        settings: EngineSettings,
        scope: ClaimScope,
    ) -> None:
        self._store = store
        self._registry = registry
        self._session = session
        self._runs = runs
        self._takeover = takeover
        self._background = background
        self._queue = queue
        self._settings = settings
        self.scope = scope
        self._rate_limited_log = RateLimitedLog(log)
        self._claim_queued = False
        self.claiming = 0
        """The number of claims in flight, during which the store may name runs as owned that are not active yet."""
        self.may_have_more = False
        """True if the last claim may have left runs unowned."""
        self._stored_drivable: dict[str, bool] = {}

    def request(self) -> None:
        """Queues a claim, unless one is queued."""
        if not self._claim_queued and not self._session.stopping:
            self._claim_queued = True
            self._queue.put(None)

    def forget_versions(self) -> None:
        """Makes the next claim judge anew which stored versions can be driven without their code."""
        self._stored_drivable.clear()

    @property
    def names(self) -> list[str]:
        """The workflows whose runs are claimed."""
        only = self.scope.only
        return [name for name in self._registry.workflows if only is None or name in only]

    async def queued_versions(self, names: Sequence[str]) -> Sequence[str]:
        """Returns versions of runs that wait for limits, and that can be driven without their code."""
        if self.scope.drives_stored is None:
            return ()
        return await self._drivable(await self._background.in_thread(self._store.queued_versions, names))

    async def process(self, requests: list[None]) -> None:
        self._claim_queued, self.may_have_more = False, True
        limit = min(self._settings.max_owned_runs - len(self._runs), self._settings.claim_batch)
        drives_stored, names = self.scope.drives_stored, self.names
        if limit <= 0 or not (names or drives_stored) or not self._session.may_start:
            return
        # A claim runs to its end, also if the stage executor that began it is replaced meanwhile.
        claim = self._background.spawn(self._claim(names, limit))
        try:
            await asyncio.wait({claim})
            claim.result()
        except BaseException:
            self._claim_queued = True  # the requests go back to the queue
            claim.add_done_callback(lambda done: done.cancelled() or done.exception())  # marks it as retrieved
            raise

    async def _claim(self, names: list[str], limit: int) -> None:
        self.claiming += 1
        try:
            versions = await self._without_code(names)
            claimed = await self._background.in_thread(
                self._store.claim_runs, self._session.id, names, limit, self._settings.limits.inline_output, versions
            )
            await self._takeover.take_over(claimed)
        except StoreError as error:
            self._rate_limited_log.failure("no runs claimed: %s", error)
            raise
        finally:
            self.claiming -= 1
        self._rate_limited_log.recovered("runs can be claimed again")
        self.may_have_more = len(claimed) == limit
        if self.may_have_more and len(self._runs) < self._settings.max_owned_runs:
            self.request()

    async def _without_code(self, names: list[str]) -> Sequence[str]:
        """Returns versions of unowned runs that can be driven without their code."""
        if self.scope.drives_stored is None:
            return ()
        return await self._drivable(await self._background.in_thread(self._store.unclaimed_versions, names))

    async def _drivable(self, found: Sequence[str]) -> Sequence[str]:
        drivable, drives_stored = self._stored_drivable, self.scope.drives_stored
        assert drives_stored is not None
        for version in found:
            if version not in drivable:
                text = await self._background.in_thread(self._store.workflow, version)
                drivable[version] = text is not None and drives_stored(decode_spec(text))
        return [version for version in found if drivable[version]]

    async def claim(self, run_ids: Sequence[str]) -> int:
        """Claims those of these runs that no other session owns. Returns how many were claimed."""
        claimed = await self._background.in_thread(
            self._store.claim_listed, self._session.id, run_ids, self._settings.limits.inline_output
        )
        await self._takeover.take_over(claimed)
        return len(claimed)

    async def reload(self, owned: ActiveRun, backoff: float = INITIAL_BACKOFF) -> None:
        """Claims a run again under a new epoch, since memory and store differ. Releases it if it has another owner."""
        try:
            if await self.claim([owned.run_id]):
                return
        except StoreError as error:
            log.debug("the reload of run %s is retried: %s", owned.run_id, error)
            longer = min(backoff * 2, MAX_BACKOFF)
            self._background.later(backoff, lambda: self._background.spawn(self.reload(owned, longer)))
            return
        log.info("run %s belongs to another orchestrator now", owned.run_id)
        self._runs.release(owned)
