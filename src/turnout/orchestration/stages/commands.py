"""Applies pause, resume and cancel, with any orchestrator as the owner of the run."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Sequence
from typing import Any

from turnout.contracts.dispatcher import Delivery
from turnout.contracts.executor import BEGIN_WITHIN
from turnout.contracts.store import Store
from turnout.errors import RunNotFound, StoreError, StoreUnreachable, TurnoutError
from turnout.model.children import CHILD
from turnout.model.events import TaskReadyEvent
from turnout.model.reasons import CANCELLED, PAUSED, TURN_FAILED
from turnout.model.states import TaskState
from turnout.orchestration.active_runs import ActiveRun, ActiveRuns, RunCommand
from turnout.orchestration.background import Background
from turnout.orchestration.stages.claims import Claims

STOPS = {"pause": PAUSED, "cancel": CANCELLED}
"""Commands after which nothing new begins, and the reason of the attempts that are taken back."""
log = logging.getLogger("turnout.commands")
POLL_INTERVAL = 0.05
"""Seconds between two checks whether another owner has applied a command."""


class Withdrawal:
    """Takes back attempts that have not begun before their run is paused or cancelled.

    A pause or a cancel is committed, and so acknowledged, only when every attempt of the run has begun or never will.
    Until then the run gets no new attempts. An attempt that was taken back ends as ``returned``: it costs no budget,
    also if the command is not applied.
    """

    def __init__(self, delivery: Delivery, runs: ActiveRuns, background: Background, timeout: float) -> None:
        self._delivery = delivery
        self._runs = runs
        self._background = background
        self._timeout = timeout
        """Seconds that an executor has to report what has begun."""

    def ready_commands(self, owned: ActiveRun) -> tuple[list[RunCommand], Sequence[RunCommand]]:
        """Returns the run's commands that may be applied now, and those that are deferred, in their order."""
        for count, command in enumerate(owned.commands):
            if command.kind in STOPS and not self._is_withdrawn(owned, command):
                return owned.commands[:count], owned.commands[count:]
        return list(owned.commands), ()

    def _is_withdrawn(self, owned: ActiveRun, command: RunCommand) -> bool:
        if command.withdrawal is None:
            waits = self._delivery.withdraw(_running(owned), STOPS[command.kind])
            if waits:
                command.withdrawal = self._background.spawn(self._wait(owned, waits))
        return command.withdrawal is None or command.withdrawal.done()

    async def _wait(self, owned: ActiveRun, waits: Collection[asyncio.Future[Any]]) -> None:
        _, late = await asyncio.wait(waits, timeout=self._timeout)
        if late:
            log.warning("run %s: an executor did not report within %g s what has begun", owned.run_id, self._timeout)
        # In a later iteration of the loop, when this task is done.
        self._background.later(0.0, lambda: self._resume(owned.run_id))

    def _resume(self, run_id: str) -> None:
        owned = self._runs.get(run_id)
        if owned is not None:
            self._runs.enqueue(owned)


def _running(owned: ActiveRun) -> list[TaskReadyEvent]:
    machine = owned.machine
    return [
        machine.event(row.pos, row)
        for row in machine.tasks
        if row.state is TaskState.RUNNING and row.holder != CHILD and row.pos not in machine.graph.mapped
    ]


class Commands:
    """Gives a command to the run if it is owned here, else stores it for the run's owner."""

    def __init__(self, store: Store, runs: ActiveRuns, claims: Claims, background: Background) -> None:
        self._store = store
        self._runs = runs
        self._claims = claims
        self._in_thread = background.in_thread

    async def carry_out(self, run_id: str, kind: str, reason: str | None = None) -> None:
        """Returns when the command is committed, and attempts that pollers hold have begun or never will."""
        await self._commit(run_id, kind, reason)
        if kind in STOPS and await self._polled(run_id):
            await asyncio.sleep(BEGIN_WITHIN)

    async def _polled(self, run_id: str) -> bool:
        """True if a poller holds an attempt of the run that may not have begun, or held it until now."""
        try:
            sessions = await self._in_thread(self._store.live_sessions)
            pollers = {session.id for session in sessions if session.kind == "poller"}
            rows = await self._in_thread(self._store.tasks, run_id, outputs=False) if pollers else ()
        except StoreError:
            return True
        return any(row.holder in pollers and row.state in (TaskState.RUNNING, TaskState.CANCELLED) for row in rows)

    async def _commit(self, run_id: str, kind: str, reason: str | None) -> None:
        """Returns when the command is committed, or the run has ended."""
        row: int | None = None
        while True:
            owned = self._runs.get(run_id)
            if owned is not None:
                command = RunCommand(kind, reason, row=row, done=asyncio.get_running_loop().create_future())
                self._runs.command(owned, command)
                assert command.done is not None
                try:
                    return await command.done
                except StoreUnreachable:
                    continue
            stored = await self._in_thread(self._store.run, run_id)
            if stored is None:
                raise RunNotFound(f"there is no run {run_id}", run_id=run_id)
            if stored.row.state.terminal:
                return
            if stored.owner is None and await self._claims.claim([run_id]):
                continue
            if row is None:
                row = await self._in_thread(self._store.add_command, run_id, kind, reason)
            elif await self._in_thread(self._store.command_done, row):
                refusal = await self._in_thread(self._store.command_refusal, row)
                if refusal is not None:
                    raise TurnoutError(f"run {run_id} cannot do this: {refusal}", code=TURN_FAILED, run_id=run_id)
                return
            await asyncio.sleep(POLL_INTERVAL)

    async def refuse(self, rows: Sequence[int], why: str) -> None:
        """Marks stored commands as refused, so that they are not read again."""
        try:
            if rows:
                await self._in_thread(self._store.refuse_commands, rows, why)
        except StoreError as error:
            log.warning("the refusal of commands %s is retried: %s", rows, error)
