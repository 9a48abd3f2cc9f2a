"""How hard may the stage executors work? One controller for all of them, from how long connections are waited for."""

from __future__ import annotations

import msgspec

FLOOR = 0.1
ENGAGE, RELEASE = 0.2, 0.05
"""It begins above the first and ends below the second: between them nothing changes."""
BAND = 0.1
"""A change of the factor that is smaller than this is not made."""
RECOVERY = 0.2
"""The most that the factor rises from one look to the next: falling is at once, rising is by steps."""


class Backpressure(msgspec.Struct, frozen=True):
    """The state of the controller."""

    factor: float = 1.0
    """1.0 is full speed."""

    @property
    def engaged(self) -> bool:
        return self.factor < 1.0

    def seen(self, saturation: float) -> Backpressure:
        """After a look at the store."""
        if saturation >= ENGAGE:
            wanted = max(1.0 - saturation, FLOOR)
        elif saturation <= RELEASE or not self.engaged:
            wanted = 1.0
        else:
            return self
        if wanted > self.factor:
            wanted = min(wanted, self.factor + RECOVERY)
        small = abs(wanted - self.factor) < BAND and wanted not in (1.0, FLOOR)
        return self if small else Backpressure(round(wanted, 3))
