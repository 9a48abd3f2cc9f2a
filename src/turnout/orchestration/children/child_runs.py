"""Child runs: makes sure that each task whose body is a workflow has its child.

The parent's task is committed as running first; then the child is inserted, under the id that this attempt's child
always has. Whatever is interrupted in between is found by the next owner, or by the sweep: both make sure that the
child exists.
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
from turnout.orchestration.active_run import ActiveRun, RunCommand
from turnout.orchestration.active_runs import ActiveRuns
from turnout.orchestration.background import Background
from turnout.orchestration.children.propagation import Propagation, awaited
from turnout.orchestration.children.requests import ChildRequests
from turnout.orchestration.session import OrchestratorSession
from turnout.orchestration.stages.pending_submissions import PendingSubmissions
from turnout.orchestration.upkeep.wakeups import Wakeups

log = logging.getLogger("turnout.children")

LOOKS = 3
"""How often a pause looks at the children before it is acknowledged: a command to one may have been under way."""


class ChildRuns:
    """The children of the runs that this orchestrator owns, wherever they are driven."""

    def __init__(
        self,
        store: ReadStore,
        registry: Registry,
        session: OrchestratorSession,
        runs: ActiveRuns,
        *,
        submissions: PendingSubmissions,
        births: ChildRequests,
        following: Propagation,
        background: Background,
        wakeups: Wakeups,
    ) -> None:
        self._store = store
        self._registry = registry
        self._session = session
        self._runs = runs
        self._submissions = submissions
        self._births = births
        self._following = following
        self._background = background
        self._wakeups = wakeups
        self._starting: dict[str, asyncio.Task[None]] = {}
        """By the child's id: it is being looked for, or inserted."""

    # -- hooks of the stages ------------------------------------------------------------------------------------
    def place(self, owned: ActiveRun, transition: Transition) -> None:
        """Ready to running, for child runs: they take no executor's place."""
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

    def applied(self, owned: ActiveRun, transition: Transition, orders: Sequence[RunCommand]) -> None:
        """A parent's turn is committed: its new children are born, the others do as it does."""
        for row in transition.rows.values():
            if row.state is TaskState.RUNNING and row.holder == CHILD:
                self._make_sure(owned, row, fresh=True)
        # A pause is acknowledged when the children have paused too: after it nothing new starts in any of them.
        moved = transition.run is not None and not transition.run.state.terminal
        pauses = [order for order in orders if order.kind == "pause" and moved]
        for order in orders:
            if order not in pauses:
                order.acknowledge()
        if moved:
            self._background.spawn(self._all_follow(owned, pauses))

    def take_up(self, owned: ActiveRun) -> None:
        """The run was adopted: its children are there, or were never inserted."""
        for row in awaited(owned.machine):
            self._make_sure(owned, row)

    def ended(self, new: NewRun) -> None:
        """A child of this orchestrator has ended, and its parent's inbox has the result."""
        if new.parent_run in self._runs:
            self._wakeups.announce("inbox")

    def may_exceed(self, new: NewRun) -> bool:
        """Whether a child is taken although there is no room: one for each parent, or all would wait for theirs."""
        parent = self._runs.get(new.parent_run or "")
        return parent is not None and not self._following.has_one_here(parent)

    async def opened(self, row: InboxRow, result: ExecutionResult) -> ExecutionResult:
        """What an inbox row says; a child's output is read now."""
        return await self._births.with_output(result) if row.holder == CHILD else result

    # -- making sure that a child exists -----------------------------------------------------------------------------
    def _make_sure(self, owned: ActiveRun, row: TaskRow, *, fresh: bool = False) -> None:
        child = child_run_id(owned.run_id, row.pos, row.attempt)
        if child not in self._starting:
            self._starting[child] = self._background.spawn(self._guarded(owned, row, child, fresh))

    async def _guarded(self, owned: ActiveRun, row: TaskRow, child: str, fresh: bool) -> None:
        try:
            if not await self._found(owned, row, child, fresh):
                await self._start(owned, row, child)
        except StoreRejected as error:
            self._fail(owned, row, ErrorInfo("StoreRejected", error.message, code=CHILD_REFUSED))
        except StoreError as error:
            log.warning("child run %s is looked after by the next sweep: %s", child, error)
        except TurnoutError as error:
            log.info("child run %s was not started: %s", child, error)
        except Exception as error:
            log.exception("child run %s could not be started", child)
            said = f"child run {child} could not be started: {error}"
            self._fail(owned, row, ErrorInfo(type(error).__name__, said, code=CHILD_REFUSED))
        finally:
            self._starting.pop(child, None)

    async def _found(self, owned: ActiveRun, row: TaskRow, child: str, fresh: bool) -> bool:
        """Whether the child is there already; nobody but this owner can have started one for a fresh attempt."""
        if child in self._runs:
            self._following.keep_up(owned, row, child)
            return True
        stored = None if fresh else await self._background.in_thread(self._store.run, child)
        if stored is not None:
            self._following.keep_up(owned, row, child, stored)
        return stored is not None

    async def _start(self, owned: ActiveRun, row: TaskRow, child: str) -> None:
        following = self._following
        if owned.machine.row.state is RunState.CANCELLING:
            return following.answer(owned, row, ExecutionResult.cancelled(owned.machine.event(row.pos, row)))
        try:
            request = await self._births.request(owned, row, child)
        except InputError as error:
            return self._fail(owned, row, ErrorInfo(type(error).__name__, error.message, code=error.code))
        if request is None or owned.dropped:
            return None
        self._submissions.put([request])
        await asyncio.wrap_future(request.accepted)
        if child in self._runs:
            following.keep_up(owned, row, child)
        elif owned.machine.row.state is not RunState.RUNNING:
            following.keep_up(owned, row, child, await self._background.in_thread(self._store.run, child))
        return None

    def _fail(self, owned: ActiveRun, row: TaskRow, error: ErrorInfo) -> None:
        event = owned.machine.event(row.pos, row)
        self._following.answer(owned, row, ExecutionResult.failed(event, error, retryable=False))

    # -- looking at children --------------------------------------------------------------------------------------
    async def _all_follow(self, owned: ActiveRun, orders: Sequence[RunCommand]) -> None:
        """The run was paused, resumed or is being cancelled; the orders wait for its children."""
        try:
            waiting = self._awaited_by(owned)
            starting = [task for child, task in self._starting.items() if child in waiting]
            if starting:
                await asyncio.wait(starting)
            for _ in range(LOOKS):
                await self._look_at(waiting)
                if not orders or not await self._following.heard(waiting):
                    break
        except StoreError as error:
            log.warning("the children of run %s follow with the next sweep: %s", owned.run_id, error)
        finally:
            for order in orders:
                order.acknowledge()

    async def _look_at(self, waiting: Mapping[str, tuple[ActiveRun, TaskRow]]) -> None:
        if self._session.fenced:
            return  # the parents may be others' by now, who tell their children themselves
        elsewhere = [child for child in waiting if child not in self._runs and child not in self._starting]
        found = await self._background.in_thread(self._store.runs_by_id, elsewhere) if elsewhere else []
        stored = {run.new.run_id: run for run in found}
        for child, (owned, row) in waiting.items():
            now = owned.machine.tasks[row.pos]
            if owned.dropped or now.state is not TaskState.RUNNING or now.attempt != row.attempt:
                continue
            if child in self._runs or child in stored:
                self._following.keep_up(owned, row, child, stored.get(child))
            else:
                self._make_sure(owned, row)

    @staticmethod
    def _awaited_by(owned: ActiveRun) -> dict[str, tuple[ActiveRun, TaskRow]]:
        return {child_run_id(owned.run_id, row.pos, row.attempt): (owned, row) for row in awaited(owned.machine)}

    async def sweep(self) -> None:
        """What a crash or a lost wake-up left behind, on either side."""
        waiting: dict[str, tuple[ActiveRun, TaskRow]] = {}
        has_parent = False
        for owned in self._runs.values():
            has_parent |= owned.machine.new.parent_run is not None
            if owned.machine.graph.children and not owned.busy:
                waiting |= self._awaited_by(owned)
        if waiting:
            await self._look_at(waiting)
        if has_parent:
            for run_id in await self._background.in_thread(self._store.orphans, self._session.id):
                orphan = self._runs.get(run_id)
                if orphan is not None:
                    self._runs.command(orphan, RunCommand("cancel", PARENT_GONE))
