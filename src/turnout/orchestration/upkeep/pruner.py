"""Deletes runs on demand and by retention, in small transactions, by one orchestrator for all."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from turnout.contracts.store import Store
from turnout.errors import RunNotFinished, StoreError
from turnout.model.durations import seconds
from turnout.model.retention import Deleted, KeepRule
from turnout.model.states import RunState
from turnout.orchestration.background import Background
from turnout.orchestration.session import OrchestratorSession
from turnout.orchestration.settings import Retention
from turnout.orchestration.stages.commands import Commands

log = logging.getLogger("turnout.retention")

DUTY = "retention"
MAX_LOOKUP = 1_000
"""Runs that are looked up at a time."""
DELETE_INTERVAL = 0.01
"""Seconds between two transactions at least, so that others get the database."""
DELETE_PAUSE = 1.0
"""The pause after a transaction, in multiples of its duration: others have half of the time at least, under any load.
With more, retention falls behind runs that are made at full speed."""
END_POLL_INTERVAL = 0.05


class Pruner:
    """Deletes runs on demand, and at an interval by rules and a ``Retention``. Used on one event loop."""

    def __init__(
        self,
        store: Store,
        session: OrchestratorSession,
        commands: Commands,
        background: Background,
        retention: Retention | None,
        rules: Callable[[], Mapping[str, KeepRule]],
    ) -> None:
        self._store = store
        self._session = session
        self._commands = commands
        self._in_thread = background.in_thread
        self._retention = retention
        self._rules = rules
        """Returns the rules of workflows that have one of their own, by full name."""
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._apply_retention())

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    async def prune(
        self, older_than: float, states: Sequence[RunState], runs: int, rows: int, *, other_than: Sequence[str] = ()
    ) -> Deleted:
        """Deletes all runs that ended in one of these states before then, but those of the workflows ``other_than``,
        and what is unused without them."""
        store = self._store
        # One time for all steps: runs that end meanwhile are left to the next pruning, or this one might never end.
        before = await self._in_thread(store.clock) - older_than
        expired = partial(store.expired_runs, before, states, MAX_LOOKUP, other_than=other_than)
        total = await self._delete_all(expired, runs, rows)
        return total + await self._in_thread(store.prune_rest, older_than)

    async def _delete_all(self, find: Callable[[], list[str]], runs: int, rows: int) -> Deleted:
        """Deletes runs for as long as some are found."""
        total = Deleted()
        while ids := await self._in_thread(find):
            gone = total.runs
            for start in range(0, len(ids), runs):
                total += await self._delete(ids[start : start + runs], rows)
            if total.runs == gone:  # other processes deleted them
                break
        return total

    async def delete(self, run_id: str, *, force: bool, rows: int) -> Deleted:
        """Deletes a run with its child runs. One that has not ended is refused, or cancelled first with ``force``."""
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
            await self._wait_for_end(id)
        return await self._delete(list(family), rows)

    async def _delete(self, ids: list[str], rows: int) -> Deleted:
        total, clock = Deleted(more=True), asyncio.get_running_loop().time
        while total.more:
            began = clock()
            total += await self._in_thread(self._store.delete_runs, ids, rows)
            await asyncio.sleep(max(DELETE_INTERVAL, DELETE_PAUSE * (clock() - began)))
        return total

    async def _wait_for_end(self, run_id: str) -> None:
        """Waits for the end of a cancelled run, whose attempts may take their grace period to stop."""
        while any(not run.row.state.terminal for run in await self._in_thread(self._store.runs_by_id, [run_id])):
            await asyncio.sleep(END_POLL_INTERVAL)

    async def _apply_retention(self) -> None:
        sizes = self._retention or Retention()
        every = seconds(sizes.every)
        while True:
            try:
                rules = self._rules()
                due = bool(rules) or self._retention is not None
                if due and await self._in_thread(self._store.take_duty, DUTY, self._session.id, every):
                    gone = await self._prune_by_rules(rules, sizes)
                    log.info("retention: %d runs deleted, with %d rows", gone.runs, gone.rows)
            except StoreError as error:
                log.warning("retention deferred: %s", error)
            except Exception:
                log.exception("retention failed")
            await asyncio.sleep(every)

    async def _prune_by_rules(self, rules: Mapping[str, KeepRule], sizes: Retention) -> Deleted:
        """Deletes by the rules of workflows; then by that of the configuration, where a workflow says no age."""
        total = Deleted()
        now = await self._in_thread(self._store.clock)
        for workflow, rule in rules.items():
            before = None if rule.seconds is None else now - rule.seconds
            find = partial(self._store.surplus_runs, workflow, before, rule.runs, MAX_LOOKUP)
            total += await self._delete_all(find, sizes.runs, sizes.rows)
        if self._retention is not None:
            own = [workflow for workflow, rule in rules.items() if rule.seconds is not None]
            older_than = seconds(sizes.older_than)
            total += await self.prune(older_than, sizes.states, sizes.runs, sizes.rows, other_than=own)
        return total
