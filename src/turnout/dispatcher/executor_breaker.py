"""Holds the circuit breaker of an executor, and decides which attempts go through as probes.

While it is closed it costs one read of ``blocking``. While it is open no slot is reserved, so tasks stay ready. When
its time is over the next reservation becomes a probe; an attempt that was reserved before is handed back. Only probes
of the present round decide: a late result, from before it opened, does not count.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from turnout.model.breaker import Breaker, BreakerSettings, BreakerState
from turnout.model.events import ErrorInfo

log = logging.getLogger("turnout.dispatcher")

CLOSED, OPEN, HALF_OPEN = BreakerState.CLOSED, BreakerState.OPEN, BreakerState.HALF_OPEN


class ExecutorBreaker:
    """The breaker of one executor, or of one worker. Without settings it never opens."""

    __slots__ = (
        "_clock",
        "_of",
        "_probes_reserved",
        "_settings",
        "blocking",
        "breaker",
        "has_failures",
        "key",
        "on_change",
        "round",
    )

    def __init__(
        self,
        key: str,
        settings: BreakerSettings | None = None,
        clock: Callable[[], float] = time.monotonic,
        of: str | None = None,
    ) -> None:
        self.key = key
        self._of = of or f"executor {key}"
        self._settings = settings if settings is not None and settings.threshold else None
        self._clock = clock
        self.breaker = Breaker(probes=settings.probes if settings is not None else 1)
        self.blocking: bool = False
        """Not closed: checked before a slot is reserved or an attempt is handed over."""
        self.has_failures: bool = False
        """Not closed, or failures were counted: a success would change something."""
        self.round: int = 0
        """Number of times that it has opened; probes are marked with it."""
        self.on_change: Callable[[BreakerState], None] = lambda before: None
        """Called after each change of state."""
        self._probes_reserved = 0

    @property
    def state(self) -> BreakerState:
        return self.breaker.state

    @property
    def probe_timeout(self) -> float:
        """Seconds after which an executor that still has its probe counts as working."""
        return self._settings.longest if self._settings is not None else 0.0

    def wait(self) -> float:
        """Returns the seconds until a probe may go through, if it is open."""
        return max(0.0, self.breaker.until - self._clock())

    # -- probes -------------------------------------------------------------------------------------------------
    def free_probes(self) -> int:
        """Returns how many more probes may be reserved while it is not closed."""
        breaker = self.breaker
        return max(0, breaker.probes - breaker.probing) if breaker.allows(self._clock()) else 0

    def reserve_probe(self) -> None:
        """Called when a slot was reserved while there were free probes: the attempt is one."""
        self._become(self.breaker.trying(self._clock()))
        self._probes_reserved += 1

    def release_probes(self, left: int) -> None:
        """Called when a slot was released and ``left`` are reserved. It does not matter which: all others were reserved
        before it opened, and the first attempt that is handed over becomes the probe."""
        while self._probes_reserved > left:
            self._probes_reserved -= 1
            self._become(self.breaker.untried())

    def take_probes(self, wanted: int) -> int:
        """Returns how many of the attempts to hand over now may go through, as probes."""
        through = min(wanted, self._probes_reserved)
        self._probes_reserved -= through
        return through

    # -- outcomes -----------------------------------------------------------------------------------------------
    def record(self, at_fault: bool | None, probe: int, error: ErrorInfo | None = None) -> None:
        """Records how an attempt went for the executor; ``probe`` is the round of the probe, 0 if it was none."""
        settings = self._settings
        if settings is None or (self.breaker.state is HALF_OPEN and probe != self.round):
            return
        if at_fault is None:
            if probe == self.round:
                self._become(self.breaker.untried())
        elif at_fault:
            cause = f"{error.type}: {error.message}" if error is not None else ""
            self._become(self.breaker.failed(settings, self._clock()), cause)
        else:
            self._become(self.breaker.succeeded())

    def _become(self, breaker: Breaker, cause: str = "") -> None:
        before, self.breaker = self.breaker, breaker
        self.has_failures = breaker.state is not CLOSED or breaker.failures > 0
        if before.state is breaker.state:
            return
        self.blocking = breaker.state is not CLOSED
        match breaker.state:
            case BreakerState.OPEN:
                self.round += 1
                self._probes_reserved = 0
                state = f"open for {self.wait():g} s after {breaker.failures} failures in a row, the last: {cause}"
                log.warning("breaker of %s: %s", self._of, state)
            case BreakerState.HALF_OPEN:
                log.info("breaker of %s: half open, probes go through", self._of)
            case BreakerState.CLOSED:
                self._probes_reserved = 0
                log.info("breaker of %s: closed after %d failures in a row", self._of, before.failures)
        self.on_change(before.state)
