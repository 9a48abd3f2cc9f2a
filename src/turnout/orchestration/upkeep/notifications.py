"""Notifications of other processes, and what is looked at for each."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection

from turnout.contracts.store import Store
from turnout.errors import StoreError
from turnout.orchestration.background import Background
from turnout.orchestration.stages.claims import Claims
from turnout.orchestration.stages.waiters import Waiters
from turnout.orchestration.upkeep.dead_sessions import DeadSessions
from turnout.orchestration.upkeep.inbox import Inbox
from turnout.orchestration.upkeep.unknown_runs import UnknownRuns
from turnout.orchestration.upkeep.wakeups import Wakeups
from turnout.rate_limited_log import RateLimitedLog

log = logging.getLogger("turnout.sweeper")

ANY_INTERVAL = 0.1
"""Seconds between two looks at everything."""
NEW_SESSIONS = frozenset({"sessions", "any"})
"""Topics after which a session may have been opened."""


class Notifications:
    """Follows the topics that the store and the parts of this orchestrator announce. The sweep follows those that are
    lost."""

    def __init__(
        self,
        store: Store,
        wakeups: Wakeups,
        *,
        claims: Claims,
        dead_sessions: DeadSessions,
        unknown_runs: UnknownRuns,
        inbox: Inbox,
        waiters: Waiters,
        background: Background,
    ) -> None:
        self._store = store
        self._wakeups = wakeups
        self._claims = claims
        self._dead_sessions = dead_sessions
        self._unknown_runs = unknown_runs
        self._inbox = inbox
        self._waiters = waiters
        self._background = background
        self._rate_limited_log = RateLimitedLog(log)
        self._stop_listening = lambda: None

    async def start(self) -> None:
        announce, call_soon = self._wakeups.announce, self._background.call_soon
        listening = self._background.in_thread(self._store.listen, lambda topic: call_soon(announce, topic))
        self._stop_listening = await listening

    async def stop(self) -> None:
        await asyncio.get_running_loop().run_in_executor(None, self._stop_listening)

    async def keep_following(self) -> None:
        while True:
            topics = await self._wakeups.next()
            self._dead_sessions.outdated |= not NEW_SESSIONS.isdisjoint(topics)
            try:
                await self.follow(topics)
            except StoreError as error:
                self._rate_limited_log.failure("a wake-up was not followed, the sweep will: %s", error)
            except Exception:
                log.exception("a wake-up was not followed, the sweep will")
            if "any" in topics:
                # SQLite cannot tell our own commits from those of others, so a busy orchestrator wakes itself.
                await asyncio.sleep(ANY_INTERVAL)

    async def follow(self, topics: Collection[str]) -> None:
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
