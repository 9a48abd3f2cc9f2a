"""Keeps a child run and its parent in step: commands go down to the child, its end comes up.

Everything here follows from what is stored of the two, so it may be done twice, and by the next owner.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Iterator

from turnout.errors import RunNotFound, StoreError
from turnout.model.children import CHILD, ChildCommand, child_result, child_run_id, command_for_child
from turnout.model.events import ExecutionResult
from turnout.model.rows import StoredRun, TaskRow
from turnout.model.run_machine import RunMachine
from turnout.model.states import TaskState
from turnout.orchestration.active_run import ActiveRun
from turnout.orchestration.active_runs import ActiveRuns
from turnout.orchestration.background import Background
from turnout.orchestration.children.requests import ChildRequests
from turnout.orchestration.session import OrchestratorSession
from turnout.orchestration.stages.claims import Claims
from turnout.orchestration.stages.commands import Commands

log = logging.getLogger("turnout.children")


class Propagation:
    """Tells children what their parents do, and parents how their children ended."""

    def __init__(
        self,
        session: OrchestratorSession,
        runs: ActiveRuns,
        claims: Claims,
        commands: Commands,
        births: ChildRequests,
        background: Background,
    ) -> None:
        self._session = session
        self._runs = runs
        self._claims = claims
        self._commands = commands
        self._births = births
        self._spawn = background.spawn
        self._told: dict[str, asyncio.Task[None]] = {}
        """By the child's id: a command is on its way."""

    def keep_up(self, owned: ActiveRun, row: TaskRow, child: str, stored: StoredRun | None = None) -> None:
        """The child exists, in memory or as it is stored: its end is taken up, or it does as its parent does."""
        mine = self._runs.get(child)
        if mine is not None:
            self._tell(owned, row, child, command_for_child(owned.machine.row, mine.machine.row))
        elif stored is not None and stored.row.state.terminal:
            self._spawn(self._arrive(owned, row, stored))
        elif stored is not None:
            unowned, timeout = stored.owner is None, stored.new.timeout
            overdue = unowned and timeout is not None and stored.age > timeout
            told = command_for_child(owned.machine.row, stored.row, overdue=overdue)
            self._tell(owned, row, child, told)
            if told is None and unowned and self._session.may_start and not self.has_one_here(owned):
                self._spawn(self._claim(child))

    def has_one_here(self, owned: ActiveRun) -> bool:
        """Whether this orchestrator drives a child of the run, too."""
        children = (child_run_id(owned.run_id, row.pos, row.attempt) for row in awaited(owned.machine))
        return any(child in self._runs for child in children)

    async def heard(self, children: Iterable[str]) -> bool:
        """Waits until the commands to these children are carried out; False if there were none."""
        told = [self._told[child] for child in children if child in self._told]
        if told:
            await asyncio.wait(told)
        return bool(told)

    def answer(self, owned: ActiveRun, row: TaskRow, result: ExecutionResult) -> None:
        """The parent's attempt has ended."""
        if not owned.dropped:
            self._runs.deliver(owned, row.pos, result)

    def _tell(self, owned: ActiveRun, row: TaskRow, child: str, told: ChildCommand | None) -> None:
        if told is not None and child not in self._told:
            self._told[child] = self._spawn(self._carry(owned, row, child, told))

    async def _carry(self, owned: ActiveRun, row: TaskRow, child: str, told: ChildCommand) -> None:
        try:
            await self._commands.carry_out(child, told.kind, told.reason)
        except (StoreError, RunNotFound) as error:
            log.warning("child run %s is told by the next sweep: %s", child, error)
        finally:
            self._told.pop(child, None)
        if not owned.dropped and child in self._runs:
            # The parent may have changed its mind meanwhile.
            self.keep_up(owned, row, child)

    async def _arrive(self, owned: ActiveRun, row: TaskRow, stored: StoredRun) -> None:
        """The child has ended. Its parent's inbox says so too; the second answer to an attempt changes nothing."""
        try:
            result = await self._births.with_output(child_result(stored.new, stored.row))
        except StoreError as error:
            log.warning("the end of child run %s arrives with the next sweep: %s", stored.new.run_id, error)
        else:
            self.answer(owned, row, result)

    async def _claim(self, child: str) -> None:
        try:
            await self._claims.claim([child])
        except StoreError as error:
            log.warning("child run %s is claimed by the next sweep: %s", child, error)


def awaited(machine: RunMachine) -> Iterator[TaskRow]:
    """The running attempts that are child runs."""
    for pos in machine.graph.children:
        group = machine.groups.get(pos)
        for each in (pos,) if group is None else group.items:
            row = machine.tasks[each]
            if row.state is TaskState.RUNNING and row.holder == CHILD:
                yield row
