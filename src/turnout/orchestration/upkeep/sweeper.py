"""Follows notifications of other processes, and sweeps at an interval for what a lost one or a crash left behind."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import TypeAlias

from turnout.contracts.store import Store
from turnout.errors import RunNotFound, StoreError
from turnout.orchestration.active_runs import ActiveRuns
from turnout.orchestration.background import Background, Wakeups
from turnout.orchestration.session import process_is_gone
from turnout.orchestration.shared_ticks import aligned, aligned_within
from turnout.orchestration.stages.claims import Claims
from turnout.orchestration.stages.waiters import Waiters
from turnout.orchestration.upkeep.dead_sessions import DeadSessions
from turnout.orchestration.upkeep.inbox import Inbox
from turnout.orchestration.upkeep.lost_attempts import UnknownRuns
from turnout.orchestration.upkeep.shared_state import SharedState
from turnout.rate_limited_log import RateLimitedLog

log = logging.getLogger("turnout.sweeper")

CHECK_ALL_INTERVAL = 0.1
"""Seconds between two checks for the topic ``any``."""
Sweep: TypeAlias = Callable[[], Awaitable[None]]
MAX_PROCESS_CHECK_INTERVAL = 0.5
"""Seconds between two checks for processes that have died on this machine, at most."""
CLAIM_POLL_INTERVAL = 0.05


class Notifications:
    """Checks what a topic stands for when the store or a part of this orchestrator announces it. The sweep checks those
    that are lost."""

    def __init__(
        self,
        store: Store,
        wakeups: Wakeups,
        runs: ActiveRuns,
        *,
        claims: Claims,
        dead_sessions: DeadSessions,
        unknown_runs: UnknownRuns,
        inbox: Inbox,
        waiters: Waiters,
        shared: SharedState,
        background: Background,
    ) -> None:
        self._store = store
        self._wakeups = wakeups
        self._runs = runs
        self._claims = claims
        self._dead_sessions = dead_sessions
        self._unknown_runs = unknown_runs
        self._inbox = inbox
        self._waiters = waiters
        self.shared = shared
        self._background = background
        self._rate_limited_log = RateLimitedLog(log)
        self._stop_listening = lambda: None

    async def start(self) -> None:
        announce, call_soon = self._wakeups.announce, self._background.call_soon
        listening = self._background.in_thread(self._store.listen, lambda topic: call_soon(announce, topic))
        self._stop_listening = await listening

    async def stop(self) -> None:
        await asyncio.get_running_loop().run_in_executor(None, self._stop_listening)

    async def run(self) -> None:
        while True:
            topics = await self._wakeups.next()
            self._dead_sessions.notified(topics)
            try:
                if "any" in topics and not len(self._runs):
                    await self._handle_unknown()
                else:
                    await self.handle(topics)
            except StoreError as error:
                self._rate_limited_log.failure("a notification was not handled; the sweep will: %s", error)
            except Exception:
                log.exception("a notification was not handled; the sweep will")
            if "any" in topics:
                # SQLite cannot tell this process's commits from others', so a busy orchestrator notifies itself.
                await asyncio.sleep(CHECK_ALL_INTERVAL)

    async def _handle_unknown(self) -> None:
        """Handles a change of the database of which nothing is known, while no run is driven here: one statement shows
        what it means. On SQLite the renewal of this session's own lease is such a change."""
        known = await self._dead_sessions.look()
        topics = {"finished"}
        if known.unowned:
            topics.add("runs")
        if known.owns:
            topics |= {"given", "commands", "inbox"}
        await self.shared.seen(known)
        await self.handle(topics)

    async def handle(self, topics: Collection[str]) -> None:
        every = "any" in topics
        if every or "runs" in topics:
            self._claims.request()
        if "given" in topics or (every and self._unknown_runs.few):
            await self._unknown_runs.sweep()
        if every or "commands" in topics:
            await self._inbox.take_commands()
        if (every or "inbox" in topics) and await self._inbox.take_results():
            self._wakeups.announce("inbox")
        if every or "finished" in topics:
            await self._waiters.check()
        await self.shared.handle(topics)


class Sweeper:
    """Runs the sweeps of an orchestrator's parts at an interval, one after the other."""

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
        """Run while this session owns runs."""
        self._interval = interval
        self._rate_limited_log = RateLimitedLog(log)
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        await self._dead_sessions.declare()
        self._claims.request()
        await self._notifications.start()
        loops = (self._notifications.run(), self._sweep_loop(), self._check_processes())
        self._tasks = [self._background.spawn(loop) for loop in loops]

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._notifications.stop()

    async def _sweep_loop(self) -> None:
        clock = asyncio.get_running_loop().time
        while True:
            await asyncio.sleep(aligned_within(self._interval, clock()))
            try:
                await self._sweep()
                self._rate_limited_log.recovered("sweeps get through again")
            except StoreError as error:
                self._rate_limited_log.failure("sweep deferred: %s", error)
            except Exception:
                log.exception("sweep failed")

    async def _sweep(self) -> None:
        await self._dead_sessions.declare(by_lease=True)
        known = self._dead_sessions.known
        await self._notifications.shared.seen(known)
        if known.unowned:
            self._claims.request()
        if known.unheard:
            await self._in_thread(self._store.close_commands)
        if not known.owns:
            self._inbox.forget()
            await self._notifications.handle({"finished"})
            return
        await self._notifications.handle({"commands", "inbox", "finished"})
        for sweep in self._sweeps:
            await sweep()

    async def _check_processes(self) -> None:
        """Notices within a second that a process on this machine has died: its session is known, as a rule, and the
        operating system knows the process."""
        clock = asyncio.get_running_loop().time
        while True:
            await asyncio.sleep(aligned(min(MAX_PROCESS_CHECK_INTERVAL, self._interval), clock()))
            try:
                if await self._dead_sessions.declare():
                    self._claims.request()
                if self._unknown_runs.seen:
                    await self._unknown_runs.sweep()
            except StoreError as error:
                log.debug("dead processes were not looked for: %s", error)

    async def take(self, run_id: str) -> None:
        """Claims this run as soon as no live session owns it. Returns when it is owned, or has ended."""
        while run_id not in self._runs:
            stored = await self._in_thread(self._store.run, run_id)
            if stored is None:
                raise RunNotFound(f"there is no run {run_id}", run_id=run_id)
            if stored.row.state.terminal:
                return
            if stored.owner is not None:
                sessions = await self._in_thread(self._store.live_sessions)
                if any(session.id == stored.owner and not process_is_gone(session) for session in sessions):
                    return
                await self._dead_sessions.declare(by_lease=True)
            if await self._claims.claim([run_id]):
                return
            await asyncio.sleep(CLAIM_POLL_INTERVAL)
