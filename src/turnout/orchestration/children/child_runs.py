"""Starts child runs: ensures that each running task whose body is a workflow has its child.

The parent's task is committed as running first; then the child is inserted, under the id that this attempt's child
always has. If that is interrupted, the next owner or the sweep ensures that the child exists.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence

from turnout.authoring.registry import Registry
from turnout.contracts.store import ReadStore
from turnout.errors import InputError, StoreError, StoreRejected, TurnoutError
from turnout.model.children import CHILD, CHILD_REFUSED, PARENT_GONE, child_run_id, is_child
from turnout.model.events import DispatchDecision, ErrorInfo, ExecutionResult
from turnout.model.rows import InboxRow, NewRun, TaskRow
from turnout.model.states import RunState, TaskState
from turnout.model.transition import Transition
from turnout.orchestration.active_runs import ActiveRun, ActiveRuns, RunCommand
from turnout.orchestration.background import Background, Wakeups
from turnout.orchestration.children.propagation import Propagation, awaited
from turnout.orchestration.children.requests import ChildRequests
from turnout.orchestration.session import OrchestratorSession
from turnout.orchestration.stages.pending_submissions import PendingSubmissions

log = logging.getLogger("turnout.children")

MAX_PROPAGATION_ROUNDS = 3
"""How often a pause checks the children before it is acknowledged: a command to one may have been in flight."""


class ChildRuns:
    """The children of the runs that this orchestrator owns, whichever orchestrator drives them."""

    def __init__(
        self,
        store: ReadStore,
        registry: Registry,
        session: OrchestratorSession,
        runs: ActiveRuns,
        *,
        submissions: PendingSubmissions,
        requests: ChildRequests,
        propagation: Propagation,
        background: Background,
        wakeups: Wakeups,
    ) -> None:
        self._store = store
        self._registry = registry
        self._session = session
        self._runs = runs
        self._submissions = submissions
        self._requests = requests
        self._propagation = propagation
        self._background = background
        self._wakeups = wakeups
        self._starting: dict[str, asyncio.Task[None]] = {}
        """By the child's id: the task that looks it up or inserts it."""

    # -- called by the stages -----------------------------------------------------------------------------------
    def start_ready(self, owned: ActiveRun, transition: Transition) -> None:
        """Moves tasks that are child runs from ready to running. They take no executor's slot."""
        machine = owned.machine
        if not self._session.may_start:
            return
        graph = machine.graph
        for pos in list(transition.ready()):
            row = transition.task(pos)
            if not is_child(graph, row):
                continue
            name = graph.tasks[row.task_pos].body.ref
            if self._registry.child_of(machine.new, name) is None:
                transition.set_wait_reason(pos, f"no_orchestrator_has{{{name}}}")
                continue
            child = child_run_id(owned.run_id, pos, row.attempt + 1)
            transition.start(pos, DispatchDecision(CHILD, f"child run {child}"), CHILD)

    def applied(self, owned: ActiveRun, transition: Transition, commands: Sequence[RunCommand]) -> None:
        """Starts the new children of a parent whose transition is committed, and propagates its state to the others."""
        for row in transition.rows.values():
            if row.state is TaskState.RUNNING and row.holder == CHILD:
                self._ensure(owned, row, first_start=True)
        # A pause is acknowledged when the children have paused too: after it nothing new starts in any of them.
        moved = transition.run is not None and not transition.run.state.terminal
        pauses = [command for command in commands if command.kind == "pause" and moved]
        for command in commands:
            if command not in pauses:
                command.acknowledge()
        if moved:
            self._background.spawn(self._propagate(owned, pauses))

    def resume(self, owned: ActiveRun) -> None:
        """Ensures the children of a run that was claimed: an earlier owner may not have inserted them."""
        for row in awaited(owned.machine):
            self._ensure(owned, row)

    def ended(self, new: NewRun) -> None:
        """Called when a child of this orchestrator has ended, and its parent's inbox has the result."""
        if new.parent_run in self._runs:
            self._wakeups.announce("inbox")

    def may_exceed(self, new: NewRun) -> bool:
        """True if a child is owned although there is no room: one for each parent, or parents could wait for ever."""
        parent = self._runs.get(new.parent_run or "")
        return parent is not None and not self._propagation.drives_child(parent)

    async def completed_result(self, row: InboxRow, result: ExecutionResult) -> ExecutionResult:
        """Returns the result of an inbox row; a child's with its output, which is read now."""
        return await self._requests.with_output(result) if row.holder == CHILD else result

    # -- existence of a child -------------------------------------------------------------------------------------
    def _ensure(self, owned: ActiveRun, row: TaskRow, *, first_start: bool = False) -> None:
        child = child_run_id(owned.run_id, row.pos, row.attempt)
        if child not in self._starting:
            self._starting[child] = self._background.spawn(self._find_or_start(owned, row, child, first_start))

    async def _find_or_start(self, owned: ActiveRun, row: TaskRow, child: str, first_start: bool) -> None:
        try:
            if not await self._find(owned, row, child, first_start):
                await self._start(owned, row, child)
        except StoreRejected as error:
            self._fail(owned, row, ErrorInfo("StoreRejected", error.message, code=CHILD_REFUSED))
        except StoreError as error:
            log.warning("child run %s is ensured by the next sweep: %s", child, error)
        except TurnoutError as error:
            log.info("child run %s was not started: %s", child, error)
        except Exception as error:
            log.exception("child run %s could not be started", child)
            message = f"child run {child} could not be started: {error}"
            self._fail(owned, row, ErrorInfo(type(error).__name__, message, code=CHILD_REFUSED))
        finally:
            self._starting.pop(child, None)

    async def _find(self, owned: ActiveRun, row: TaskRow, child: str, first_start: bool) -> bool:
        """Returns whether the child exists. For the first start of an attempt it is not looked up: it cannot."""
        if child in self._runs:
            self._propagation.follow_up(owned, row, child)
            return True
        stored = None if first_start else await self._background.in_thread(self._store.run, child)
        if stored is not None:
            self._propagation.follow_up(owned, row, child, stored)
        return stored is not None

    async def _start(self, owned: ActiveRun, row: TaskRow, child: str) -> None:
        propagation = self._propagation
        detached = owned.machine.graph.tasks[row.task_pos].body.detached
        if owned.machine.row.state is RunState.CANCELLING and not detached:
            return propagation.deliver(owned, row, ExecutionResult.cancelled(owned.machine.event(row.pos, row)))
        try:
            request = await self._requests.request(owned, row, child)
        except InputError as error:
            return self._fail(owned, row, ErrorInfo(type(error).__name__, error.message, code=error.code))
        if request is None or owned.dropped:
            return None
        self._submissions.put([request])
        await request.accepted.wait()
        if child in self._runs or detached:
            propagation.follow_up(owned, row, child)
        elif owned.machine.row.state is not RunState.RUNNING:
            propagation.follow_up(owned, row, child, await self._background.in_thread(self._store.run, child))
        return None

    def _fail(self, owned: ActiveRun, row: TaskRow, error: ErrorInfo) -> None:
        event = owned.machine.event(row.pos, row)
        self._propagation.deliver(owned, row, ExecutionResult.failed(event, error, retryable=False))

    # -- propagation ----------------------------------------------------------------------------------------------
    async def _propagate(self, owned: ActiveRun, commands: Sequence[RunCommand]) -> None:
        """Propagates pause, resume or cancel to the children, and acknowledges the commands after that."""
        try:
            waiting = self._awaited_by(owned)
            starting = [task for child, task in self._starting.items() if child in waiting]
            if starting:
                await asyncio.wait(starting)
            for _ in range(MAX_PROPAGATION_ROUNDS):
                await self._check(waiting)
                if not commands or not await self._propagation.wait_for(waiting):
                    break
        except StoreError as error:
            log.warning("the children of run %s are commanded by the next sweep: %s", owned.run_id, error)
        finally:
            for command in commands:
                command.acknowledge()

    async def _check(self, waiting: Mapping[str, tuple[ActiveRun, TaskRow]]) -> None:
        if self._session.fenced:
            return  # the parents may have other owners by now, which propagate to the children
        elsewhere = [child for child in waiting if child not in self._runs and child not in self._starting]
        found = await self._background.in_thread(self._store.runs_by_id, elsewhere) if elsewhere else []
        stored = {run.new.run_id: run for run in found}
        for child, (owned, row) in waiting.items():
            now = owned.machine.tasks[row.pos]
            if owned.dropped or now.state is not TaskState.RUNNING or now.attempt != row.attempt:
                continue
            if child in self._runs or child in stored:
                self._propagation.follow_up(owned, row, child, stored.get(child))
            else:
                self._ensure(owned, row)

    @staticmethod
    def _awaited_by(owned: ActiveRun) -> dict[str, tuple[ActiveRun, TaskRow]]:
        return {child_run_id(owned.run_id, row.pos, row.attempt): (owned, row) for row in awaited(owned.machine)}

    async def sweep(self) -> None:
        """Repairs what a crash or a lost wake-up left behind, on the side of parents and of children."""
        waiting: dict[str, tuple[ActiveRun, TaskRow]] = {}
        has_parent = False
        for owned in self._runs.values():
            has_parent |= owned.machine.new.parent_run is not None
            if owned.machine.graph.children and not owned.busy:
                waiting |= self._awaited_by(owned)
        if waiting:
            await self._check(waiting)
        if has_parent:
            for run_id in await self._background.in_thread(self._store.orphans, self._session.id):
                orphan = self._runs.get(run_id)
                if orphan is not None:
                    self._runs.command(orphan, RunCommand("cancel", PARENT_GONE))
