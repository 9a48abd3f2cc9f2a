"""The backpressure factor of all stage executors, from how long callers wait for connections."""

from __future__ import annotations

import msgspec

FLOOR = 0.1
ENGAGE, RELEASE = 0.2, 0.05
"""It begins above the first and ends below the second: between them nothing changes."""
BAND = 0.1
"""A fall of the factor that is smaller than this is not made."""
RECOVERY = 0.2
"""The most that the factor rises from one look to the next: falling is at once, rising is by steps."""
MIN_PATIENCE, MAX_PATIENCE = 2, 32
"""Looks without pressure before the factor rises. Who slows down takes the pressure away by that, so a rise may bring
it back: each time it does, the next rise waits twice as long. Else the factor would swing for as long as others hold
what we want."""


class Backpressure(msgspec.Struct, frozen=True):
    """The state of the controller."""

    factor: float = 1.0
    """1.0 is full speed."""
    quiet: int = 0
    """Looks in a row that saw no pressure."""
    patience: int = MIN_PATIENCE
    risen: bool = False
    """Whether the factor has risen since it last fell."""

    @property
    def engaged(self) -> bool:
        return self.factor < 1.0

    def seen(self, saturation: float) -> Backpressure:
        """After a look at the store."""
        if saturation >= ENGAGE:
            return self._pressed(round(max(1.0 - saturation, FLOOR), 3))
        if saturation > RELEASE:
            return self._with(quiet=0)
        return self._relieved()

    def _pressed(self, wanted: float) -> Backpressure:
        if wanted >= self.factor or (self.factor - wanted < BAND and wanted != FLOOR):
            return self._with(quiet=0)
        patience = min(self.patience * 2, MAX_PATIENCE) if self.risen else self.patience
        return Backpressure(wanted, patience=patience)

    def _relieved(self) -> Backpressure:
        quiet = self.quiet + 1
        if not self.engaged:
            # Quiet for long at full speed: the next pressure is another one.
            calm = quiet > MAX_PATIENCE
            return Backpressure() if calm else self._with(quiet=quiet)
        if quiet < self.patience:
            return self._with(quiet=quiet)
        factor = min(round(self.factor + RECOVERY, 3), 1.0)
        return self._with(factor=factor, quiet=self.patience if factor < 1.0 else 0, risen=True)

    def _with(self, **changes: float | bool) -> Backpressure:
        return msgspec.structs.replace(self, **changes)
