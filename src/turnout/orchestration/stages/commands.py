"""Cancel, pause and resume from this process, whichever orchestrator owns the run."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

from turnout.contracts.executor import BEGIN_WITHIN
from turnout.contracts.store import Store
from turnout.errors import RunNotFound, StoreError, StoreUnreachable, TurnoutError
from turnout.model.reasons import TURN_FAILED
from turnout.model.states import TaskState
from turnout.orchestration.active_run import RunCommand
from turnout.orchestration.active_runs import ActiveRuns
from turnout.orchestration.background import Background
from turnout.orchestration.stages.claims import Claims
from turnout.orchestration.stages.withdrawal import STOPS

log = logging.getLogger("turnout.commands")

PAUSE = 0.05
"""Seconds between two looks whether another owner has done it."""


class Commands:
    """Gives a run's order to this orchestrator if it is the owner, else leaves a row for the one that is."""

    def __init__(self, store: Store, runs: ActiveRuns, claims: Claims, background: Background) -> None:
        self._store = store
        self._runs = runs
        self._claims = claims
        self._in_thread = background.in_thread

    async def carry_out(self, run_id: str, kind: str, reason: str | None = None) -> None:
        """Returns when the order is committed, and attempts that pollers hold have begun or never will."""
        await self._commit(run_id, kind, reason)
        if kind in STOPS and await self._polled(run_id):
            await asyncio.sleep(BEGIN_WITHIN)

    async def _polled(self, run_id: str) -> bool:
        """Whether a poller holds an attempt of the run that may not have begun, or held it until now."""
        try:
            sessions = await self._in_thread(self._store.live_sessions)
            pollers = {session.id for session in sessions if session.kind == "poller"}
            rows = await self._in_thread(self._store.tasks, run_id, outputs=False) if pollers else ()
        except StoreError:
            return True
        return any(row.holder in pollers and row.state in (TaskState.RUNNING, TaskState.CANCELLED) for row in rows)

    async def _commit(self, run_id: str, kind: str, reason: str | None) -> None:
        """Returns when the order is committed; a run that has ended needs none."""
        row: int | None = None
        while True:
            owned = self._runs.get(run_id)
            if owned is not None:
                order = RunCommand(kind, reason, row=row, done=asyncio.get_running_loop().create_future())
                self._runs.command(owned, order)
                assert order.done is not None
                try:
                    return await order.done
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
            await asyncio.sleep(PAUSE)

    async def refuse(self, rows: Sequence[int], why: str) -> None:
        """These commands of others cannot be carried out, and must not come back."""
        try:
            if rows:
                await self._in_thread(self._store.refuse_commands, rows, why)
        except StoreError as error:
            log.warning("commands %s will be refused again: %s", rows, error)
