"""Holds the circuit breaker as a frozen value, and decides which results count against an executor or a worker."""

from __future__ import annotations

import math
from enum import StrEnum

import msgspec

from turnout.errors import InvalidSetting
from turnout.model.events import UNAVAILABLE_TYPE, ExecutionResult, ExecutionStatus
from turnout.model.reasons import CODE_MISSING
from turnout.model.setting_types import Count, Natural, Seconds, Settings


class BreakerState(StrEnum):
    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half_open"


BREAKER_MOVES: dict[BreakerState, frozenset[BreakerState]] = {
    BreakerState.CLOSED: frozenset({BreakerState.OPEN}),
    BreakerState.OPEN: frozenset({BreakerState.HALF_OPEN}),
    BreakerState.HALF_OPEN: frozenset({BreakerState.CLOSED, BreakerState.OPEN}),
}


class BreakerSettings(Settings, frozen=True, kw_only=True):
    """The failures that open a circuit breaker, and the time that it stays open."""

    threshold: Natural = 5
    """Failures in a row that open it; 0: it never opens."""
    recovery: Seconds = 1.0
    """Seconds that it stays open the first time; doubles with each probe that fails."""
    longest: Seconds = 30.0
    """Seconds that it stays open at most."""
    probes: Count = 1
    """Attempts that may probe at once while it is half open."""

    def check_rules(self, path: str) -> None:
        if not self.recovery <= self.longest < math.inf:
            raise InvalidSetting(
                f"{path}.longest is {self.longest!r}; it must be at least recovery, {self.recovery!r}",
                field=f"{path}.longest",
            )


class Breaker(msgspec.Struct, frozen=True, kw_only=True):
    """closed: all calls pass; open: none; half-open: ``probes`` calls, whose results close or reopen it.

    >>> broken = Breaker().failed(BreakerSettings(threshold=1), now=0.0)
    >>> broken.state, broken.allows(0.5), broken.allows(1.5)
    (<BreakerState.OPEN: 'open'>, False, True)
    """

    state: BreakerState = BreakerState.CLOSED
    failures: int = 0
    """Consecutive failures."""
    openings: int = 0
    """Times that it opened since the last success."""
    until: float = 0.0
    """The time until which it stays open."""
    probing: int = 0
    probes: int = 1

    def allows(self, now: float) -> bool:
        """True if another call may begin."""
        match self.state:
            case BreakerState.CLOSED:
                return True
            case BreakerState.OPEN:
                return now >= self.until
            case BreakerState.HALF_OPEN:
                return self.probing < self.probes

    def trying(self, now: float) -> Breaker:
        """Returns the breaker after a call that it allowed has begun."""
        if self.state is BreakerState.CLOSED:
            return self
        if self.state is BreakerState.OPEN and now < self.until:
            return self
        return msgspec.structs.replace(self, state=BreakerState.HALF_OPEN, probing=self.probing + 1)

    def untried(self) -> Breaker:
        """Returns the breaker after an allowed call ended without a verdict: another may begin."""
        if self.state is not BreakerState.HALF_OPEN:
            return self
        return msgspec.structs.replace(self, probing=max(0, self.probing - 1))

    def succeeded(self) -> Breaker:
        """Returns the breaker after a success, which closes it unless the call began before it opened."""
        if self.state is BreakerState.OPEN or (self.state is BreakerState.CLOSED and not self.failures):
            return self
        return Breaker(probes=self.probes)

    def failed(self, settings: BreakerSettings, now: float) -> Breaker:
        failures = self.failures + 1
        if self.state is BreakerState.OPEN:
            return self
        if self.state is BreakerState.CLOSED and failures < settings.threshold:
            return msgspec.structs.replace(self, failures=failures)
        pause = min(settings.recovery * 2.0 ** min(self.openings, 30), settings.longest)
        return Breaker(
            state=BreakerState.OPEN,
            failures=failures,
            openings=self.openings + 1,
            until=now + pause,
            probes=settings.probes,
        )


EXECUTION_FAILED = "turnout.errors.ExecutionFailed"
"""The last of the names in the ``mro`` of an error that the dispatcher made because an executor raised or returned
an invalid result. The names of a body's exception always end with those of Python's own classes."""


def at_fault(result: ExecutionResult, *, isolates: bool) -> bool | None:
    """True if the executor failed, False if it worked, also where the body failed; None if the result shows neither.

    ``isolates``: every attempt has a process of its own there. Where several share one, a body may have crashed the
    others.
    """
    error = result.error
    match result.status:
        case ExecutionStatus.FAILED | ExecutionStatus.RETRY:
            return error is not None and error.mro[-1:] == (EXECUTION_FAILED,)
        case ExecutionStatus.RETURNED:
            return True if error is not None and error.type == UNAVAILABLE_TYPE else None
        case ExecutionStatus.CRASHED:
            return error is not None and error.type == UNAVAILABLE_TYPE
        case ExecutionStatus.LOST:
            return True if isolates else None
        case ExecutionStatus.CANCELLED:
            return None
        case ExecutionStatus.COMPLETED | ExecutionStatus.SKIPPED | ExecutionStatus.TIMED_OUT | ExecutionStatus.DEFERRED:
            return False


def worker_at_fault(result: ExecutionResult) -> bool | None:
    """Returns the same for the worker that had the attempt. A crash counts as its failure: the caller decides whether
    another worker would have crashed too.
    """
    error = result.error
    match result.status:
        case ExecutionStatus.RETURNED:
            return True if error is not None and error.message == CODE_MISSING else None
        case ExecutionStatus.CRASHED | ExecutionStatus.LOST:
            return True
        case ExecutionStatus.CANCELLED:
            return None
        case _:
            return False
