"""The slow poll behind every notification: finds what a lost one, a dead process or a crash has left behind."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

from turnout.contracts.store import Store
from turnout.errors import RunNotFound, StoreError
from turnout.orchestration.active_runs import ActiveRuns
from turnout.orchestration.background import Background
from turnout.orchestration.lease import seen_dead
from turnout.orchestration.stages.claims import Claims
from turnout.orchestration.upkeep.dead_sessions import DeadSessions
from turnout.orchestration.upkeep.inbox import Inbox
from turnout.orchestration.upkeep.notifications import Notifications
from turnout.orchestration.upkeep.unknown_runs import UnknownRuns
from turnout.rate_limited_log import RateLimitedLog

log = logging.getLogger("turnout.sweeper")

Sweep: TypeAlias = Callable[[], Awaitable[None]]

MAX_INTERVAL_OF_LOOKS = 0.5
"""Seconds between two looks for processes that have died on this machine, at most."""
TAKE_INTERVAL = 0.05


class Sweeper:
    """Runs the sweeps of an orchestrator's parts, one after the other."""

    def __init__(
        self,
        store: Store,
        runs: ActiveRuns,
        *,
        claims: Claims,
        dead_sessions: DeadSessions,
        unknown_runs: UnknownRuns,
        inbox: Inbox,
        notifications: Notifications,
        background: Background,
        sweeps: Sequence[Sweep],
        interval: float,
    ) -> None:
        self._store = store
        self._runs = runs
        self._claims = claims
        self._dead_sessions = dead_sessions
        self._unknown_runs = unknown_runs
        self._inbox = inbox
        self._notifications = notifications
        self._background = background
        self._in_thread = background.in_thread
        self._sweeps = sweeps
        """What is swept while this session owns runs."""
        self._interval = interval
        self._rate_limited_log = RateLimitedLog(log)
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        await self._dead_sessions.declare()
        self._claims.request()
        await self._notifications.start()
        loops = (self._notifications.keep_following(), self._keep_sweeping(), self._keep_looking())
        self._tasks = [self._background.spawn(loop) for loop in loops]

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._notifications.stop()

    async def _keep_sweeping(self) -> None:
        while True:
            await asyncio.sleep(self._interval)
            try:
                await self._sweep()
                self._rate_limited_log.recovered("sweeps get through again")
            except StoreError as error:
                self._rate_limited_log.failure("sweep put off: %s", error)
            except Exception:
                log.exception("sweep failed")

    async def _sweep(self) -> None:
        await self._dead_sessions.declare(by_lease=True)
        known = self._dead_sessions.known
        if known.unowned:
            self._claims.request()
        if known.unheard:
            await self._in_thread(self._store.close_commands)
        if not known.owns:
            self._inbox.forget()
            await self._notifications.follow({"finished"})
            return
        await self._notifications.follow({"commands", "inbox", "finished"})
        for sweep in self._sweeps:
            await sweep()

    async def _keep_looking(self) -> None:
        """Notices a process that died on this machine within a second: its session is known, as a rule, and the system
        can tell whether the process is there."""
        while True:
            await asyncio.sleep(min(MAX_INTERVAL_OF_LOOKS, self._interval))
            try:
                if await self._dead_sessions.declare():
                    self._claims.request()
                if self._unknown_runs.seen:
                    await self._unknown_runs.sweep()
            except StoreError as error:
                log.debug("could not look for dead neighbours: %s", error)

    async def take(self, run_id: str) -> None:
        """Claims this run as soon as no live session owns it. Returns when one does, or the run has ended."""
        while run_id not in self._runs:
            stored = await self._in_thread(self._store.run, run_id)
            if stored is None:
                raise RunNotFound(f"there is no run {run_id}", run_id=run_id)
            if stored.row.state.terminal:
                return
            if stored.owner is not None:
                sessions = await self._in_thread(self._store.live_sessions)
                if any(one.id == stored.owner and not seen_dead(one) for one in sessions):
                    return
                await self._dead_sessions.declare(by_lease=True)
            if await self._claims.claim([run_id]):
                return
            await asyncio.sleep(TAKE_INTERVAL)
