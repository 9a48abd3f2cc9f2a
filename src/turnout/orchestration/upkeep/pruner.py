"""Deletes runs on demand and by retention: one orchestrator for all, in small steps."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Sequence

from turnout.contracts.store import Store
from turnout.errors import RunNotFinished, StoreError
from turnout.model.durations import seconds
from turnout.model.retention import Deleted
from turnout.model.states import RunState
from turnout.orchestration.background import Background
from turnout.orchestration.session import OrchestratorSession
from turnout.orchestration.settings import Retention
from turnout.orchestration.stages.commands import Commands

log = logging.getLogger("turnout.retention")

DUTY = "retention"
LOOK = 1_000
"""Runs that are looked up at a time."""
PAUSE = 0.01
"""Seconds between two transactions, for everybody else's."""


class Pruner:
    """Deletes runs on demand and, if there is a ``Retention``, by itself. Lives on the engine's loop."""

    def __init__(
        self,
        store: Store,
        session: OrchestratorSession,
        commands: Commands,
        background: Background,
        retention: Retention | None,
    ) -> None:
        self._store = store
        self._session = session
        self._commands = commands
        self._in_thread = background.in_thread
        self._retention = retention
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        if self._retention is not None:
            self._task = asyncio.get_running_loop().create_task(self._keep_to(self._retention))

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    async def prune(self, older_than: float, states: Sequence[RunState], runs: int, rows: int) -> Deleted:
        """Delete all runs that ended in one of these states so long ago, and what nobody needs without them."""
        store, total = self._store, Deleted()
        # One time for all steps: what ends meanwhile is for the next pruning, or there would be no end to this one.
        before = await self._in_thread(store.clock) - older_than
        while ids := await self._in_thread(store.expired_runs, before, states, LOOK):
            gone = total.runs
            for start in range(0, len(ids), runs):
                total += await self._delete(ids[start : start + runs], rows)
            if total.runs == gone:  # others were quicker
                break
        return total + await self._in_thread(store.prune_rest, older_than)

    async def delete(self, run_id: str, *, force: bool, rows: int) -> Deleted:
        """Delete a run with its child runs; one that has not ended is refused, or with ``force`` cancelled first."""
        family = await self._in_thread(self._store.family, run_id)
        unfinished = [id for id, state in family.items() if not state.terminal]
        if unfinished and not force:
            state = family[unfinished[0]]
            raise RunNotFinished(
                f"run {unfinished[0]} is {state}: cancel it, or wait for its end, before you delete it",
                run_id=unfinished[0],
                state=str(state),
            )
        for id in unfinished:
            await self._commands.carry_out(id, "cancel", "deleted")
            await self._end_of(id)
        return await self._delete(list(family), rows)

    async def _delete(self, ids: list[str], rows: int) -> Deleted:
        total = Deleted(more=True)
        while total.more:
            total += await self._in_thread(self._store.delete_runs, ids, rows)
            await asyncio.sleep(PAUSE)
        return total

    async def _end_of(self, run_id: str) -> None:
        """A cancelled run may still wait for its attempts to stop; it ends within the grace that they have."""
        while any(not run.row.state.terminal for run in await self._in_thread(self._store.runs_by_id, [run_id])):
            await asyncio.sleep(0.05)

    async def _keep_to(self, retention: Retention) -> None:
        every = seconds(retention.every)
        while True:
            try:
                if await self._in_thread(self._store.take_duty, DUTY, self._session.id, every):
                    gone = await self.prune(
                        seconds(retention.older_than), retention.states, retention.runs, retention.rows
                    )
                    log.info("retention: %d runs deleted, with %d rows", gone.runs, gone.rows)
            except StoreError as error:
                log.warning("retention put off: %s", error)
            except Exception:
                log.exception("retention failed")
            await asyncio.sleep(every)
