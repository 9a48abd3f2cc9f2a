"""Claims stored runs that have no owner. Stage ``task_claimer``, and reloads."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence

import msgspec

from turnout.authoring.registry import Registry
from turnout.contracts.store import Store
from turnout.errors import StoreError
from turnout.model.spec import WorkflowSpec, decode_spec
from turnout.orchestration.active_run import ActiveRun
from turnout.orchestration.active_runs import ActiveRuns
from turnout.orchestration.background import Background
from turnout.orchestration.session import OrchestratorSession
from turnout.orchestration.settings import EngineSettings
from turnout.orchestration.stages.stage import WorkQueue
from turnout.orchestration.stages.takeover import Takeover
from turnout.rate_limited_log import RateLimitedLog

log = logging.getLogger("turnout.adoption")

INITIAL_BACKOFF, MAX_BACKOFF = 0.5, 5.0
"""Seconds until a run that could not be read anew is tried again. There may be many of them."""


class ClaimScope(msgspec.Struct, frozen=True):
    """Which runs an orchestrator claims."""

    only: frozenset[str] | None = None
    """Workflows whose runs are claimed; None: all that there is the code for."""
    drives_stored: Callable[[WorkflowSpec], bool] | None = None
    """Says whether runs of a workflow can be driven by what is stored of it alone; None: none can."""


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
        self._wanted = False
        """A claim is queued."""
        self.claiming = 0
        """Claims under way: the database may name runs as owned here that are not known here yet."""
        self.more = False
        """As far as this orchestrator knows, runs were left for claimers."""
        self._stored_drivable: dict[str, bool] = {}

    def request(self) -> None:
        """Looks for runs to claim, soon and once."""
        if not self._wanted and not self._session.stopping:
            self._wanted = True
            self._queue.put(None)

    async def process(self, wishes: list[None]) -> None:
        self._wanted, self.more = False, True
        limit = min(self._settings.max_owned_runs - len(self._runs), self._settings.claim_batch)
        only, drives_stored = self.scope.only, self.scope.drives_stored
        names = [name for name in self._registry.workflows if only is None or name in only]
        if limit <= 0 or not (names or drives_stored) or not self._session.may_start:
            return
        # A claim on its way is followed to its end, also if the stage executor that asked is replaced meanwhile.
        claim = self._background.spawn(self._claim(names, limit))
        try:
            await asyncio.wait({claim})
            claim.result()
        except BaseException:
            self._wanted = True  # the wishes go back to the queue
            claim.add_done_callback(lambda done: done.cancelled() or done.exception())  # nobody else asks how it went
            raise

    async def _claim(self, names: list[str], limit: int) -> None:
        self.claiming += 1
        try:
            versions = await self._without_code(names, self.scope.drives_stored)
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
        self.more = len(claimed) == limit
        if self.more and len(self._runs) < self._settings.max_owned_runs:
            self.request()

    async def _without_code(
        self, names: list[str], drives_stored: Callable[[WorkflowSpec], bool] | None
    ) -> Sequence[str]:
        """Versions of runs that wait for an owner, and need no code of a program to be driven."""
        if drives_stored is None:
            return ()
        known = self._stored_drivable
        found = await self._background.in_thread(self._store.unclaimed_versions, names)
        for version in found:
            if version not in known:
                text = await self._background.in_thread(self._store.workflow, version)
                known[version] = text is not None and drives_stored(decode_spec(text))
        return [version for version in found if known[version]]

    async def claim(self, run_ids: Sequence[str]) -> int:
        """Drives these runs, as far as no other session owns them. Returns how many were claimed."""
        claimed = await self._background.in_thread(
            self._store.claim_listed, self._session.id, run_ids, self._settings.limits.inline_output
        )
        await self._takeover.take_over(claimed)
        return len(claimed)

    async def reload(self, owned: ActiveRun, pause: float = INITIAL_BACKOFF) -> None:
        """Reads a run anew under a new epoch, since memory and database disagree about it, or lets it go."""
        try:
            if await self.claim([owned.run_id]):
                return
        except StoreError as error:
            log.debug("run %s will be read anew later: %s", owned.run_id, error)
            again = min(pause * 2, MAX_BACKOFF)
            self._background.later(pause, lambda: self._background.spawn(self.reload(owned, again)))
            return
        log.info("run %s belongs to another orchestrator now", owned.run_id)
        self._runs.release(owned)
