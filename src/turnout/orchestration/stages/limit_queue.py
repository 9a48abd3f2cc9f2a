"""Gives slots of limits to runs and tasks that wait: after an end that frees some, and by the sweep."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from turnout.contracts.clock import boot_time
from turnout.contracts.store import LimitStore
from turnout.errors import StoreError
from turnout.model.limit_deadlocks import Key
from turnout.model.limits import LimitSize, resolved
from turnout.model.slot_admission import Admitted
from turnout.model.slots import RUN, AdmissionScope, SlotRequest
from turnout.model.transition import Transition
from turnout.orchestration.active_runs import ActiveRun, ActiveRuns
from turnout.orchestration.background import Background
from turnout.orchestration.messages import Submission
from turnout.orchestration.session import OrchestratorSession
from turnout.orchestration.stages.claims import Claims
from turnout.orchestration.stages.step_slots import StepSlots
from turnout.rate_limited_log import RateLimitedLog

log = logging.getLogger("turnout.limits")

DEADLOCK_INTERVAL = 10.0
"""Seconds between two looks for runs that wait for one another's limits."""


class LimitQueue:
    """Asks the store to give slots, one call at a time. Any orchestrator gives slots to what any other one drives."""

    def __init__(
        self,
        store: LimitStore,
        session: OrchestratorSession,
        runs: ActiveRuns,
        *,
        claims: Claims,
        background: Background,
        configured: Mapping[str, LimitSize],
    ) -> None:
        self._store = store
        self._session = session
        self._runs = runs
        self._claims = claims
        self._background = background
        self.steps = StepSlots(runs, configured)
        self._mine: set[str] = set()
        """Runs that were submitted here, of workflows whose runs are not claimed otherwise: each is claimed as soon as
        it has its slots."""
        self._names: set[str] = set()
        self._all = False
        """True if all limits are to be looked at, whatever the names."""
        self._asking = False
        self._due: float | None = None
        """The monotonic time at which a rate lets the next one pass."""
        self._rate_limited_log = RateLimitedLog(log)
        self._searched_at = 0.0
        self._deadlocked: frozenset[Key] = frozenset()
        """What waited in a circle at the last look."""
        self._reported: frozenset[Key] = frozenset()

    # -- called by the stages -----------------------------------------------------------------------------------
    def request(self, names: Iterable[str] | None = None) -> None:
        """Gives free slots of these limits, or of all, soon. A session that drives nothing leaves it to others."""
        if not self._session.drives:
            return
        if names is None:
            self._all = True
        else:
            self._names.update(names)
        if not self._asking:
            self._asking = True
            self._background.spawn(self._ask())

    def submitted(self, submission: Submission) -> None:
        """Called when a run that waits for limits is durable."""
        new = submission.new
        if self._session.drives and not submission.unowned and new.workflow not in self._claims.names:
            self._mine.add(new.run_id)
        self.request([use.name for use in submission.limits])

    def start_steps(self, owned: ActiveRun, transition: Transition, ready: list[int]) -> list[int]:
        """Returns the ready tasks that may start as far as their limits are concerned."""
        found = self.steps.startable(owned, transition, ready)
        if len(found) < len(ready):
            self.request(())
        return found

    def applied(self, owned: ActiveRun, transition: Transition) -> None:
        """Called when a transition of a run with limits was committed: what it has freed is given on."""
        machine = owned.machine
        names = self.steps.freed(owned, transition) if machine.graph.step_limited else set[str]()
        if machine.graph.run_limits and machine.row.state.terminal:
            input = msgspec.json.decode(machine.new.input)
            names.update(use.name for use in resolved(machine.graph.run_limits, input, f"run {owned.run_id}"))
        if names:
            self.request(names)

    # -- called by notifications and the sweep ------------------------------------------------------------------
    async def refresh(self) -> None:
        """Takes over slots that other orchestrators have given to owned runs and their tasks."""
        await self._claim_mine()
        await self._refresh_runs()
        waiting = self.steps.waiting
        if waiting:
            asked_at = boot_time()
            found = await self._background.in_thread(self._store.granted_tasks, waiting)
            self.steps.granted(found, asked_at)

    async def report_deadlocks(self) -> None:
        """Called by the sweep while something waits: logs runs that wait for one another's limits, at two looks in a
        row, once."""
        now = time.monotonic()
        if not self._session.drives or now - self._searched_at < DEADLOCK_INTERVAL:
            return
        self._searched_at = now
        found = await self._background.in_thread(self._store.limit_deadlocks)
        keys = frozenset(found.waiters)
        lasting, self._deadlocked = keys & self._deadlocked, keys
        if lasting and not lasting <= self._reported:
            log.warning("%s", found.sentence())
        self._reported = lasting

    async def _claim_mine(self) -> None:
        """Claims runs that were submitted here and have their slots now, unless another orchestrator has."""
        if not self._mine:
            return
        still = await self._background.in_thread(self._store.runs_without_slots, sorted(self._mine))
        admitted = self._mine - still
        self._mine &= still
        wanted = [run_id for run_id in admitted if run_id not in self._runs]
        if wanted and self._session.may_start:
            try:
                await self._claims.claim(wanted)
            except StoreError:
                self._mine.update(wanted)
                raise

    async def _refresh_runs(self) -> None:
        gated = self._runs.gated
        gated.intersection_update(self._runs)
        if not gated:
            return
        still = await self._background.in_thread(self._store.runs_without_slots, sorted(gated))
        for run_id in gated - still:
            gated.discard(run_id)
            owned = self._runs.get(run_id)
            if owned is not None:
                owned.awaits_slots = False
                self._runs.enqueue(owned)

    # -- one call at a time -------------------------------------------------------------------------------------
    async def _ask(self) -> None:
        try:
            while (requests := self.steps.take_requests()) or self._all or self._names:
                names = None if self._all else sorted(self._names)
                self._all, self._names = False, set()
                await self._admit(names, requests)
            self._rate_limited_log.recovered("slots of limits are given again")
        except StoreError as error:
            # What was asked for is found by the sweep.
            self._rate_limited_log.failure("no slots of limits were given: %s", error)
        finally:
            self._asking = False

    async def _admit(self, names: Sequence[str] | None, requests: Sequence[SlotRequest]) -> None:
        in_thread, scope = self._background.in_thread, await self._scope()
        if requests:
            try:
                admitted = await in_thread(self._store.request_slots, requests, scope)
            except StoreError:
                self.steps.put_back(requests)
                raise
            self._admitted(admitted, {use.name for request in requests for use in request.limits})
        if names is None or names:
            self._admitted(await in_thread(self._store.admit_waiting, names, scope), names)
        await self.refresh()

    async def _scope(self) -> AdmissionScope:
        names = self._claims.names
        return AdmissionScope(names, await self._claims.queued_versions(names), sorted(self._mine))

    def _admitted(self, admitted: Admitted, names: Iterable[str] | None) -> None:
        if any(pos == RUN for _, pos in admitted.granted):
            self._claims.request()
        if admitted.more:
            self.request(names)
        if admitted.next_in is not None:
            self._wait(admitted.next_in)

    def _wait(self, seconds: float) -> None:
        now = time.monotonic()
        if self._due is None or now + seconds < self._due:
            self._due = now + seconds
            self._background.later(seconds, self._on_due)

    def _on_due(self) -> None:
        if self._due is not None and time.monotonic() >= self._due:
            self._due = None
        self.request()
