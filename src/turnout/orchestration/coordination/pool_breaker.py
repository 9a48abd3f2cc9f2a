"""Holds the circuit breaker of a pool, and lets stage executors wait for it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from turnout.model.breaker import Breaker, BreakerSettings, BreakerState

MIN_WAIT, MAX_WAIT = 0.1, 1.0
"""Seconds that one wait for the breaker takes, so that a stage executor notices that it is to stop."""


class PoolBreaker:
    """The breaker of one pool. While it is closed, waiting for it returns at once."""

    def __init__(self, settings: BreakerSettings | None, clock: Callable[[], float] = time.monotonic) -> None:
        self._settings = settings
        self._clock = clock
        self.breaker = Breaker(probes=settings.probes if settings else 1)
        self.on_change: Callable[[Breaker, Breaker], None] = lambda before, after: None
        """Called with the old and the new breaker when the state changes."""
        self._closed: asyncio.Future[None] | None = None
        """Resolved when the breaker closes; None if no executor waits."""

    @property
    def blocking(self) -> bool:
        return self.breaker.state is not BreakerState.CLOSED

    @property
    def has_failures(self) -> bool:
        """True if a success changes the breaker."""
        return self.breaker.failures > 0

    async def wait(self) -> bool:
        """Returns True if a batch may be taken; False after ``MAX_WAIT``, so that the caller can check whether to stop.

        After True the caller reports ``succeeded``, ``failed``, or ``unused`` if there was no batch."""
        now = self._clock()
        if not self.breaker.allows(now):
            await self._pause(min(max(self.breaker.until - now, MIN_WAIT), MAX_WAIT))
            now = self._clock()
            if not self.breaker.allows(now):
                return False
        self._set(self.breaker.trying(now))
        return True

    async def _pause(self, seconds: float) -> None:
        if self._closed is None:
            self._closed = asyncio.get_running_loop().create_future()
        await asyncio.wait({self._closed}, timeout=seconds)

    def succeeded(self) -> None:
        self._set(self.breaker.succeeded())

    def failed(self) -> None:
        if self._settings is not None:
            self._set(self.breaker.failed(self._settings, self._clock()))

    def unused(self) -> None:
        self._set(self.breaker.untried())

    def reset(self) -> None:
        """Closes the breaker: the cause of the failures is gone."""
        if self.breaker.failures:
            self._set(Breaker(probes=self.breaker.probes))

    def _set(self, breaker: Breaker) -> None:
        before, self.breaker = self.breaker, breaker
        if before.state is breaker.state:
            return
        if not self.blocking and self._closed is not None:
            self._closed.set_result(None)
            self._closed = None
        self.on_change(before, breaker)
