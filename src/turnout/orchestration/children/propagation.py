"""Propagates commands from a parent run to its child, and the end of the child to its parent.

All of it follows from what is stored of the two, so it may be done twice, and by the next owner.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Iterator

import msgspec

from turnout.errors import RunNotFound, StoreError
from turnout.model.children import CHILD, ChildCommand, child_result, child_run_id, command_for_child
from turnout.model.events import ExecutionResult, ExecutionStatus
from turnout.model.rows import StoredRun, TaskRow
from turnout.model.run_machine import RunMachine
from turnout.model.states import TaskState
from turnout.orchestration.active_runs import ActiveRun, ActiveRuns
from turnout.orchestration.background import Background
from turnout.orchestration.children.requests import ChildRequests
from turnout.orchestration.session import OrchestratorSession
from turnout.orchestration.stages.claims import Claims
from turnout.orchestration.stages.commands import Commands

log = logging.getLogger("turnout.children")


class Propagation:
    """Sends commands to children, and delivers their results to the parents' attempts."""

    def __init__(
        self,
        session: OrchestratorSession,
        runs: ActiveRuns,
        claims: Claims,
        commands: Commands,
        requests: ChildRequests,
        background: Background,
    ) -> None:
        self._session = session
        self._runs = runs
        self._claims = claims
        self._commands = commands
        self._requests = requests
        self._spawn = background.spawn
        self._sending: dict[str, asyncio.Task[None]] = {}
        """The task that applies a command, by the child's id."""

    def follow_up(self, owned: ActiveRun, row: TaskRow, child: str, stored: StoredRun | None = None) -> None:
        """Delivers the result of an existing child that has ended, or sends it the command that its parent's state asks
        for. One that is detached has done its part as soon as it exists."""
        if owned.machine.graph.tasks[row.task_pos].body.detached:
            output = msgspec.json.encode({"run_id": child}).decode()
            event = owned.machine.event(row.pos, row)
            return self.deliver(owned, row, ExecutionResult.of(event, ExecutionStatus.COMPLETED, output=output))
        local = self._runs.get(child)
        if local is not None:
            self._send(owned, row, child, command_for_child(owned.machine.row, local.machine.row))
        elif stored is not None and stored.row.state.terminal:
            self._spawn(self._deliver_end(owned, row, stored))
        elif stored is not None:
            unowned, timeout = stored.owner is None, stored.new.timeout
            overdue = unowned and timeout is not None and stored.age > timeout
            command = command_for_child(owned.machine.row, stored.row, overdue=overdue)
            self._send(owned, row, child, command)
            if command is None and unowned and self._session.may_start and not self.drives_child(owned):
                self._spawn(self._claim(child))

    def drives_child(self, owned: ActiveRun) -> bool:
        """True if this orchestrator drives a child of the run."""
        children = (child_run_id(owned.run_id, row.pos, row.attempt) for row in awaited(owned.machine))
        return any(child in self._runs for child in children)

    async def wait_for(self, children: Iterable[str]) -> bool:
        """Waits until the commands to these children are applied. Returns False if there were none."""
        sending = [self._sending[child] for child in children if child in self._sending]
        if sending:
            await asyncio.wait(sending)
        return bool(sending)

    def deliver(self, owned: ActiveRun, row: TaskRow, result: ExecutionResult) -> None:
        """Delivers the result of the parent's attempt."""
        if not owned.dropped:
            self._runs.deliver(owned, row.pos, result)

    def _send(self, owned: ActiveRun, row: TaskRow, child: str, command: ChildCommand | None) -> None:
        if command is not None and child not in self._sending:
            self._sending[child] = self._spawn(self._carry_out(owned, row, child, command))

    async def _carry_out(self, owned: ActiveRun, row: TaskRow, child: str, command: ChildCommand) -> None:
        try:
            await self._commands.carry_out(child, command.kind, command.reason)
        except (StoreError, RunNotFound) as error:
            log.warning("the command to child run %s is sent by the next sweep: %s", child, error)
        finally:
            self._sending.pop(child, None)
        if not owned.dropped and child in self._runs:
            # The parent's state may have changed meanwhile.
            self.follow_up(owned, row, child)

    async def _deliver_end(self, owned: ActiveRun, row: TaskRow, stored: StoredRun) -> None:
        """Delivers the result of an ended child. The parent's inbox has it too; a second one changes nothing."""
        try:
            result = await self._requests.with_output(child_result(stored.new, stored.row))
        except StoreError as error:
            log.warning("the result of child run %s is delivered by the next sweep: %s", stored.new.run_id, error)
        else:
            self.deliver(owned, row, result)

    async def _claim(self, child: str) -> None:
        try:
            await self._claims.claim([child])
        except StoreError as error:
            log.warning("child run %s is claimed by the next sweep: %s", child, error)


def awaited(machine: RunMachine) -> Iterator[TaskRow]:
    """Yields the running attempts that are child runs."""
    for pos in machine.graph.children:
        group = machine.groups.get(pos)
        for each in (pos,) if group is None else group.items:
            row = machine.tasks[each]
            if row.state is TaskState.RUNNING and row.holder == CHILD:
                yield row
