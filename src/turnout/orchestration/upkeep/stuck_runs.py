"""Calls hooks on ``stuck`` of runs that have no owner, whose timers are set nowhere: they wait for limits or for room.

The run that delivers the event has the id that the hook's child always has. So it exists once, whichever orchestrators
find the run, and also if the run gets an owner meanwhile, which starts the same hook.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Sequence

from turnout.authoring.registry import Registry
from turnout.contracts.store import Store
from turnout.errors import StoreError, TurnoutError
from turnout.model.children import child_run_id
from turnout.model.notifications import stuck_event
from turnout.model.reasons import waits_for_limits
from turnout.model.rows import StoredRun, UnownedRun
from turnout.model.spec import WorkflowSpec
from turnout.orchestration.background import Background
from turnout.orchestration.loaders.stored_runs import GraphCache
from turnout.orchestration.run_requests import RunRequest, RunRequests
from turnout.orchestration.session import OrchestratorSession
from turnout.orchestration.stages.pending_submissions import PendingSubmissions

log = logging.getLogger("turnout.stuck")

PAGE = 1_000
"""Runs that one statement reads."""
Call = tuple[str, int]
"""A run, and the position of its hook."""


def stuck_times(spec: WorkflowSpec) -> list[float]:
    """Returns the seconds after which runs of a workflow are stuck; empty if nothing asks for it."""
    return [task.hook.after for task in spec.tasks if task.hook is not None and task.hook.on == "stuck"]


class StuckRuns:
    """The unowned runs of registered workflows that ask for it. Nothing is read while no workflow does, and otherwise
    only when one of its runs may be due."""

    def __init__(
        self,
        store: Store,
        registry: Registry,
        graphs: GraphCache,
        session: OrchestratorSession,
        *,
        requests: RunRequests,
        submissions: PendingSubmissions,
        background: Background,
    ) -> None:
        self._store = store
        self._registry = registry
        self._graphs = graphs
        self._session = session
        self._requests = requests
        self._submissions = submissions
        self._in_thread = background.in_thread
        self._revision = -1
        """That of the registry when the two below were read from it."""
        self._workflows: Sequence[str] = ()
        self._shortest = math.inf
        """Seconds that a new run of one of them has at least."""
        self._next = 0.0
        """The monotonic time before which no run is due."""
        self._called: set[Call] = set()

    async def check(self) -> None:
        """Called by the sweep while a run has no owner."""
        self._follow_registry()
        if not self._workflows or not self._session.may_start or time.monotonic() < self._next:
            return
        wait, seen = self._shortest, set[Call]()
        after: str | None = None
        while True:
            page = await self._in_thread(self._store.unowned_runs, self._workflows, after=after, limit=PAGE)
            for run in page:
                for call, left in await self._in_thread(self._times, run):
                    seen.add(call)
                    if left > 0:
                        wait = min(wait, left)
                    elif call not in self._called:
                        await self._call(call)
            if len(page) < PAGE:
                break
            after = page[-1].run_id
        self._called &= seen
        self._next = time.monotonic() + wait

    def _follow_registry(self) -> None:
        if self._revision == self._registry.revision:
            return
        self._revision = self._registry.revision
        times = {name: stuck_times(made.spec) for name, made in self._registry.workflows.items()}
        self._workflows = [name for name, found in times.items() if found]
        self._shortest = min((after for found in times.values() for after in found), default=math.inf)
        self._next = 0.0

    def _times(self, run: UnownedRun) -> list[tuple[Call, float]]:
        """Returns the hooks of a run with the seconds until each is due. Blocks."""
        graph = self._graphs.stored(run.version)
        return [((run.run_id, pos), after - run.age) for pos, after in graph.stuck_hooks]

    async def _call(self, call: Call) -> None:
        run_id, pos = call
        try:
            if await self._deliver(run_id, pos):
                self._called.add(call)
        except StoreError:
            raise
        except TurnoutError as error:
            log.warning("run %s is stuck, and its notification could not be stored: %s", run_id, error)

    async def _deliver(self, run_id: str, pos: int) -> bool:
        """Returns True if the event is durable, or there is nothing to send."""
        found = await self._in_thread(self._store.runs_by_id, [run_id])
        if not found or found[0].row.state.terminal:
            return True
        run, graph = found[0], await self._in_thread(self._graphs.stored, found[0].new.version)
        hook, definition = graph.tasks[pos].hook, self._registry.child_of(run.new, graph.tasks[pos].body.ref)
        if hook is None or definition is None:
            return False
        event = stuck_event(
            run_id=run_id,
            workflow=run.new.workflow,
            status=run.row.state.value,
            reason=await self._in_thread(self._reason, run),
            after=hook.after,
        )
        request = RunRequest(
            graph=definition.graph,
            input=definition.bind(event),
            definition=definition,
            run_id=child_run_id(run_id, pos, 1),
            priority=run.new.priority,
            timeout=definition.spec.timeout,
            answered=False,
        )
        submission = self._requests.build(request)
        self._submissions.put([submission])
        await submission.accepted.wait()
        return True

    def _reason(self, run: StoredRun) -> str | None:
        """Returns why the run waits, with the names of its limits. Blocks."""
        if not run.queued:
            return run.row.reason
        names = [each.name for each in self._store.limits_of(run.new.run_id) if not each.held]
        return waits_for_limits(names) if names else run.row.reason
