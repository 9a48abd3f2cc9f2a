"""How do a child run and its parent stay in step? Commands go down to the child, its end comes up.

Everything here follows from what is stored of the two, so it may be done twice, and by the next owner.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from turnout.errors import RunNotFound, StoreError
from turnout.model.children import CHILD, Told, child_result, child_run_id, follow
from turnout.model.events import ExecutionResult
from turnout.model.machine import RunMachine
from turnout.model.rows import StoredRun, TaskRow
from turnout.model.states import TaskState
from turnout.orchestration.births import Births
from turnout.orchestration.owned import Answer, OwnedRun
from turnout.orchestration.stages import Stage

if TYPE_CHECKING:
    from turnout.orchestration.engine import Engine

log = logging.getLogger("turnout.children")


class Following:
    """Tells children what their parents do, and parents how their children ended."""

    def __init__(self, engine: Engine, births: Births) -> None:
        self._engine = engine
        self._births = births
        self._told: dict[str, asyncio.Task[None]] = {}
        """By the child's id: a command is on its way."""

    def keep_up(self, owned: OwnedRun, row: TaskRow, child: str, stored: StoredRun | None = None) -> None:
        """The child exists, in memory or as it is stored: its end is taken up, or it does as its parent does."""
        engine = self._engine
        mine = engine.runs.get(child)
        if mine is not None:
            self._tell(owned, row, child, follow(owned.machine.row, mine.machine.row))
        elif stored is not None and stored.row.state.terminal:
            engine.spawn(self._arrive(owned, row, stored))
        elif stored is not None:
            unowned, timeout = stored.owner is None, stored.new.timeout
            overdue = unowned and timeout is not None and stored.age > timeout
            told = follow(owned.machine.row, stored.row, overdue=overdue)
            self._tell(owned, row, child, told)
            if told is None and unowned and engine.may_start and not self.has_one_here(owned):
                engine.spawn(self._claim(child))

    def has_one_here(self, owned: OwnedRun) -> bool:
        """Whether this orchestrator drives a child of the run, too."""
        runs = self._engine.runs
        return any(child_run_id(owned.run_id, row.pos, row.attempt) in runs for row in awaited(owned.machine))

    async def heard(self, children: Iterable[str]) -> bool:
        """Waits until the commands to these children are carried out; False if there were none."""
        told = [self._told[child] for child in children if child in self._told]
        if told:
            await asyncio.wait(told)
        return bool(told)

    def answer(self, owned: OwnedRun, row: TaskRow, result: ExecutionResult) -> None:
        """The parent's attempt has ended."""
        if not owned.dropped:
            owned.results.append(Answer(row.pos, result))
            self._engine.enqueue(owned, Stage.STEP_RESULT_PROCESSOR)

    def _tell(self, owned: OwnedRun, row: TaskRow, child: str, told: Told | None) -> None:
        if told is not None and child not in self._told:
            self._told[child] = self._engine.spawn(self._carry(owned, row, child, told))

    async def _carry(self, owned: OwnedRun, row: TaskRow, child: str, told: Told) -> None:
        try:
            await self._engine.commands.carry_out(child, told.kind, told.reason)
        except (StoreError, RunNotFound) as error:
            log.warning("child run %s is told by the next sweep: %s", child, error)
        finally:
            self._told.pop(child, None)
        if not owned.dropped and child in self._engine.runs:
            # The parent may have changed its mind meanwhile.
            self.keep_up(owned, row, child)

    async def _arrive(self, owned: OwnedRun, row: TaskRow, stored: StoredRun) -> None:
        """The child has ended. Its parent's inbox says so too; the second answer to an attempt changes nothing."""
        try:
            result = await self._births.with_output(child_result(stored.new, stored.row))
        except StoreError as error:
            log.warning("the end of child run %s arrives with the next sweep: %s", stored.new.run_id, error)
        else:
            self.answer(owned, row, result)

    async def _claim(self, child: str) -> None:
        engine = self._engine
        try:
            loaded = await engine.in_thread(
                engine.store.claim_run, engine.session_id, child, engine.settings.limits.inline_output
            )
            if loaded is not None:
                await engine.adoption.take_over([loaded])
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
