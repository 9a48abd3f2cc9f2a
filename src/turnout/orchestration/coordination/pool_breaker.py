"""The circuit breaker of a pool, with a way to wait for it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from turnout.model.breaker import Breaker, BreakerSettings, BreakerState

MIN_LOOK, MAX_LOOK = 0.1, 1.0
"""Who waits at the gate looks so often, to notice that it is to stop."""


class PoolBreaker:
    """The breaker of one pool. Closed breaker: the gate is open, and costs nothing."""

    def __init__(self, settings: BreakerSettings | None, clock: Callable[[], float] = time.monotonic) -> None:
        self._settings = settings
        self._clock = clock
        self.breaker = Breaker(probes=settings.probes if settings else 1)
        self.on_change: Callable[[Breaker, Breaker], None] = lambda before, after: None
        """Told when the state becomes another."""
        self._reopened: asyncio.Future[None] | None = None
        """Those who wait are told by it when the breaker closes."""

    @property
    def shut(self) -> bool:
        return self.breaker.state is not BreakerState.CLOSED

    @property
    def troubled(self) -> bool:
        """Whether a success is news."""
        return self.breaker.failures > 0

    async def wait(self) -> bool:
        """Returns whether one may go through; False after a while, so that the caller can look whether to go on.

        Who goes through says how it went: ``succeeded``, ``failed``, or ``withdrew`` if there was nothing to do."""
        now = self._clock()
        if not self.breaker.allows(now):
            await self._pause(min(max(self.breaker.until - now, MIN_LOOK), MAX_LOOK))
            now = self._clock()
            if not self.breaker.allows(now):
                return False
        self._become(self.breaker.trying(now))
        return True

    async def _pause(self, seconds: float) -> None:
        if self._reopened is None:
            self._reopened = asyncio.get_running_loop().create_future()
        await asyncio.wait({self._reopened}, timeout=seconds)

    def succeeded(self) -> None:
        self._become(self.breaker.succeeded())

    def failed(self) -> None:
        if self._settings is not None:
            self._become(self.breaker.failed(self._settings, self._clock()))

    def withdrew(self) -> None:
        self._become(self.breaker.untried())

    def reset(self) -> None:
        """What everybody stumbled over is gone."""
        if self.breaker.failures:
            self._become(Breaker(probes=self.breaker.probes))

    def _become(self, breaker: Breaker) -> None:
        before, self.breaker = self.breaker, breaker
        if before.state is breaker.state:
            return
        if not self.shut and self._reopened is not None:
            self._reopened.set_result(None)
            self._reopened = None
        self.on_change(before, breaker)
