"""Decides the backpressure factor of all stage executors from how long callers wait for connections."""

from __future__ import annotations

import msgspec

MIN_FACTOR = 0.1
ENGAGE_ABOVE, RELEASE_BELOW = 0.2, 0.05
"""Saturation above which the factor falls, and below which it rises. Between them it stays."""
MIN_DECREASE = 0.1
"""A smaller decrease of the factor is not made."""
MAX_INCREASE = 0.2
"""The factor falls at once and rises by steps of at most this."""
MIN_QUIET, MAX_QUIET = 2, 32
"""Samples without pressure before the factor rises. Slowing down relieves the pressure, so a rise may bring it back:
each time it does, the next rise waits twice as long. Otherwise the factor would oscillate."""


class Backpressure(msgspec.Struct, frozen=True):
    """The state of the controller."""

    factor: float = 1.0
    """1.0 is full speed."""
    quiet: int = 0
    """Samples in a row without pressure."""
    required_quiet: int = MIN_QUIET
    """Samples without pressure before the factor rises."""
    risen: bool = False
    """True if the factor has risen since it last fell."""

    @property
    def engaged(self) -> bool:
        return self.factor < 1.0

    def seen(self, saturation: float) -> Backpressure:
        """Returns the state after a sample of the store's saturation."""
        if saturation >= ENGAGE_ABOVE:
            return self._pressed(round(max(1.0 - saturation, MIN_FACTOR), 3))
        if saturation > RELEASE_BELOW:
            return self._with(quiet=0)
        return self._relieved()

    def _pressed(self, wanted: float) -> Backpressure:
        if wanted >= self.factor or (self.factor - wanted < MIN_DECREASE and wanted != MIN_FACTOR):
            return self._with(quiet=0)
        required_quiet = min(self.required_quiet * 2, MAX_QUIET) if self.risen else self.required_quiet
        return Backpressure(wanted, required_quiet=required_quiet)

    def _relieved(self) -> Backpressure:
        quiet = self.quiet + 1
        if not self.engaged:
            # After a long time at full speed the next pressure is a new one.
            return Backpressure() if quiet > MAX_QUIET else self._with(quiet=quiet)
        if quiet < self.required_quiet:
            return self._with(quiet=quiet)
        factor = min(round(self.factor + MAX_INCREASE, 3), 1.0)
        return self._with(factor=factor, quiet=self.required_quiet if factor < 1.0 else 0, risen=True)

    def _with(self, **changes: float | bool) -> Backpressure:
        return msgspec.structs.replace(self, **changes)
