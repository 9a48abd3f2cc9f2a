"""May a pool take a batch now? Its circuit breaker, with somebody to wait for it."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable

from turnout.model.breaker import Breaker, BreakerSettings, BreakerState

log = logging.getLogger("turnout.coordinator")

LONGEST_LOOK = 1.0
"""Who waits at the gate looks at least this often, to notice that it is to stop."""


class Gate:
    """The breaker of one pool. Closed breaker: the gate is open, and costs nothing."""

    def __init__(
        self, name: str, settings: BreakerSettings | None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.name = name
        self._settings = settings
        self._clock = clock
        self.breaker = Breaker(probes=settings.probes if settings else 1)

    @property
    def shut(self) -> bool:
        return self.breaker.state is not BreakerState.CLOSED

    async def wait(self) -> bool:
        """Returns whether one may go through; False after a while, so that the caller can look whether to go on."""
        now = self._clock()
        if not self.breaker.allows(now):
            await asyncio.sleep(min(max(self.breaker.until - now, 0.05), LONGEST_LOOK))
            now = self._clock()
            if not self.breaker.allows(now):
                return False
        self._become(self.breaker.trying(now))
        return True

    def succeeded(self) -> None:
        self._become(self.breaker.succeeded())

    def failed(self) -> None:
        if self._settings is not None:
            self._become(self.breaker.failed(self._settings, self._clock()))

    def reset(self) -> None:
        """What everybody stumbled over is gone."""
        if self.breaker.failures:
            self._become(Breaker(probes=self.breaker.probes))

    def _become(self, breaker: Breaker) -> None:
        before, self.breaker = self.breaker, breaker
        if before.state is not breaker.state:
            log.log(
                logging.WARNING if breaker.state is BreakerState.OPEN else logging.INFO,
                "breaker of %s: %s after %d failures in a row",
                self.name,
                breaker.state.value,
                breaker.failures or before.failures,
            )
